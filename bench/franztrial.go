package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// codecs are those of franz-go by the names that Kafka gives them.
var codecs = map[string]func() kgo.CompressionCodec{
	"": kgo.NoCompression, "none": kgo.NoCompression, "gzip": kgo.GzipCompression, "snappy": kgo.SnappyCompression,
	"lz4": kgo.Lz4Compression, "zstd": kgo.ZstdCompression,
}

// franzBufferBytes is Kafka's buffer.memory: what a producer may have waiting, while a node is frozen.
const franzBufferBytes = 32 << 20

// franzProducer is an open-loop producer of franz-go. Each record is due by itself; the client makes batches of them.
type franzProducer struct {
	run      *trialRun
	client   *kgo.Client
	number   int
	pacer    *Pacer
	recorder *recorder
	values   *drawing
	keys     *keys     // nil without
	txn      *franzTxn // nil without
	silence  silence

	mu     sync.Mutex
	failed error // the first
}

func (r *trialRun) franzOptions() []kgo.Opt {
	return append(accessOptions(r.trial.Dial, r.trial.SASL), kgo.SeedBrokers(r.trial.Addresses...), kgo.ClientID("ringmill-bench"), kgo.RetryTimeout(r.trial.Patience))
}

func (r *trialRun) franzProducers() (all []producer, err error) {
	t := r.trial
	codec, known := codecs[t.Codec]
	if !known {
		return nil, fmt.Errorf("%w: codec %q: none, gzip, snappy, lz4 or zstd", ErrWorkload, t.Codec)
	}
	named, err := t.producerOptions()
	if err != nil {
		return nil, err
	}
	for i := range t.Topics * t.Producers {
		topic := r.topics[i/t.Producers].topic
		opts := append(r.franzOptions(), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(t.Linger), kgo.RecordPartitioner(t.partitioner()),
			kgo.MaxBufferedRecords(1<<20), kgo.MaxBufferedBytes(franzBufferBytes), kgo.ProducerBatchCompression(codec()), kgo.RecordDeliveryTimeout(t.Patience))
		var txn *franzTxn
		if t.TransactionRecords > 0 {
			txn = &franzTxn{records: t.TransactionRecords}
			opts = append(opts, kgo.TransactionalID(fmt.Sprintf("%s-%d", t.Topic, i)))
		}
		client, err := kgo.NewClient(append(opts, named...)...)
		if err != nil {
			return all, fmt.Errorf("bench: %w", err)
		}
		p := &franzProducer{run: r, client: client, number: i,
			recorder: r.produced.recorder(), values: t.values().draw(t.producerSeed(i)), txn: txn}
		p.silence = silence{clock: r.clock, patience: t.Patience + t.Linger, awaits: p.awaits} // what lingers is buffered, too
		if t.Keys > 0 {
			p.keys = newKeys(t, i)
		}
		all = append(all, p)
	}
	return all, nil
}

// partitioner sends records without keys to the partitions in turn, and others to where Kafka's own clients send their keys.
func (t *Trial) partitioner() kgo.Partitioner {
	if t.Keys > 0 {
		return kgo.StickyKeyPartitioner(nil)
	}
	return kgo.RoundRobinPartitioner()
}

// prepare has the client find the cluster.
func (p *franzProducer) prepare(ctx context.Context) error {
	if err := p.client.Ping(ctx); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return nil
}

func (p *franzProducer) begin(at Instant) {
	p.pacer = p.run.trial.pacer(at, p.run.trial.producerRate(), 1, p.number)
}

// awaits tells whether a node owes an answer.
func (p *franzProducer) awaits() bool {
	return p.client.BufferedProduceRecords() > 0 || p.txn != nil && p.txn.ending.Load()
}

// produce keeps the schedule until the window ends, then waits for the acknowledgements, as long as there are some now and then: the client's own
// timeouts do not end a record of which a request is out that may have been stored.
func (p *franzProducer) produce(ctx context.Context) error {
	err := p.silence.bound(ctx, p.keep)
	if errors.Is(err, ErrSilent) {
		return fmt.Errorf("nothing was acknowledged: %w", err)
	}
	return err
}

