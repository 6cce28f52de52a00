package replicate

import (
	"cmp"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// Acks values of a Produce request.
const (
	AcksNone   int16 = 0
	AcksLeader int16 = 1
	AcksAll    int16 = -1
)

// Outcome says what became of a batch.
type Outcome uint8

const (
	// Planned: the AppendPlan must be written; the completion follows from Written or Synced.
	Planned Outcome = iota
	// Answered: the completion is in Effects already, or follows without a write (a duplicate that is not safe yet).
	Answered
	// NeedsRoll: nothing happened; roll the segment and call again.
	NeedsRoll
	// Dropped: nothing happened and nothing will: a fetched batch that is not the next of the log.
	Dropped
)

// Produce takes one checked record batch (wire.RecordBatch.Check) for appending. The batch's header is patched in
// place; its bytes must stay until the write is reported by Written.
func (p *Partition) Produce(b wire.RecordBatch, acks int16, ref any, now wire.Timestamp, eff *Effects) (segment.AppendPlan, Outcome) {
	if code := p.refusal(acks); code != wire.None {
		eff.Completed = append(eff.Completed, Refused(ref, code))
		return segment.AppendPlan{}, Answered
	}
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

// refusal says why a produce cannot be taken whatever is in it.
func (p *Partition) refusal(acks int16) wire.ErrorCode {
	switch {
	case p.role != Leading:
		return wire.NotLeaderOrFollower
	case acks == AcksAll && p.reign != nil && p.reign.underMinISR():
		return wire.NotEnoughReplicas
	}
	return wire.None
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

// Failed undoes plans whose write failed, newest first, and fails everything that waits at or beyond the first of
// them. plans are in offset order and reach the log's end.
func (p *Partition) Failed(plans []segment.AppendPlan, code wire.ErrorCode, eff *Effects) {
	if len(plans) == 0 {
		return
	}
	for i := len(plans) - 1; i >= 0; i-- {
		p.log.Undo(plans[i])
	}
	if end := p.log.LogEndOffset(); p.reign != nil && end < p.reign.start {
		// They were fetched before it led, and nobody was promised them: its reign begins where the log ends now.
		p.reign.start = end
		p.log.AssignEpoch(p.leaderEpoch, end)
	}
	p.fail(plans[0].BaseOffset, code, eff)
	p.check()
}

// Expire answers those acks=all produces that are due, by their Ref, with REQUEST_TIMED_OUT: their requests' timeouts have passed
// (DelayedProduce.onExpiration). Their records stay, and may become safe yet. What is not written yet is let be, since its bytes are still
// needed. It says how many wait on; due is asked of each once.
func (p *Partition) Expire(due func(ref any) bool, eff *Effects) (waiting int) {
	return p.unsafe.expire(p.written, due, eff)
}

// Unsafe calls f with each produce that waits for the high watermark, and its batch's last offset, the newest first, until f returns
// false. f must change nothing here.
func (p *Partition) Unsafe(f func(last wire.Offset, ref any) (more bool)) { p.unsafe.newest(f) }

// fail answers every waiting produce whose last offset is at or beyond first.
func (p *Partition) fail(first wire.Offset, code wire.ErrorCode, eff *Effects) {
	for _, queue := range []*delayedProduces{&p.unwritten, &p.unsafe} {
		queue.fail(first, code, eff)
	}
}
