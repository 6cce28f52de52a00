package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// trialRun is a Trial under way.
type trialRun struct {
	trial  *Trial
	clock  Clock
	topics []*cluster
	in     window

	produced, consumed *series // consumed is nil without consumers
	// due counts what belonged to the window and was acknowledged; arrived those of them that a consumer saw, once for each subscription.
	// producing counts producers that may still add to due.
	due, arrived atomic.Int64
	producing    atomic.Int32

	backlog *drainRun // nil if none is built
	outcome *Outcome
	log     *latencyLog
}

// producer is a lane or a client of franz-go. prepare connects, begin sets its schedule, produce keeps it, leave ends its connections.
type producer interface {
	prepare(ctx context.Context) error
	begin(at Instant)
	produce(ctx context.Context) error
	leave()
}

// measure puts the load on the topic.
func (r *trialRun) measure(ctx context.Context) error {
	r.produced = newSeries(r.clock)
	if r.trial.Consumers > 0 {
		r.consumed = newSeries(r.clock)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	producers, err := r.producers(ctx)
	defer func() {
		for _, p := range producers {
			p.leave()
		}
	}()
	if err != nil {
		return err
	}
	begin := r.clock.Now()
	r.in.begin = begin.Add(r.trial.WarmUp)
	r.in.end = r.in.begin.Add(r.trial.Duration)
	if b := r.trial.Backlog; b != nil {
		r.in.moved = new(atomic.Int64)
		r.in.moveEnd(never)
		r.backlog = &drainRun{run: r, figure: BacklogFigure{Bytes: b.Bytes, Drained: b.Drained}}
	}
	r.outcome = &Outcome{Window: r.trial.Duration, Started: time.Now().Add(r.trial.WarmUp), Open: r.trial.Rate > 0, ClientCores: clientCores()}
	r.produced.in = r.in
	if r.consumed != nil {
		r.consumed.in = r.in
	}
	if r.trial.Log != nil {
		r.log = newLatencyLog(r.trial.Log, r.outcome.Started)
	}
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(over) })
	err = r.load(ctx, producers, begin)
	close(over)
	watching.Wait()
	return r.conclude(err)
}

// load runs all clients until they have finished, or one failed.
func (r *trialRun) load(ctx context.Context, producers []producer, begin Instant) error {
	clients, ctx := errgroup.WithContext(ctx)
	r.producing.Store(int32(len(producers)))
	if r.backlog != nil {
		clients.Go(func() error { return r.backlog.manage(ctx) })
	}
	for _, topic := range r.topics {
		for i := range r.trial.Subscriptions * r.trial.Consumers {
			consume := r.consumer(topic, i%r.trial.Consumers)
			clients.Go(func() error { return consume(ctx) })
		}
	}
	over := make(chan struct{}) // closed when all is acknowledged, or no more comes
	for _, p := range producers {
		p.begin(begin)
		clients.Go(func() error {
			defer func() {
				if r.producing.Add(-1) == 0 {
					close(over)
				}
			}()
			return p.produce(ctx)
		})
	}
	clients.Go(func() error { return r.giveUp(over) })
	return clients.Wait()
}

// giveUp ends a run whose load is far more than what is acknowledged, which goes on until all that was due is sent: when there has been as much time again
// after the window as until its end, and no less than twice Patience.
func (r *trialRun) giveUp(over <-chan struct{}) error {
	most := max(r.trial.WarmUp+r.trial.Duration, 2*r.trial.Patience)
	for reach(r.clock, r.clock.Now().Add(time.Second), over) {
		if r.clock.Now().Sub(r.in.until()) > most {
			return fmt.Errorf("bench: %v after the window not all that was due in it is acknowledged: the rate is far above what the nodes take", most)
		}
	}
	return nil
}

// producers makes them and connects them.
func (r *trialRun) producers(ctx context.Context) (all []producer, err error) {
	if r.trial.Client == ClientFranz {
		all, err = r.franzProducers()
	} else {
		all, err = r.lanes(ctx)
	}
	for _, p := range all {
		if err == nil {
			err = p.prepare(ctx)
		}
	}
	return all, err
}

