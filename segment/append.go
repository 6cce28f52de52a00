package segment

import (
	"math"

	"github.com/ringmill/ringmill/wire"
)

// AppendPlan says which bytes are to be written where. The log's bookkeeping has them already; if the write fails, Undo takes
// it back. It is a value: it may be copied and kept, and making it allocates nothing.
type AppendPlan struct {
	Segment       *Segment
	Position      wire.Position // in the segment's .log
	Bytes         []byte        // the batch itself, with its offset, epoch and time set in place
	BaseOffset    wire.Offset
	LastOffset    wire.Offset
	LogAppendTime wire.Timestamp // wire.NoTimestamp unless message.timestamp.type says LogAppendTime
	EpochChanged  bool           // the leader epoch cache got an entry; the next PlanFlush writes it

	undo appendUndo
}

// appendUndo is the bookkeeping as it was before an Append, where Undo cannot work it out.
type appendUndo struct {
	nextOffset     wire.Offset
	firstTimestamp wire.Timestamp
	max            TimeEntry
	indexLast      OffsetEntry
	timeLast       TimeEntry
	indexed        bool
	timeIndexed    bool
	txnEnded       bool
	producer       producerUndo
}

// CheckTimestamp says whether b's timestamps are within message.timestamp.before.max.ms and .after.max.ms around now: wire.None or
// wire.InvalidTimestamp. It reads the header: the first record's timestamp and the greatest. With LogAppendTime all are good.
func (l *Log) CheckTimestamp(b wire.RecordBatch, now wire.Timestamp) wire.ErrorCode {
	if l.config.MessageTimestampType == wire.LogAppendTime {
		return wire.None
	}
	first, last := b.BaseTimestamp(), b.MaxTimestamp()
	switch {
	case first >= 0 && int64(now-first) > l.config.TimestampBeforeMaxMS,
		last >= 0 && int64(last-now) > l.config.TimestampAfterMaxMS:
		return wire.InvalidTimestamp
	}
	return wire.None
}

// TimestampBounds are the timestamps between which CheckTimestamp takes batches.
func (l *Log) TimestampBounds(now wire.Timestamp) (earliest, latest wire.Timestamp) {
	latest = math.MaxInt64
	if after := wire.Timestamp(l.config.TimestampAfterMaxMS); after < latest-now {
		latest = now + after
	}
	return now - wire.Timestamp(l.config.TimestampBeforeMaxMS), latest
}

// CheckSize says whether b fits a segment: wire.None or wire.RecordListTooLarge. The size is that of the batch as it was sent,
// compressed or not; max.message.bytes is not looked at.
func (l *Log) CheckSize(b wire.RecordBatch) wire.ErrorCode {
	if int64(len(b)) > l.config.SegmentBytes {
		return wire.RecordListTooLarge
	}
	return wire.None
}

// Append takes a batch of a client as the next of the log: it sets the base offset, the leader epoch and, with LogAppendTime,
// the time in b's bytes, and updates indexes, timestamps, producers and epochs. The caller has checked the batch (its CRC, its
// producer with CheckProducer) and has rolled if NeedsRoll said so. Steady state allocates nothing.
func (l *Log) Append(b wire.RecordBatch, epoch wire.LeaderEpoch, now wire.Timestamp) AppendPlan {
	b.SetBaseOffset(l.LogEndOffset())
	b.SetPartitionLeaderEpoch(epoch)
	appendTime := wire.NoTimestamp
	if l.config.MessageTimestampType == wire.LogAppendTime {
		b.SetAppendTime(now)
		appendTime = now
	}
	p := l.place(b, now)
	p.LogAppendTime = appendTime
	return p
}

// AppendReplicated takes a batch that a leader or a journal has numbered, as it is: offsets, leader epoch and times are in its bytes.
// CheckReplicated has found nothing wrong with it, its checksum is right, and the caller has rolled (PlanRollReplicated) if
// NeedsRollReplicated said so. Its base offset may be above the log end offset, where the leader's log was compacted. Sequence
// numbers are not judged: the leader has done that, and compaction leaves gaps. The log's end is then plan.LastOffset+1.
func (l *Log) AppendReplicated(b wire.RecordBatch, now wire.Timestamp) AppendPlan {
	if reason := l.replicatedFault(b); reason != "" {
		panic("BUG: replicated batch: " + reason)
	}
	p := l.place(b, now)
	p.LogAppendTime = wire.NoTimestamp
	return p
}

func (l *Log) place(b wire.RecordBatch, now wire.Timestamp) AppendPlan {
	s := l.ActiveSegment()
	base, last := b.BaseOffset(), b.LastOffset()
	if l.rolling || l.truncating {
		panic("BUG: append while the log rolls or is truncated")
	}
	if !canHold(s.baseOffset, last) {
		panic("BUG: append without the roll that NeedsRoll asks for")
	}
	s.noteTime(now)
	p := AppendPlan{Segment: s, Position: s.size, Bytes: b, BaseOffset: base, LastOffset: last}
	p.undo = appendUndo{
		nextOffset: s.nextOffset, firstTimestamp: s.firstTimestamp, max: s.max,
		indexLast: s.index.last, timeLast: s.timeIndex.last,
	}
	p.undo.indexed, p.undo.timeIndexed = s.place(b, wire.Position(len(b)), l.config.IndexIntervalBytes)
	l.size += int64(len(b))
	l.recent.push(base, recentBatch{last: last, position: int32(p.Position), length: int32(len(b))})
	p.EpochChanged = l.AssignEpoch(b.PartitionLeaderEpoch(), base)
	if ended, ok := l.producers.update(b, &p.undo.producer); ok {
		p.undo.txnEnded = true
		l.noteEnded(s, ended)
	}
	if l.replicated && p.undo.producer.used {
		l.steps.push(last, &p.undo.producer)
	}
	return p
}

// Undo takes the newest append back after its write failed: the bookkeeping is as before, and the next append goes to the
// same place. Several are undone in reverse order. The bytes that a short write left in the file are beyond the segment's size.
func (l *Log) Undo(p AppendPlan) {
	s, u := l.ActiveSegment(), &p.undo
	if p.Segment != s || s.nextOffset != p.LastOffset+1 || l.rolling || l.truncating {
		panic("BUG: undo of an append that is not the newest")
	}
	if u.timeIndexed {
		s.timeIndex.cut(u.timeLast)
	}
	if u.indexed {
		s.index.cut(u.indexLast)
	}
	s.size, s.nextOffset = p.Position, u.nextOffset
	l.recoveryPoint = min(l.recoveryPoint, s.nextOffset)
	s.firstTimestamp, s.max = u.firstTimestamp, u.max
	l.size -= int64(len(p.Bytes))
	l.recent.pop()
	if p.EpochChanged {
		l.epochs.TruncateFromEnd(p.BaseOffset)
		l.epochsDirty = true
	}
	if u.txnEnded {
		l.forgetEnded(s)
	}
	l.producers.undo(&u.producer)
	l.steps.pop(p.LastOffset)
}
