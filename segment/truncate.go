package segment

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// TruncatePlan cuts a log back, for a follower whose log goes on otherwise than its leader's (KIP-101, KIP-279, KIP-595). What
// follows the cut is gone for good, and the offsets are given out again. Run does it; it touches nothing of the Log.
//
//	PlanTruncate                     the recovery point falls; nothing is appended, rolled, flushed or cleaned until Truncated
//	the checkpoint files are written if recovery-point-offset-checkpoint has more than RecoveryPoint for the log (or
//	                                 log-start-offset-checkpoint more than LogStartOffset): else a crash during or after Run
//	                                 would look like lost records
//	JournalEntry, journalled, synced if the journal may have batches of the log: else it would bring back what was cut
//	Run (cold) → Truncated           durable: what is appended from here on is never mixed up with what was cut
//
// A plan that was not run, or failed, may be run again, or be replaced by another one: that cuts at the lower of both offsets, and
// empties the log if the first one did.
//
// A crash before Run has returned leaves the log as it was, or cut at any batch from the plan's offset on.
type TruncatePlan struct {
	dir    string
	topic  wire.TopicID
	config Config
	open   OpenOptions // how the rest is opened
	to     wire.Offset // records from here on go
	fully  bool        // all records go, and the log begins anew at to
	cuts   bool        // else only the leader epochs are to be written
	point  wire.Offset // recovery point meanwhile
	base   wire.Offset // base of the segment that is cut; those after it go
	size   wire.Position
	gone   []wire.Offset // bases of the segments that go, oldest first
	sync   SyncPlan      // what stays is made durable too, with the entries that the indexes of the cut segment lack
	index  indexWrite
	times  indexWrite
	knows  bool     // the producers are known without reading the log, and so is the transaction index of the cut segment
	txn    TxnIndex // as it is after the cut
	txns   txnIndexWrite
	epochs LeaderEpochCache
	active string // the active .log's name, if nothing is cut

	rest   *Log // what Run has left
	report RecoveryReport
}

// RecoveryPoint is the greatest recovery point that the checkpoint file may have for the log when Run begins.
func (p *TruncatePlan) RecoveryPoint() wire.Offset { return p.point }

// Report says what Run found in what it left, as OpenLog's does: good if Run has ended without an error.
func (p *TruncatePlan) Report() RecoveryReport { return p.report }

// JournalEntry is the entry that keeps the journal from replaying what the plan cuts. It is to be on disk before Run.
func (p *TruncatePlan) JournalEntry(partition wire.PartitionIndex) JournalEntry {
	from := p.to
	if p.fully {
		from = 0
	}
	return JournalTruncation(p.topic, partition, from)
}

// PlanTruncate plans to cut the log at off: afterwards its end is off, or the base offset of the batch that off lies within; of a
// log with gaps the end of the last batch below off. Nothing of the log is under way: no write, sync, flush, roll, copy, cleaning
// or deletion of files. If off is at or below the log start offset, or nothing
// is left of the log below it, the plan is PlanTruncateFully's.
//
// ok is false if there is nothing to do. Where off is not below the log end offset nothing is cut, but there may be a leader epoch
// that began there without ever having written a batch: then the plan removes that.
func (l *Log) PlanTruncate(off wire.Offset) (p TruncatePlan, ok bool) {
	l.mustBeStill()
	end := l.LogEndOffset()
	if l.truncating {
		off = min(off, l.cutTo)
	}
	if off < end && off <= max(l.start, l.segments[0].baseOffset-1) || l.emptying {
		return l.PlanTruncateFully(min(off, l.start)), true
	}
	p = l.newTruncation(min(off, end))
	if changed := p.epochs.TruncateFromEnd(p.to); off >= end {
		l.truncating, l.cutTo = changed, end
		l.mend(end, nil)
		return p, changed
	}
	i := l.segmentAt(off)
	s := l.segments[i]
	p.cuts, p.base, p.size, p.sync = true, s.baseOffset, s.size, l.PlanSync(off)
	p.index, p.times = s.planIndex(), s.planTimeIndex(false)
	if p.knows = l.replicated && off >= l.steps.from && s.txn.covers(off); p.knows {
		p.txn, p.txns = s.planTxnCut(off)
	}
	for _, s := range l.segments[i+1:] {
		p.gone = append(p.gone, s.baseOffset)
	}
	l.beginTruncation(&p, min(l.recoveryPoint, l.boundaryBelow(off)))
	return p, true
}

