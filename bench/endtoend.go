package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stampBytes is the intended instant at the beginning of a value.
const stampBytes = 8

// drainMax is how long records are waited for after the window.
const drainMax = 10 * time.Second

// EndToEnd sends Rate records a second through franz-go producers, over the partitions in turn, and reads them back with
// franz-go consumers without a group. Without a Linger, what waits, waits for the node. The topic must be empty.
func (w *Workload) EndToEnd(ctx context.Context, address string) (Result, error) {
	if err := w.check(true, true); err != nil {
		return Result{}, err
	}
	if w.Rate <= 0 {
		return Result{}, fmt.Errorf("%w: an open loop needs a rate", ErrWorkload)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &endToEnd{load: w, address: address}
	workers, err := e.clients(ctx)
	defer e.close()
	if err != nil {
		return Result{}, err
	}
	r, err := w.measure(ctx, workers)
	if err != nil {
		return Result{}, err
	}
	r.Acknowledged, r.Lag = NewHistogram(), NewHistogram()
	for _, p := range e.producers {
		r.Acknowledged.Merge(p.acknowledged)
		r.Lag.Merge(p.lag)
	}
	r.Lost = e.due.Load() - r.Records
	return r, nil
}

// endToEnd is one run of EndToEnd.
type endToEnd struct {
	load      *Workload
	address   string
	producers []*pacedProducer
	consumers []*kgo.Client
	// due counts the records whose intended instant lay in the window; arrived those of them that a consumer saw; both
	// are added to by every client's goroutine. sending counts the producers that may still add to due.
	due, arrived atomic.Int64
	sending      atomic.Int32
}

func (e *endToEnd) clients(ctx context.Context) ([]worker, error) {
	var workers []worker
	for i := range e.load.Fetchers {
		c, err := e.newConsumer(i)
		if err != nil {
			return nil, err
		}
		e.consumers = append(e.consumers, c)
		workers = append(workers, func(in window, t *tally) error { return e.consume(ctx, c, in, t) })
	}
	for i := range e.load.Producers {
		p, err := e.newProducer(i)
		if err != nil {
			return nil, err
		}
		e.producers = append(e.producers, p)
		workers = append(workers, func(in window, _ *tally) error { return p.run(ctx, in) })
	}
	e.sending.Store(int32(len(e.producers)))
	return workers, nil
}

func (e *endToEnd) close() {
	for _, c := range e.consumers {
		c.Close()
	}
	for _, p := range e.producers {
		p.client.Close()
	}
}

func (e *endToEnd) newConsumer(i int) (*kgo.Client, error) {
	from := map[int32]kgo.Offset{}
	for _, p := range e.load.share(i, e.load.Fetchers) {
		from[p] = kgo.NewOffset().AtStart()
	}
	return kgo.NewClient(kgo.SeedBrokers(e.address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{e.load.Topic: from}))
}

// consume records the latency of each record as it arrives, until all that were due are there.
func (e *endToEnd) consume(ctx context.Context, c *kgo.Client, in window, t *tally) error {
	late := time.Duration(in.end-Now()) + drainMax
	ctx, cancel := context.WithTimeout(ctx, late)
	defer cancel()
	for !e.complete() {
		poll, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		got := c.PollFetches(poll)
		stop()
		now := Now()
		if err := fetchFault(got); err != nil {
			return err
		}
		got.EachRecord(func(r *kgo.Record) { e.seen(r, now, in, t) })
		if ctx.Err() != nil {
			return nil // the records that are missing are Result.Lost
		}
	}
	return nil
}

func (e *endToEnd) complete() bool { return e.sending.Load() == 0 && e.arrived.Load() >= e.due.Load() }

func fetchFault(got kgo.Fetches) error {
	for _, f := range got.Errors() {
		if !errors.Is(f.Err, context.DeadlineExceeded) && !errors.Is(f.Err, context.Canceled) {
			return fmt.Errorf("bench: fetch of %s-%d: %w", f.Topic, f.Partition, f.Err)
		}
	}
	return nil
}

func (e *endToEnd) seen(r *kgo.Record, now Instant, in window, t *tally) {
	due := Instant(binary.BigEndian.Uint64(r.Value))
	if !in.contains(due) {
		return
	}
	t.records++
	t.bytes += int64(len(r.Value))
	t.latency.Record(now.Sub(due))
	e.arrived.Add(1)
}

// pacedProducer is one open-loop producer.
type pacedProducer struct {
	whole   *endToEnd
	client  *kgo.Client
	pacer   *Pacer
	filling []byte // random bytes that values are cut from
	// acknowledged is written by the client's promises, which it makes one at a time; lag by the pacing goroutine.
	acknowledged, lag *Histogram

	failure sync.Once
	err     error
}

func (e *endToEnd) newProducer(i int) (*pacedProducer, error) {
	acks, options := kgo.AllISRAcks(), []kgo.Opt{kgo.SeedBrokers(e.address), kgo.DefaultProduceTopic(e.load.Topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(e.load.Linger), kgo.MaxBufferedRecords(1 << 20)}
	if e.load.Acks == 1 {
		acks = kgo.LeaderAck()
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(append(options, kgo.RequiredAcks(acks))...)
	if err != nil {
		return nil, err
	}
	rate := e.load.Rate / float64(e.load.Producers)
	start := Now().Add(time.Duration(float64(time.Second) / rate * float64(i) / float64(e.load.Producers)))
	filling := make([]byte, e.load.RecordBytes+4096)
	for j := range filling {
		filling[j] = byte(rand.Uint32())
	}
	return &pacedProducer{whole: e, client: client, pacer: NewPacer(start, rate), filling: filling, acknowledged: NewHistogram(), lag: NewHistogram()}, nil
}

// run sends on schedule until the window ends, then waits for the acknowledgements.
func (p *pacedProducer) run(ctx context.Context, in window) error {
	defer p.whole.sending.Add(-1)
	unlock := LockPacing()
	partitions := int32(p.whole.load.Partitions)
	for n := int32(0); ; n++ {
		due := p.pacer.Next()
		if due >= in.end || ctx.Err() != nil {
			break
		}
		due.Wait()
		if in.contains(due) {
			p.whole.due.Add(1)
			p.lag.Record(Now().Sub(due))
		}
		p.send(ctx, due, n%partitions, in)
	}
	unlock()
	flush, stop := context.WithTimeout(ctx, drainMax)
	defer stop()
	if err := p.client.Flush(flush); err != nil {
		return fmt.Errorf("bench: flush: %w", err)
	}
	return p.err
}

func (p *pacedProducer) send(ctx context.Context, due Instant, partition int32, in window) {
	size := p.whole.load.RecordBytes
	value := make([]byte, size)
	copy(value[stampBytes:], p.filling[int(due)&4095:])
	binary.BigEndian.PutUint64(value, uint64(due))
	p.client.Produce(ctx, &kgo.Record{Value: value, Partition: partition}, func(_ *kgo.Record, err error) {
		if err != nil {
			p.failure.Do(func() { p.err = fmt.Errorf("bench: produce: %w", err) })
		} else if in.contains(due) {
			p.acknowledged.Record(Now().Sub(due))
		}
	})
}
