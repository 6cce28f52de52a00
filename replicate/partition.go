package replicate

import (
	"cmp"
	"fmt"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// FlushPolicy says when a record counts as safe; docs/reliability.md has what each survives.
type FlushPolicy uint8

const (
	// FlushCommit counts a record as safe when it is on disk.
	FlushCommit FlushPolicy = iota
	// FlushInterval counts a record as safe in the page cache and syncs by flush.ms and flush.messages.
	FlushInterval
	// FlushCache counts a record as safe in the page cache and leaves syncing to the kernel, as Apache Kafka does.
	FlushCache
)

// Acks values of a Produce request.
const (
	AcksNone   int16 = 0
	AcksLeader int16 = 1
	AcksAll    int16 = -1
)

// Completion answers one Produce of one partition.
type Completion struct {
	// Ref is what Produce was given.
	Ref           any
	Code          wire.ErrorCode
	BaseOffset    wire.Offset
	LogAppendTime wire.Timestamp
}

// Refused is the completion of a Produce that got no offset.
func Refused(ref any, code wire.ErrorCode) Completion {
	return Completion{Ref: ref, Code: code, BaseOffset: wire.NoOffset, LogAppendTime: wire.NoTimestamp}
}

// FetchWaiter is a fetch that waits for the high watermark to move.
type FetchWaiter struct {
	// Ref is the waiting fetch; a partition holds at most one waiter a Ref.
	Ref any
	// Generation tells the holder of Ref which of its waits this was; a stale one is ignored there.
	Generation uint32
}

// Effects is what the owner must do after an event. The owner reuses it: Reset keeps the capacity.
type Effects struct {
	Completed []Completion
	Wake      []FetchWaiter
}

// Reset empties e.
func (e *Effects) Reset() {
	clear(e.Completed)
	clear(e.Wake)
	e.Completed, e.Wake = e.Completed[:0], e.Wake[:0]
}

// Partition is the replica of one partition on its leader. Not safe for concurrent use: its loop owns it.
type Partition struct {
	log *segment.Log

	// policy decides which of written and synced moves the high watermark.
	policy FlushPolicy
	// leaderEpoch is stamped on each appended batch.
	leaderEpoch wire.LeaderEpoch
	// highWatermark bounds what consumers see; see I7b.
	highWatermark wire.Offset
	// written is the end of what the page cache has; synced of what the disk has.
	written, synced wire.Offset
	// unwritten waits for written (acks 0 and 1), unsafe for highWatermark (acks all).
	unwritten, unsafe delayedProduces
	// fetches wait for the next advance of highWatermark.
	fetches delayedFetches
}

// NewPartition makes the state for a recovered log: everything in it is written and, since recovery synced it or a
// clean stop did, on disk.
func NewPartition(log *segment.Log, policy FlushPolicy, epoch wire.LeaderEpoch) *Partition {
	end := log.LogEndOffset()
	return &Partition{log: log, policy: policy, leaderEpoch: epoch, highWatermark: end, written: end, synced: end}
}

// Log is the partition's log; its owner is the partition's owner.
func (p *Partition) Log() *segment.Log { return p.log }

// HighWatermark is the first offset that consumers do not see yet.
func (p *Partition) HighWatermark() wire.Offset { return p.highWatermark }

// LeaderEpoch is the epoch under which this replica leads.
func (p *Partition) LeaderEpoch() wire.LeaderEpoch { return p.leaderEpoch }

// WrittenEnd is the end of what the page cache has.
func (p *Partition) WrittenEnd() wire.Offset { return p.written }

// SyncedEnd is the end of what the disk has.
func (p *Partition) SyncedEnd() wire.Offset { return p.synced }

// Policy is the flush policy in force.
func (p *Partition) Policy() FlushPolicy { return p.policy }

// SetPolicy changes the flush policy. A relaxed policy may complete produces at once.
func (p *Partition) SetPolicy(policy FlushPolicy, eff *Effects) {
	p.policy = policy
	p.advance(eff)
}

// Outcome says what became of a Produce.
type Outcome uint8

const (
	// Planned: the AppendPlan must be written; the completion follows from Written or Synced.
	Planned Outcome = iota
	// Answered: the completion is in Effects already, or follows without a write (a duplicate that is not safe yet).
	Answered
	// NeedsRoll: nothing happened; roll the segment and call again.
	NeedsRoll
)

// Produce takes one checked record batch (wire.RecordBatch.Check) for appending. The batch's header is patched in
// place; its bytes must stay until the write is reported by Written.
func (p *Partition) Produce(b wire.RecordBatch, acks int16, ref any, now wire.Timestamp, eff *Effects) (segment.AppendPlan, Outcome) {
	v := p.log.CheckProducer(b)
	if v.Code == wire.None && !v.Duplicate {
		v.Code = cmp.Or(p.log.CheckTimestamp(b, now), p.log.CheckSize(b))
	}
	if v.Code != wire.None {
		eff.Completed = append(eff.Completed, Refused(ref, v.Code))
		return segment.AppendPlan{}, Answered
	}
	if v.Duplicate {
		last := v.BaseOffset + wire.Offset(b.LastOffsetDelta())
		p.await(delayedProduce{last: last, done: Completion{Ref: ref, BaseOffset: v.BaseOffset, LogAppendTime: v.Timestamp}}, acks, eff)
		return segment.AppendPlan{}, Answered
	}
	if p.log.NeedsRoll(b, now) {
		return segment.AppendPlan{}, NeedsRoll
	}
	plan := p.log.Append(b, p.leaderEpoch, now)
	p.await(delayedProduce{last: plan.LastOffset, done: Completion{Ref: ref, BaseOffset: plan.BaseOffset, LogAppendTime: plan.LogAppendTime}}, acks, eff)
	return plan, Planned
}

// await queues d, or completes it at once if what it waits for is there.
func (p *Partition) await(d delayedProduce, acks int16, eff *Effects) {
	queue, bound := &p.unwritten, p.written
	if acks == AcksAll {
		queue, bound = &p.unsafe, p.highWatermark
	}
	if d.last < bound && queue.empty() {
		eff.Completed = append(eff.Completed, d.done)
		return
	}
	queue.push(d)
}

// Written reports that every byte below end is in the page cache.
func (p *Partition) Written(end wire.Offset, eff *Effects) {
	p.written = end
	p.advance(eff)
}

// Synced reports that every byte below end is on disk.
func (p *Partition) Synced(end wire.Offset, eff *Effects) {
	p.synced = max(p.synced, end)
	p.advance(eff)
}

// advance moves the high watermark as far as the policy allows, then completes and wakes who waited for that.
func (p *Partition) advance(eff *Effects) {
	safe := p.written
	if p.policy == FlushCommit {
		safe = min(p.synced, p.written)
	}
	if safe > p.highWatermark {
		p.highWatermark = safe
		p.log.ReleaseBelow(safe)
		p.wake(eff)
	}
	p.unwritten.completeBelow(p.written, eff)
	p.unsafe.completeBelow(p.highWatermark, eff)
	p.check()
}

func (p *Partition) wake(eff *Effects) {
	eff.Wake = p.fetches.takeAll(eff.Wake)
}

// Failed undoes plans whose write failed, newest first, and fails everything that waits at or beyond the first of
// them. plans are in offset order and reach the log's end.
func (p *Partition) Failed(plans []segment.AppendPlan, code wire.ErrorCode, eff *Effects) {
	if len(plans) == 0 {
		return
	}
	for i := len(plans) - 1; i >= 0; i-- {
		p.log.Undo(plans[i])
	}
	p.fail(plans[0].BaseOffset, code, eff)
	p.check()
}

// Stop fails every produce and wakes every fetch: the partition is deleted or its log directory is offline.
func (p *Partition) Stop(code wire.ErrorCode, eff *Effects) {
	p.fail(0, code, eff)
	p.wake(eff)
}

// fail answers every waiting produce whose last offset is at or beyond first.
func (p *Partition) fail(first wire.Offset, code wire.ErrorCode, eff *Effects) {
	for _, queue := range []*delayedProduces{&p.unwritten, &p.unsafe} {
		for _, d := range queue.takeFrom(first) {
			eff.Completed = append(eff.Completed, Refused(d.done.Ref, code))
		}
	}
}

// WaitFetch registers a fetch that saw the high watermark at seen. It returns false, registering nothing, if the high
// watermark has moved since (P2): the fetch must read again.
func (p *Partition) WaitFetch(w FetchWaiter, seen wire.Offset) bool {
	if p.highWatermark > seen {
		return false
	}
	p.fetches.put(w)
	return true
}

// CancelFetch forgets the waiter of ref, if there is one.
func (p *Partition) CancelFetch(ref any) { p.fetches.cancel(ref) }

// check holds I7a at the end of each step, but for the log's start and with the log's end for synced; I7b is advance's.
func (p *Partition) check() {
	ok := p.highWatermark <= p.written && p.synced <= p.log.LogEndOffset() && p.written <= p.log.LogEndOffset()
	if !ok {
		panic(fmt.Sprintf("BUG: partition offsets out of order: high watermark %d, synced %d, written %d, log end %d",
			p.highWatermark, p.synced, p.written, p.log.LogEndOffset()))
	}
}