// lanes makes one for each producer and leader of its partitions.
func (r *trialRun) lanes(ctx context.Context) (all []producer, err error) {
	for first, topic := range r.topics {
		lanes, err := r.lanesOf(ctx, topic, first*r.trial.Producers)
		if err != nil {
			return nil, err
		}
		all = append(all, lanes...)
	}
	return all, nil
}

// lanesOf makes those of a topic, whose producers are numbered from first on.
func (r *trialRun) lanesOf(ctx context.Context, topic *cluster, first int) (all []producer, err error) {
	t := r.trial
	leaders, err := topic.leaders(ctx)
	if err != nil {
		return nil, err
	}
	shares := t.partitionShares()
	sent := float64(first) / float64(t.Topics*t.Producers) // the part of all records that the lanes so far send
	load := &Workload{Topic: topic.topic, Partitions: t.Partitions, RecordBytes: t.RecordBytes, BatchRecords: t.BatchRecords, Acks: t.Acks}
	for i := range t.Producers {
		mine := load.share(i, t.Producers)
		for _, led := range inOrder(byLeader(leaders, mine)) {
			frames, err := t.frames(load, first+i)
			if err != nil {
				return nil, err
			}
			l := &lane{trial: t, run: r, cluster: topic, load: load, producer: first + i, partitions: led, frames: frames, keys: newKeys(t, first+i), leaders: leaders,
				recorder: r.produced.recorder(), conns: map[string]*laneConn{}, wake: make(chan struct{}, 1)}
			l.turns, l.rate = t.turns(l.producer, led, mine, shares)
			if l.phase = sent; t.Rate > 0 {
				sent += l.rate / t.Rate
			}
			if l.rate /= float64(t.BatchRecords); l.rate > 0 || t.Rate == 0 {
				all = append(all, l)
			}
		}
	}
	return all, nil
}

// partitionShares are the parts of a topic's records that go to each partition; nil if all are alike.
func (t *Trial) partitionShares() []float64 {
	if exponent, zipf, _ := zipfExponent(t.KeyChoice); zipf {
		return partitionShares(exponent, t.Keys, t.Partitions)
	}
	return nil
}

// turns says which partition is next for a producer that has some partitions, of which it writes to those that one node leads, and how many records
// a second go there: 0 if no key belongs there.
func (t *Trial) turns(producer int, led, mine []int32, shares []float64) (*turns, float64) {
	if shares == nil {
		return &turns{partitions: led}, t.producerRate() * float64(len(led)) / float64(len(mine))
	}
	all, sum := &turns{partitions: led, random: t.random(producer, randomPartitions)}, 0.0
	for _, p := range led {
		sum += shares[p] / float64(max(1, (t.Producers-int(p)+t.Partitions-1)/t.Partitions)) // producers that share it
		all.upTo = append(all.upTo, sum)
	}
	return all, t.Rate / float64(t.Topics) * sum
}

// producerRate is the records a second of one producer.
func (t *Trial) producerRate() float64 { return t.Rate / float64(t.Topics*t.Producers) }

// phase is the part of an interval by which a producer begins after the first.
func (t *Trial) phase(producer int) float64 { return float64(producer) / float64(t.Topics*t.Producers) }

func inOrder(groups map[string][]int32) (all [][]int32) {
	for _, group := range groups {
		all = append(all, group)
	}
	slices.SortFunc(all, func(a, b []int32) int { return int(a[0] - b[0]) })
	return all
}

// consumer is number i of a topic and a subscription.
func (r *trialRun) consumer(topic *cluster, i int) func(context.Context) error {
	if r.trial.Client == ClientFranz {
		return func(ctx context.Context) error { return r.franzConsume(ctx, topic.topic, i) }
	}
	return func(ctx context.Context) error { return r.rawConsume(ctx, topic, i) }
}

