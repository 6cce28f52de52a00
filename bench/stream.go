package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Stream is a store of records of any make that load can be put on by its own client: producers append to its partitions, consumers read them back
// from their beginnings.
type Stream interface {
	// Producer and Consumer connect client i. A consumer has the partitions of its share of them (of n clients).
	Producer(ctx context.Context, i int) (StreamProducer, error)
	Consumer(ctx context.Context, i, n int) (StreamConsumer, error)
}

// StreamProducer appends records, in order. It is one goroutine's.
type StreamProducer interface {
	// Send hands over a value, which is the producer's from then on. done is called once, when it is acknowledged or has failed; one at a time.
	Send(ctx context.Context, partition int32, value []byte, done func(error))
	// Flush returns when all is acknowledged or has failed.
	Flush(ctx context.Context) error
	Close()
}

// StreamConsumer reads records. It is one goroutine's.
type StreamConsumer interface {
	// Poll waits a little for records and calls seen with the value of each, which it must not keep. Nothing is no error.
	Poll(ctx context.Context, seen func(value []byte)) error
	Close()
}

// EndToEndOver sends Rate records a second through the producers of a stream, over its partitions in turn, and reads them back. The stream must be
// empty. What was due in the window and is with no consumer 10 s after it counts as lost.
func (w *Workload) EndToEndOver(ctx context.Context, s Stream) (Result, error) {
	if err := w.check(true, true); err != nil {
		return Result{}, err
	}
	if w.Rate <= 0 {
		return Result{}, fmt.Errorf("%w: an open loop needs a rate", ErrWorkload)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &endToEnd{load: w, stream: s}
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

// ProduceOver has each producer of a stream keep InFlight records out, over its partitions in turn: a closed loop, for capacity.
func (w *Workload) ProduceOver(ctx context.Context, s Stream) (Result, error) {
	if err := w.check(true, false); err != nil {
		return Result{}, err
	}
	if w.InFlight < 1 {
		return Result{}, fmt.Errorf("%w: capacity needs records in flight", ErrWorkload)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers []worker
	for i := range w.Producers {
		p, err := s.Producer(ctx, i)
		if err != nil {
			return Result{}, err
		}
		defer p.Close()
		workers = append(workers, func(in window, t *tally) error { return w.keepOut(ctx, p, i, in, t) })
	}
	return w.measure(ctx, workers)
}

// keepOut is one producer of ProduceOver.
func (w *Workload) keepOut(ctx context.Context, p StreamProducer, number int, in window, t *tally) error {
	clock, slots := w.clock(), make(chan struct{}, w.InFlight)
	var failed atomic.Pointer[error]
	filling := w.filling(number)
	for n := int32(number); ; n++ {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		sent := clock.Now()
		if sent >= in.until() || ctx.Err() != nil || failed.Load() != nil {
			break
		}
		p.Send(ctx, n%int32(w.Partitions), w.value(filling, sent), func(err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			} else {
				t.count(in, sent, clock.Now(), 1, int64(w.RecordBytes))
			}
			<-slots
		})
	}
	return flushed(ctx, p, &failed)
}

// flushed waits for all that a producer has sent, for a while, and says what failed first. What is not acknowledged by then is not counted.
func flushed(ctx context.Context, p StreamProducer, failed *atomic.Pointer[error]) error {
	drain, stop := context.WithTimeout(ctx, drainMax)
	defer stop()
	if err := p.Flush(drain); err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return fmt.Errorf("bench: flush: %w", err)
	}
	if err := failed.Load(); err != nil {
		return fmt.Errorf("bench: produce: %w", *err)
	}
	return nil
}

// filling are random bytes that a producer cuts its values from.
func (w *Workload) filling(producer int) []byte {
	filling := make([]byte, w.RecordBytes+filledBytes)
	fillRandom(filling, uint64(producer))
	return filling
}

// value is one that was due then.
func (w *Workload) value(filling []byte, due Instant) []byte {
	value := make([]byte, w.RecordBytes)
	copy(value[stampBytes:], filling[int(due)&(filledBytes-1):])
	binary.BigEndian.PutUint64(value, uint64(due))
	return value
}

// endToEnd is one run of EndToEndOver.
type endToEnd struct {
	load      *Workload
	stream    Stream
	producers []*pacedProducer
	consumers []StreamConsumer
	// due counts the records whose intended instant lay in the window; arrived those of them that a consumer saw; both
	// are added to by every client's goroutine. sending counts the producers that may still add to due.
	due, arrived atomic.Int64
	sending      atomic.Int32
}

func (e *endToEnd) clients(ctx context.Context) ([]worker, error) {
	var workers []worker
	for i := range e.load.Fetchers {
		c, err := e.stream.Consumer(ctx, i, e.load.Fetchers)
		if err != nil {
			return nil, err
		}
		e.consumers = append(e.consumers, c)
		workers = append(workers, func(in window, t *tally) error { return e.consume(ctx, c, in, t) })
	}
	for i := range e.load.Producers {
		p, err := e.stream.Producer(ctx, i)
		if err != nil {
			return nil, err
		}
		e.producers = append(e.producers, &pacedProducer{whole: e, client: p, number: i, filling: e.load.filling(i), acknowledged: NewHistogram(), lag: NewHistogram()})
	}
	start := e.load.clock().Now()
	for i, p := range e.producers {
		rate := e.load.Rate / float64(e.load.Producers)
		p.pacer = NewPacer(start.Add(time.Duration(float64(time.Second)/rate*float64(i)/float64(e.load.Producers))), rate)
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

// consume records the latency of each record as it arrives, until all that were due are there.
func (e *endToEnd) consume(ctx context.Context, c StreamConsumer, in window, t *tally) error {
	clock := e.load.clock()
	for !e.complete() && ctx.Err() == nil {
		if clock.Now().Sub(in.until()) > drainMax {
			return nil // the records that are missing are Result.Lost
		}
		err := c.Poll(ctx, func(value []byte) {
			if len(value) < stampBytes {
				return
			}
			if due := Instant(binary.BigEndian.Uint64(value)); in.contains(due) {
				t.records++
				t.bytes += int64(len(value))
				t.latency.Record(clock.Now().Sub(due))
				e.arrived.Add(1)
			}
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (e *endToEnd) complete() bool { return e.sending.Load() == 0 && e.arrived.Load() >= e.due.Load() }

// pacedProducer is one open-loop producer.
type pacedProducer struct {
	whole   *endToEnd
	client  StreamProducer
	number  int
	pacer   *Pacer
	filling []byte
	lag     *Histogram

	mu           sync.Mutex
	over         bool // what is acknowledged now is too late
	acknowledged *Histogram
}

// run sends on schedule until the window ends, then waits for the acknowledgements.
func (p *pacedProducer) run(ctx context.Context, in window) error {
	defer p.whole.sending.Add(-1)
	load := p.whole.load
	clock := load.clock()
	var failed atomic.Pointer[error]
	unlock := clock.Lock()
	for n := int32(p.number); ; n++ {
		due := p.pacer.Next()
		if due >= in.until() || ctx.Err() != nil || failed.Load() != nil {
			break
		}
		clock.Wait(due)
		if in.contains(due) {
			p.whole.due.Add(1)
			p.lag.Record(clock.Now().Sub(due))
		}
		p.client.Send(ctx, n%int32(load.Partitions), load.value(p.filling, due), func(err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			} else if in.contains(due) {
				p.acknowledge(clock.Now().Sub(due))
			}
		})
	}
	unlock()
	err := flushed(ctx, p.client, &failed)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	return err
}

func (p *pacedProducer) acknowledge(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.acknowledged.Record(after)
	}
}