func (p *franzProducer) keep(ctx context.Context) error {
	defer p.run.clock.Lock()()
	excused := Instant(0)
	for {
		due := p.pacer.Next()
		if due >= p.run.in.until() || ctx.Err() != nil || p.verdict() != nil {
			break
		}
		for now := p.run.clock.Now(); now < due && ctx.Err() == nil; now = p.run.clock.Now() {
			p.run.clock.Wait(min(due, now.Add(100*time.Millisecond)))
		}
		sent := p.run.clock.Now()
		p.recorder.late(due, sent, sent.Sub(max(due, excused)))
		if err := p.offer(ctx, due, sent); err != nil {
			return err
		}
		if now := p.run.clock.Now(); now.Sub(sent) > time.Millisecond {
			excused = now // the client's buffer was full, or a transaction was committed
		}
	}
	if err := p.commit(ctx); err != nil {
		return err
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("bench: flush: %w", err)
	}
	return p.verdict()
}

// offer hands a record to the client, in a transaction if there are any, and commits that if it is full.
func (p *franzProducer) offer(ctx context.Context, due, sent Instant) error {
	if err := p.begun(); err != nil {
		return err
	}
	p.send(ctx, due, sent)
	if p.txn == nil {
		return nil
	}
	p.txn.sent++
	if p.full() {
		return p.commit(ctx)
	}
	return nil
}

func (p *franzProducer) leave() {
	p.abort()
	p.client.Close()
}

func (p *franzProducer) verdict() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *franzProducer) send(ctx context.Context, due, sent Instant) {
	record := &kgo.Record{Value: p.values.next()}
	if p.keys != nil {
		record.Key = p.keys.next()
	}
	value := record.Value
	binary.BigEndian.PutUint64(value, uint64(due))
	p.client.Produce(ctx, record, func(_ *kgo.Record, err error) {
		now := p.run.clock.Now()
		if err == nil {
			p.silence.heard()
			p.stored(due, now, now.Sub(sent), int64(len(value)))
			return
		}
		p.recorder.failed(due, now)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.failed == nil {
			p.failed = fmt.Errorf("bench: produce: %w", err)
		}
	})
}

// stored counts a record that is acknowledged, or keeps it until its transaction is committed.
func (p *franzProducer) stored(due, now Instant, service time.Duration, bytes int64) {
	if p.txn == nil {
		p.recorder.acknowledged(due, now, service, 1, bytes)
		p.run.settled(due)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.txn.stored = append(p.txn.stored, storedRecord{due, service, bytes})
}

// franzConsume reads a consumer's partitions of a topic from their beginnings, without a group.
func (r *trialRun) franzConsume(ctx context.Context, topic string, i int) error {
	load := Workload{Partitions: r.trial.Partitions}
	if r.trial.Consumers > r.trial.Partitions && i >= r.trial.Partitions {
		return nil
	}
	from := map[int32]kgo.Offset{}
	for _, p := range load.share(i, r.trial.Consumers) {
		from[p] = kgo.NewOffset().AtStart()
	}
	opts := append(r.franzOptions(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if r.trial.TransactionRecords > 0 {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	named, err := r.trial.consumerOptions()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(opts, named...)...)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer client.Close()
	recorder := r.consumed.recorder()
	for !r.complete() && ctx.Err() == nil {
		if r.givenUp() {
			return nil // the rest is lost
		}
		if r.backlog.waits(ctx) {
			continue
		}
		poll, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		got := client.PollFetches(poll)
		stop()
		now := r.clock.Now()
		if err := fetchFault(got); err != nil {
			return err
		}
		got.EachRecord(func(record *kgo.Record) { r.seen(recorder, record, now) })
	}
	return ctx.Err()
}

func (r *trialRun) seen(to *recorder, record *kgo.Record, now Instant) {
	if len(record.Value) < stampBytes {
		return
	}
	if due := Instant(binary.BigEndian.Uint64(record.Value)); r.in.contains(due) {
		r.arrived.Add(1)
		r.backlog.saw(now)
		to.arrived(due, now, 1, int64(len(record.Value)))
	}
}