// PlanTruncateFully plans to empty the log, which then begins at start: the leader's log has nothing that follows this one's. As for
// PlanTruncate nothing of the log is under way.
func (l *Log) PlanTruncateFully(start wire.Offset) TruncatePlan {
	l.mustBeStill()
	p := l.newTruncation(start)
	p.cuts, p.fully, p.epochs = true, true, LeaderEpochCache{}
	l.start, l.emptying = start, true
	l.beginTruncation(&p, 0) // a crash may leave the log at any length
	return p
}

func (l *Log) newTruncation(to wire.Offset) TruncatePlan {
	return TruncatePlan{
		dir: l.dir, topic: l.topicID, config: l.config, to: to, point: l.recoveryPoint, active: l.ActiveSegment().LogName(),
		epochs: LeaderEpochCache{slices.Clone(l.epochs.entries)}, report: RecoveryReport{Dir: l.dir, TruncatedAt: wire.NoOffset},
		open: OpenOptions{RecoveryPoint: l.recoveryPoint, LogStartOffset: l.start, CleanerOffset: min(l.cleaned, to)},
	}
}

func (l *Log) beginTruncation(p *TruncatePlan, point wire.Offset) {
	p.point, l.recoveryPoint = point, point
	l.cleaned = min(l.cleaned, p.to)
	l.truncating, l.cutTo = true, p.to
}

func (l *Log) mustBeStill() {
	if l.rolling || l.swapping {
		panic("BUG: truncation of a log that rolls or swaps")
	}
}

// boundaryBelow is an offset at which a batch of off's segment begins or ends, at or below the one where the log ends once it is
// cut at off: that very one if the ring of recent batches knows it.
func (l *Log) boundaryBelow(off wire.Offset) wire.Offset {
	base := l.segments[l.segmentAt(off)].baseOffset
	if end, known := l.recent.endBelow(off); known {
		return max(base, end)
	}
	return base
}

// Truncated says that the plan has run: the log is cut, and all that is left of it is on disk. Segments that were cut are other
// ones from now on, and what was open of them is to be closed.
func (l *Log) Truncated(p TruncatePlan) {
	if !l.truncating || p.rest == nil && p.cuts {
		panic("BUG: truncated without a plan that has run")
	}
	l.truncating, l.emptying = false, false
	l.epochs, l.epochsDirty = p.epochs, false
	if !p.cuts {
		return
	}
	l.takeSegments(p.rest.segments, p.base)
	l.mend(p.to, p.rest.damage)
	end := l.LogEndOffset()
	l.start = min(l.start, end)
	l.recoveryPoint, l.snapshot = end, p.rest.snapshot
	l.recent.truncate(end)
	l.takeProducers(&p)
	l.unreplicated = slices.DeleteFunc(l.unreplicated, func(e endedTxn) bool { return e.last >= end })
}

// takeProducers takes back what the batches that were cut have changed, or what was found to be so without them.
func (l *Log) takeProducers(p *TruncatePlan) {
	if !p.knows {
		l.producers, l.steps = p.rest.producers, producerSteps{from: l.LogEndOffset()}
		return
	}
	l.steps.takeBack(&l.producers, p.to)
	if s := l.segments[l.segmentAt(p.base)]; s.baseOffset == p.base {
		s.txn = p.txn
		s.txn.written(p.txns)
	}
}

// mend forgets damage from an offset on, where the log was cut; found is what was found below it.
func (l *Log) mend(from wire.Offset, found *CorruptionError) {
	l.behind = false
	if l.damage != nil && l.damage.Offset >= from {
		l.damage = nil
	}
	l.noteDamage(found)
}

// noteDamage keeps the first damage, in the order of offsets.
func (l *Log) noteDamage(found *CorruptionError) {
	if found != nil && (l.damage == nil || found.Offset < l.damage.Offset) {
		l.damage = found
	}
}

// takeSegments puts segments in the place of the log's. Those that are as they were keep their identity; all below the one that was
// cut keep their aborted transactions.
func (l *Log) takeSegments(segments []*Segment, cut wire.Offset) {
	l.size = 0
	for i, s := range segments {
		l.size += int64(s.size)
		if i >= len(l.segments) || l.segments[i].baseOffset != s.baseOffset {
			continue
		}
		was := l.segments[i]
		if i < len(segments)-1 && was.size == s.size && was.nextOffset == s.nextOffset && was.index.Count() == s.index.Count() {
			segments[i] = was
			continue
		}
		if s.created = was.created; s.baseOffset < cut {
			s.txn = was.txn
		}
	}
	l.segments = segments
}
