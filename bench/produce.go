package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// Versions of the raw requests: the last that name a topic by its name, so that no id has to be looked up.
const (
	produceVersion = 12
	fetchVersion   = 12
)

// Produce puts a closed loop of produce requests on the node: Producers raw connections with InFlight requests each, over
// the partitions in turn. Errors wrap ErrWorkload, or are the network's, or the node's (*kerr.Error).
func (w *Workload) Produce(ctx context.Context, address string) (Result, error) {
	if err := w.check(true, false); err != nil {
		return Result{}, err
	}
	if w.BatchRecords < 1 || w.InFlight < 1 {
		return Result{}, fmt.Errorf("%w: raw produce needs records in a batch and requests in flight", ErrWorkload)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := make([]worker, w.Producers)
	for i := range workers {
		p, err := w.dialProducer(ctx, address, i)
		if err != nil {
			return Result{}, err
		}
		defer p.conn.Close()
		workers[i] = p.run
	}
	return w.measure(ctx, workers)
}

// rawProducer is one connection of Produce.
type rawProducer struct {
	conn   *RawConn
	load   *Workload
	frames [][]byte // one a partition, sent in turn
	next   int
	sentAt []Instant // of the requests in flight, a ring
	sent   int
	done   int
	answer *kmsg.ProduceResponse
}

func (w *Workload) dialProducer(ctx context.Context, address string, i int) (*rawProducer, error) {
	conn, err := dialRaw(ctx, w.Dial, address)
	if err != nil {
		return nil, err
	}
	p := &rawProducer{conn: conn, load: w, sentAt: make([]Instant, w.InFlight)}
	p.answer = &kmsg.ProduceResponse{Version: produceVersion}
	batch := w.buildBatch(uint64(i))
	for _, partition := range w.share(i, w.Producers) {
		p.frames = append(p.frames, w.produceFrame(partition, batch))
	}
	return p, nil
}

// buildBatch makes one batch of BatchRecords records whose bytes do not compress. The same bytes are sent again and again;
// nothing in them is the node's to look at but the header.
func (w *Workload) buildBatch(seed uint64) []byte {
	var b wire.BatchBuilder
	b.Reset(nil, wire.BatchHeader{BaseTimestamp: wire.Timestamp(time.Now().UnixMilli())})
	value := make([]byte, w.RecordBytes)
	for i := range w.BatchRecords {
		fillRandom(value, seed<<32+uint64(i))
		b.Add(wire.Record{Value: value})
	}
	return b.Finish()
}

// fillRandom writes bytes that do not compress, the same for the same seed.
func fillRandom(dst []byte, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range dst {
		dst[i] = byte(random.Uint32())
	}
}

func (w *Workload) produceFrame(partition int32, batch []byte) []byte {
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = partition, batch
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = w.Topic, append(topic.Partitions, part)
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, w.Acks, 30_000
	req.Topics = append(req.Topics, topic)
	return rawFormat.AppendRequest(nil, req, 0)
}

// run keeps InFlight requests out until the window ends, then waits for the answers that are due.
func (p *rawProducer) run(in window, t *tally) error {
	clock := p.load.clock()
	for now := clock.Now(); now < in.until() || p.done < p.sent; {
		for now < in.until() && p.sent-p.done < len(p.sentAt) {
			if err := p.send(now); err != nil {
				return err
			}
			now = clock.Now()
		}
		if err := p.await(); err != nil {
			return err
		}
		now = clock.Now()
		sent := p.sentAt[p.done%len(p.sentAt)]
		p.done++
		t.count(in, sent, now, int64(p.load.BatchRecords), int64(p.load.BatchRecords*p.load.RecordBytes))
	}
	return nil
}

func (p *rawProducer) send(now Instant) error {
	p.sentAt[p.sent%len(p.sentAt)] = now
	p.sent++
	frame := p.frames[p.next]
	p.next = (p.next + 1) % len(p.frames)
	return p.conn.send(frame)
}

func (p *rawProducer) await() error {
	p.answer.Topics = p.answer.Topics[:0]
	if err := p.conn.receive(p.answer); err != nil {
		return err
	}
	for _, t := range p.answer.Topics {
		for _, part := range t.Partitions {
			if err := kerr.ErrorForCode(part.ErrorCode); err != nil {
				return fmt.Errorf("bench: produce to %s-%d: %w", p.load.Topic, part.Partition, err)
			}
		}
	}
	return nil
}
