package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Backlog is what consumers leave behind before they read on, as OpenMessaging Benchmark does with consumerBacklogSizeGB: at the beginning of the window they
// stop until Bytes of values are acknowledged that they have not read, of all subscriptions together. The window ends the trial's Duration after they have
// read what Drained asks for.
type Backlog struct {
	Bytes int64
	// Drained is the part of Bytes, from 0 to 1, after which the backlog counts as drained; it also does when backlogLeft records are left.
	Drained float64
}

// backlogLeft is how many records may be left of a drained backlog: those that are on their way at any time, as OpenMessaging Benchmark has it.
const backlogLeft = 1000

// Between two looks at a backlog, and how long it may not become less, if Patience is no longer, before it is said not to drain.
const (
	backlogLook  = 10 * time.Millisecond
	backlogStuck = 30 * time.Second
)

// never is the end of a window that has none yet.
const never = Instant(math.MaxInt64)

// BacklogFigure is what became of a Backlog. What was not reached before the run broke off is 0.
type BacklogFigure struct {
	Bytes   int64   `json:"bytes"`        // as asked for
	Drained float64 `json:"drainedRatio"` // the same
	// BuildSeconds are until it was as large, with Records that no consumer had; DrainSeconds until it was drained, with LeftRecords.
	BuildSeconds float64 `json:"buildSeconds"`
	Records      int64   `json:"records"`
	DrainSeconds float64 `json:"drainSeconds"`
	LeftRecords  int64   `json:"leftRecords"`
	// ProducedPerSecond and ConsumedPerSecond are the records of the drain, those of all subscriptions together.
	ProducedPerSecond float64 `json:"producedPerSecond"`
	ConsumedPerSecond float64 `json:"consumedPerSecond"`
}

// Asked is how many records of some bytes had to wait, and how many might then be left for it to count as drained.
func (f *BacklogFigure) Asked(recordBytes int) (waiting, left int64) {
	waiting = f.Bytes / int64(max(recordBytes, 1))
	return waiting, max(backlogLeft, int64((1-f.Drained)*float64(waiting)))
}

// Reading says in a sentence what became of it.
func (f *BacklogFigure) Reading() string {
	switch {
	case f.Records == 0:
		return fmt.Sprintf("The backlog of %s bytes was not built.", FormatCount(float64(f.Bytes)))
	case f.DrainSeconds == 0:
		return fmt.Sprintf("A backlog of %s records, built in %s, was not drained.", FormatCount(float64(f.Records)), FormatLatency(f.BuildSeconds*1e6))
	}
	return fmt.Sprintf("A backlog of %s records, built in %s, was drained to %s in %s: %s records/s consumed beside %s produced.", FormatCount(float64(f.Records)),
		FormatLatency(f.BuildSeconds*1e6), FormatCount(float64(f.LeftRecords)), FormatLatency(f.DrainSeconds*1e6), FormatCount(f.ConsumedPerSecond), FormatCount(f.ProducedPerSecond))
}

// Waiting is after each of a run's Seconds how many records are acknowledged that no consumer has seen, counted once for each subscription;
// without consumers, all of them.
func (r *Report) Waiting() (records []int64) {
	waiting := int64(0)
	for _, s := range r.Seconds {
		waiting += s.Produced.Records * int64(max(r.Config.Subscriptions, 1))
		if s.Consumed != nil {
			waiting -= s.Consumed.Records
		}
		records = append(records, max(waiting, 0))
	}
	return records
}

// drainRun is a Backlog under way.
type drainRun struct {
	run    *trialRun
	figure BacklogFigure
	paused atomic.Bool  // consumers are
	seenAt atomic.Int64 // Instant of the last record that a consumer saw
}

// waits keeps a consumer from reading while it is paused; false if it is not.
func (b *drainRun) waits(ctx context.Context) bool {
	if b == nil || !b.paused.Load() {
		return false
	}
	pause(ctx, backlogLook)
	return true
}

