package replicate

import (
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// following is what a follower knows of its leader.
type following struct {
	leader wire.NodeID
	// highWatermark and logStart are the leader's, as of its last answer.
	highWatermark, logStart wire.Offset
}

// Position is where a follower's log ends: what its next Fetch asks from, and what an answer must be to.
type Position struct {
	Offset wire.Offset
	// LastEpoch is the newest leader epoch that the log knows, wire.NoLeaderEpoch if none: that of the record below Offset, or a later one
	// that has no record, of a leader that this replica was. The leader of the day does not know such a one, so that the logs part by it,
	// and it is cut off.
	LastEpoch wire.LeaderEpoch
}

// Position is where the log ends, planned appends included.
func (p *Partition) Position() Position {
	return Position{p.log.LogEndOffset(), p.log.LatestEpoch()}
}

// MayFetch says whether a follower may ask for what is beyond Position: by asking it promises to keep all below.
func (p *Partition) MayFetch() bool {
	return p.role == Following && !p.truncating && !p.lacking && p.SafeEnd() == p.log.LogEndOffset()
}

// Fetched is a leader's answer for one partition.
type Fetched struct {
	// Epoch and Position are what was asked with.
	Epoch wire.LeaderEpoch
	Position
	// The leader's.
	HighWatermark, LogStart wire.Offset
	Diverging               wire.EpochEndOffset
}

// FetchedFrom takes a leader's answer, before its batches. It returns false for one that is late: the log has moved since it was asked
// for, so that neither its batches nor its diverging epoch say anything about it.
func (p *Partition) FetchedFrom(a Fetched, eff *Effects) bool {
	if !p.takes(&a) {
		return false
	}
	if a.Diverging.Set {
		p.truncate(p.parting(a.Diverging), eff)
		return true
	}
	p.following.highWatermark = max(p.following.highWatermark, a.HighWatermark)
	p.following.logStart = max(p.following.logStart, a.LogStart)
	p.advance(eff)
	return true
}

// takes says whether an answer is to where the log is now.
func (p *Partition) takes(a *Fetched) bool {
	return p.following != nil && !p.truncating && !p.lacking && a.Epoch == p.leaderEpoch && a.Position == p.Position()
}

// parting is the offset up to which the log may be the leader's, whose epoch Epoch ends at EndOffset and is the largest that is not
// above this log's last one. If this log does not have that epoch, the answer to the fetch after it says more.
func (p *Partition) parting(d wire.EpochEndOffset) wire.Offset {
	_, end := p.log.EndOffsetForEpoch(d.Epoch)
	if end < 0 {
		end = p.log.LogEndOffset()
	}
	return max(min(d.EndOffset, end, p.log.LogEndOffset()), p.log.LogStartOffset())
}

// FetchedOutOfRange takes a leader's OFFSET_OUT_OF_RANGE with where its log starts and ends. It returns false if there is nothing to do
// but to ask again, also for a late one.
func (p *Partition) FetchedOutOfRange(a Fetched, leaderEnd wire.Offset, eff *Effects) bool {
	if !p.takes(&a) {
		return false
	}
	switch end := p.log.LogEndOffset(); {
	case a.LogStart > end, leaderEnd < p.log.LogStartOffset():
		p.restart(a.LogStart, eff) // the logs have no offset in common
	case leaderEnd < end:
		p.truncate(leaderEnd, eff)
	default:
		return false // the range is the leader's too: what was wrong passes
	}
	return true
}

func (p *Partition) truncate(to wire.Offset, eff *Effects) {
	p.truncating = true
	eff.Truncations = append(eff.Truncations, Truncation{Ref: p.ref, To: to})
}

func (p *Partition) restart(at wire.Offset, eff *Effects) {
	p.truncating = true
	eff.Truncations = append(eff.Truncations, Truncation{Ref: p.ref, To: at, Whole: true})
}

// AppendFetched takes the next batch of an answer that FetchedFrom took: one checked for damage (wire.RecordBatch.Check), appended as
// the leader has it. Its bytes must stay until the write is reported by Written. A batch that is not the log's next (segment.Log.CheckReplicated),
// or that is of an epoch after the one that it was fetched in, is Dropped, and with it what follows it in the answer.
func (p *Partition) AppendFetched(b wire.RecordBatch, now wire.Timestamp) (segment.AppendPlan, Outcome) {
	switch {
	case p.following == nil || p.truncating || p.lacking || p.log.CheckReplicated(b) != nil || b.PartitionLeaderEpoch() > p.leaderEpoch:
		return segment.AppendPlan{}, Dropped
	case p.log.NeedsRollReplicated(b, now):
		return segment.AppendPlan{}, NeedsRoll
	}
	return p.log.AppendReplicated(b, now), Planned
}

// Truncating says whether a Truncation is to be carried out yet.
func (p *Partition) Truncating() bool { return p.truncating }

// Truncated says that a Truncation has been carried out, in the files and in the Log. durable says that what is left of the log is on
// disk, as it is when a segment.TruncatePlan has run; it is not where there was nothing to cut.
func (p *Partition) Truncated(durable bool, eff *Effects) {
	if !p.truncating {
		panic("BUG: a log was cut that nobody asked to cut")
	}
	p.truncating = false
	end := p.log.LogEndOffset()
	p.written, p.synced = min(p.written, end), min(p.synced, end)
	if durable {
		p.written, p.synced = end, end
	}
	if visible := min(max(p.highWatermark, p.log.LogStartOffset()), end); visible != p.highWatermark {
		p.highWatermark = visible // only an unclean election and damage take back what was visible
		p.wake(eff)
	}
	p.advance(eff)
}

// advanceStart raises the log's start to the leader's, as far as consumers see.
func (f *following) advanceStart(p *Partition) {
	if f.logStart > p.log.LogStartOffset() {
		p.log.AdvanceStart(min(f.logStart, p.highWatermark))
	}
}
