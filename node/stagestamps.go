package node

import (
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// itemTimes are a produced batch's stamps, its owner's: when it had the batch, when it offered it to the partition's state machine, when
// the batch was in the page cache and on this node's disk, and when the result was there. 0 is never.
type itemTimes struct {
	taken, planned, written, synced, finished time.Duration
	// round is the round of syncs that covers the batch.
	round uint64
	// replicated says that it waited for other replicas too.
	replicated bool
}

// stampWritten stamps what waits for more than the page cache, and has come into it: all that lies below end.
func (p *partition) stampWritten(end wire.Offset) {
	at, round := p.loop.instant, p.loop.sync.rounds.next()
	p.replica.Unsafe(func(last wire.Offset, ref any) (more bool) {
		times := &ref.(*produceItem).times
		if times.written > 0 {
			return false
		}
		if last < end {
			times.written, times.round = at, round
		}
		return true
	})
}

// stampFinished stamps an item that has its result; it runs on the owner, who knows the rounds of syncs.
func (l *Loop) stampFinished(item *produceItem) {
	t := &item.times
	t.finished = l.instant
	if item.request.acks != replicate.AcksAll || item.result.Code != wire.None && t.written == 0 {
		return
	}
	if t.written == 0 { // a retry of what was in the log by then
		t.written, t.round = t.planned, l.sync.rounds.begun
	}
	if item.part.replica.Policy() == replicate.FlushCommit {
		t.synced = l.sync.rounds.endOf(t.round, t.written, t.finished)
	}
	t.replicated = item.part.replica.Replicated()
}

// tellTimes tells a request's time by the stages of the item that was finished last: that is what the request has waited for.
func (item *produceItem) tellTimes(r *requestTimes, home *Loop) {
	t := &item.times
	if item.returned {
		r.took(stageMailbox, t.taken)
	}
	switch {
	case t.planned == 0 && t.finished > t.taken:
		r.took(stagePurgatory, t.finished)
	case t.planned > t.taken:
		r.took(stagePurgatory, t.planned)
	}
	switch {
	case t.planned == 0 || t.planned == t.finished && item.result.Code != wire.None: // refused
	case t.written == 0:
		r.took(stageAppended, t.finished)
	default:
		r.took(stageAppended, t.written)
		if t.synced > 0 {
			r.took(stageSynced, t.synced)
		}
		if t.replicated {
			r.took(stageReplicated, t.finished)
		}
	}
	if item.returned {
		r.took(stageMailbox, home.instant)
	}
}

// gatherTook tells the time of a gather by the share that came back last; nil if none was waited for.
func (f *fetchRequest) gatherTook(last *fetchShare) {
	r, now := &f.pending.times, f.conn.loop.instant
	if last != nil && last.hops > 0 {
		r.took(stageMailbox, min(r.reached+last.hops, now))
	}
	if now > r.reached {
		r.took(stageHandled, now)
	}
}

// syncRoundsKept is how many rounds' ends are remembered. Nobody waits for more than two of them on this node, so that of a wait that
// outlasts them it is less than a hundredth.
const syncRoundsKept = 256

// syncRounds numbers a loop's rounds of syncs and remembers when the last ones ended. One is under way at most.
type syncRounds struct {
	begun, ended uint64
	since, took  time.Duration
	ends         [syncRoundsKept]time.Duration
}

// next is the number of the round that covers what is written now.
func (r *syncRounds) next() uint64 { return r.begun + 1 }

func (r *syncRounds) begin(at time.Duration) {
	r.begun++
	r.since = at
}

// end says how long the round took.
func (r *syncRounds) end(at time.Duration) time.Duration {
	r.ended, r.took = r.begun, max(at-r.since, 0)
	r.ends[r.ended%syncRoundsKept] = at
	return r.took
}

// endOf is when a round ended that covers what was written then: now if it has not, and as long as the last one after it if that is
// too long ago.
func (r *syncRounds) endOf(round uint64, written, now time.Duration) time.Duration {
	switch {
	case round > r.ended:
		return now
	case r.ended-round >= syncRoundsKept:
		return min(written+r.took, now)
	}
	return min(r.ends[round%syncRoundsKept], now)
}