// tell has a second of the run say how far it is.
func (b *drainRun) tell(s *Second) {
	if b == nil {
		return
	}
	s.Building = b.paused.Load()
	waiting, _, _ := b.records()
	s.Waiting = max(waiting, 0)
	if b.run.in.until() == never {
		s.Window = 0
	}
}

func (b *drainRun) saw(now Instant) {
	if b != nil {
		b.seenAt.Store(int64(now))
	}
}

// records is how many there are of what consumers have not seen, and of what was acknowledged and seen.
func (b *drainRun) records() (waiting, produced, consumed int64) {
	each := int64(1)
	if b.run.trial.Client == ClientRaw {
		each = int64(b.run.trial.BatchRecords)
	}
	consumed, produced = b.run.arrived.Load()*each, b.run.due.Load()*each // in this order, so that nothing was seen before it was acknowledged
	return b.run.owed()*each - consumed, produced, consumed
}

// manage builds the backlog and has it drained, and then gives the window its end.
func (b *drainRun) manage(ctx context.Context) error {
	for clock := b.run.clock; clock.Now() < b.run.in.begin && ctx.Err() == nil; {
		pause(ctx, b.run.in.begin.Sub(clock.Now()))
	}
	b.paused.Store(true)
	built := b.build(ctx)
	b.paused.Store(false)
	return b.drain(ctx, built)
}

// build returns when so much waits as was asked for, or the run is over.
func (b *drainRun) build(ctx context.Context) (built Instant) {
	began := b.run.clock.Now()
	for ctx.Err() == nil {
		if waiting, _, _ := b.records(); waiting*int64(b.run.trial.RecordBytes) >= b.figure.Bytes {
			b.figure.Records = waiting
			break
		}
		pause(ctx, backlogLook)
	}
	built = b.run.clock.Now()
	b.figure.BuildSeconds = built.Sub(began).Seconds()
	return built
}

// drain returns when consumers have read what was asked for since it was built, and the window has its end. The error says that they do not get there.
func (b *drainRun) drain(ctx context.Context, built Instant) error {
	t := b.run.trial
	_, produced, consumed := b.records()
	_, enough := b.figure.Asked(t.RecordBytes)
	least, leastAt := int64(math.MaxInt64), built
	for ctx.Err() == nil {
		now := b.run.clock.Now()
		waiting, producedNow, consumedNow := b.records()
		if took := now.Sub(built).Seconds(); took > 0 && waiting <= enough {
			b.figure.DrainSeconds, b.figure.LeftRecords = took, max(waiting, 0)
			b.figure.ProducedPerSecond, b.figure.ConsumedPerSecond = float64(producedNow-produced)/took, float64(consumedNow-consumed)/took
			b.run.in.moveEnd(now.Add(t.Duration))
			return nil
		}
		if waiting < least {
			least, leastAt = waiting, now
		}
		if stuck := now.Sub(leastAt); stuck > max(backlogStuck, t.Patience) {
			return fmt.Errorf("bench: the backlog does not drain: for %v no fewer than %d records wait, consumers are no faster than producers", stuck.Round(time.Second), least)
		}
		pause(ctx, backlogLook)
	}
	return ctx.Err()
}

// checkBacklog says what is wrong with it.
func (t *Trial) checkBacklog() error {
	b := t.Backlog
	if b == nil {
		return nil
	}
	if err := cmp.Or(Backlogs.Check("bytes of a backlog", b.Bytes), Range[float64]{Most: 1}.Check("the part of a backlog that is drained", b.Drained)); err != nil {
		return err
	}
	switch {
	case t.Consumers == 0:
		return fmt.Errorf("%w: a backlog without consumers: nobody drains it", ErrWorkload)
	case t.Rate == 0:
		return fmt.Errorf("%w: a backlog of a closed loop, which leaves consumers nothing to catch up with: give a rate", ErrWorkload)
	}
	return nil
}
