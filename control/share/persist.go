package share

import (
	"github.com/ringmill/ringmill/wire"
)

// persist asks for a write of all that is not in the log, unless one is under way: what comes meanwhile goes with the next.
func (p *Partition) persist() {
	if !p.unwritten || p.write != p.written {
		return
	}
	p.unwritten = false
	p.write++
	p.writing, p.acks = p.acks, nil
	w := &StateWrite{StateEpoch: p.stateEpoch, LeaderEpoch: p.leaderEpoch, StartOffset: p.startThen()}
	for i := range p.runs {
		r := &p.runs[i]
		if !r.dirty {
			continue
		}
		r.dirty, r.write = false, p.write
		if b, ok := r.batchOf(); ok && b.Last >= w.StartOffset {
			b.First = max(b.First, w.StartOffset)
			w.Batches = append(w.Batches, b)
		}
	}
	w.Batches = combine(w.Batches, w.StartOffset)
	p.fx.Write = w
}

// startThen is where the partition starts when all that is under way is in the log.
func (p *Partition) startThen() wire.Offset {
	for i := range p.runs {
		if r := &p.runs[i]; !r.state.done() {
			return r.first
		}
	}
	return p.next
}

// batchOf is what the log keeps of a run. Of acquired records it keeps what they were before.
func (r *run) batchOf() (StateBatch, bool) {
	if r.state == Acquired {
		return StateBatch{r.first, r.last, Available, r.deliveries - 1}, r.deliveries > 1
	}
	return StateBatch{r.first, r.last, r.state, r.deliveries}, true
}

// Written reports the outcome of the write under way: None, or the share coordinator's refusal. After that what was
// acknowledged is as it was before, and its locks go on.
func (p *Partition) Written(nowMS int64, code wire.ErrorCode, message string) Effects {
	p.begin(nowMS)
	if p.write == p.written {
		panic("BUG: no write of the share partition is under way")
	}
	for i := range p.runs {
		if r := &p.runs[i]; r.write == p.write {
			r.wrote(code == wire.None)
		}
	}
	p.written = p.write
	answered := Done{Code: writeCode(code), Message: message}
	for _, h := range p.writing {
		answered.Handle = h
		p.fx.Done = append(p.fx.Done, answered)
	}
	p.writing = nil
	p.fx.Fenced = answered.Code == wire.NotLeaderOrFollower || code == wire.GroupIDNotFound || code == wire.UnknownTopicOrPartition || code == wire.InvalidRequest
	p.fx.Woken = true
	p.advance()
	return p.end()
}

// Abandon gives up the partition: it answers those who wait for the log.
func (p *Partition) Abandon() []Done {
	var done []Done
	for _, h := range append(p.writing, p.acks...) {
		done = append(done, Done{h, wire.NotLeaderOrFollower, "The share partition was given up."})
	}
	p.writing, p.acks = nil, nil
	return done
}

// wrote ends the write of a run.
func (r *run) wrote(ok bool) {
	r.write = 0
	switch {
	case ok:
		r.pending, r.before = false, lock{}
	case r.pending:
		r.state, r.pending = Acquired, false
		r.member, r.untilMS, r.deliveries = r.before.member, r.before.untilMS, r.before.deliveries
		r.before = lock{}
	default: // with the next write
		r.dirty = true
	}
}

// writeCode is what a client is told of a state that could not be written (SharePartition.fetchPersisterError).
func writeCode(code wire.ErrorCode) wire.ErrorCode {
	switch code {
	case wire.None, wire.GroupIDNotFound, wire.UnknownTopicOrPartition:
		return code
	case wire.NotCoordinator, wire.CoordinatorNotAvailable, wire.CoordinatorLoadInProgress:
		return wire.CoordinatorNotAvailable
	case wire.FencedLeaderEpoch, wire.FencedStateEpoch:
		return wire.NotLeaderOrFollower
	}
	return wire.UnknownServerError
}