// watch closes seconds as they end, and reads what the client used in the window, and what there is beside it, until the run is over.
func (r *trialRun) watch(over <-chan struct{}) {
	if !reach(r.clock, r.in.begin, over) {
		return
	}
	beside := beginBeside(r.trial)
	used, from := r.trial.CPU(), r.clock.Now()
	measured := false
	cpu := func() {
		if !measured {
			r.outcome.ClientCPU, r.outcome.Elapsed = r.trial.CPU()-used, r.clock.Now().Sub(from)
			r.outcome.ClientWaits, r.outcome.Beside = beside.waited(), beside.end()
		}
		measured = true
	}
	for second := 0; ; second++ {
		next := r.in.begin.Add(time.Duration(second+1) * time.Second)
		if !measured && next > r.in.until() {
			if !reach(r.clock, r.in.until(), over) {
				cpu()
				return
			}
			cpu()
		}
		ended := !reach(r.clock, next, over)
		if ended || next >= r.in.until() {
			cpu()
		}
		if ended {
			return
		}
		r.closeSecond(second)
	}
}

// reach waits for an instant, to the grid of the runtime's timers, which is enough to look at figures; false if the run was over first.
func reach(clock Clock, at Instant, over <-chan struct{}) bool {
	timer := time.NewTimer(at.Sub(clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
		return false
	}
}

func (r *trialRun) closeSecond(second int) {
	begins := r.in.begin.Add(time.Duration(second) * time.Second)
	s := Second{Number: second, Lasted: min(max(r.in.until().Sub(begins), 0), time.Second), Window: r.in.until().Sub(r.in.begin), Produced: r.produced.close(second)}
	r.backlog.tell(&s)
	if r.consumed != nil {
		s.Consumed = r.consumed.close(second)
	}
	if r.log != nil {
		r.log.write("response", second, s.Produced.Latency)
		if s.Consumed != nil {
			r.log.write("end-to-end", second, s.Consumed.Latency)
		}
	}
	r.outcome.Seconds = append(r.outcome.Seconds, s.figures())
	if r.trial.Progress != nil {
		r.trial.Progress(s)
	}
}

// conclude closes the seconds that are left and adds all up. Nobody records any more.
func (r *trialRun) conclude(err error) error {
	o := r.outcome
	if r.backlog != nil {
		o.Backlog = &r.backlog.figure
		if o.Window = o.Elapsed; r.in.until() != never {
			o.Window = r.in.until().Sub(r.in.begin)
		}
	}
	whole := int(min(o.Elapsed+time.Second-1, o.Window) / time.Second)
	for len(o.Seconds) < whole || r.produced.pending() || r.consumed != nil && r.consumed.pending() {
		r.closeSecond(len(o.Seconds))
	}
	o.Produced = r.produced.total
	o.Service, o.Lag = merged(NewHistogram(), o.Produced.Service), merged(NewHistogram(), o.Produced.Lag)
	o.DueRequests = r.due.Load()
	if r.consumed != nil {
		o.Consumed, o.Lost = r.consumed.total, max(0, r.owed()-r.arrived.Load())
	}
	if err == nil {
		o.Elapsed = o.Window
		if r.log != nil && r.log.err != nil {
			return fmt.Errorf("bench: the log of latencies: %w", r.log.err)
		}
		return nil
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}

// settled notes that what was due then is acknowledged.
func (r *trialRun) settled(due Instant) {
	if r.in.contains(due) {
		r.due.Add(1)
	}
}

// owed is how much consumers should see of what is acknowledged by now.
func (r *trialRun) owed() int64 { return r.due.Load() * int64(r.trial.Subscriptions) }

// givenUp tells that what no consumer has seen by now is lost: it has been waited for long enough, from the window's end on, and from the last of a
// backlog that may be left.
func (r *trialRun) givenUp() bool {
	from := r.in.until()
	if r.backlog != nil {
		from = max(from, Instant(r.backlog.seenAt.Load()))
	}
	return r.producing.Load() == 0 && r.clock.Now().Sub(from) > r.trial.Patience+drainMax
}

// complete tells whether consumers have seen all.
func (r *trialRun) complete() bool {
	return r.producing.Load() == 0 && r.arrived.Load() >= r.owed()
}
