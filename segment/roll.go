package segment

import (
	"fmt"
	"hash/fnv"

	"github.com/ringmill/ringmill/wire"
)

// NeedsRoll says whether the active segment must be sealed before b is appended (Kafka's LogSegment.shouldRoll): b would make
// it larger than segment.bytes, its records span more than segment.ms, an index is full, or b's offsets are more than 2³¹-1
// above its base. An empty segment takes any batch that its offsets allow.
func (l *Log) NeedsRoll(b wire.RecordBatch, now wire.Timestamp) bool {
	s := l.ActiveSegment()
	if !canHold(s.baseOffset, l.LogEndOffset()+wire.Offset(b.LastOffsetDelta())) {
		return true
	}
	return s.size > 0 && l.full(s, int64(len(b)), l.batchTime(b, now), now)
}

// NeedsRollReplicated is NeedsRoll for a batch that has its offsets already.
func (l *Log) NeedsRollReplicated(b wire.RecordBatch, now wire.Timestamp) bool {
	s := l.ActiveSegment()
	return !canHold(s.baseOffset, b.LastOffset()) || s.size > 0 && l.full(s, int64(len(b)), b.MaxTimestamp(), now)
}

// batchTime is the greatest timestamp that b will have in the log.
func (l *Log) batchTime(b wire.RecordBatch, now wire.Timestamp) wire.Timestamp {
	if l.config.MessageTimestampType == wire.LogAppendTime {
		return now
	}
	return b.MaxTimestamp()
}

func (l *Log) full(s *Segment, length int64, ts, now wire.Timestamp) bool {
	c := &l.config
	return int64(s.size)+length > c.SegmentBytes || int64(s.size)+length > maxSegmentBytes ||
		s.timeWaited(now, ts) > c.segmentMS()-l.jitter(s) ||
		s.index.Count() >= c.IndexBytes/offsetEntrySize ||
		s.timeIndex.Count() >= c.IndexBytes/timeEntrySize-1 // one entry is kept for the roll itself
}

// segmentMS is after how long a segment is sealed: of a compacted log no later than its records are to be compacted
// (LogConfig.maxSegmentMs).
func (c *Config) segmentMS() int64 {
	if c.Compact {
		return min(c.SegmentMS, max(c.MaxCompactionLagMS, 0))
	}
	return c.SegmentMS
}

// jitter is how many milliseconds earlier than segment.ms the segment rolls, so that partitions which started together do not
// roll together. It is drawn from the segment's name: the same after a restart, and different for each.
func (l *Log) jitter(s *Segment) int64 {
	bound := min(l.config.SegmentJitterMS, l.config.segmentMS())
	if bound <= 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", s.dir, s.baseOffset)
	return int64(h.Sum64() % uint64(bound))
}

// RollPlan is what a roll writes: the end of the sealed segment's indexes, the producer snapshot, the new segment's files. Run
// does it; it touches nothing of the Log, so it may run in another goroutine.
type RollPlan struct {
	sealed   *Segment
	size     wire.Position // of the sealed segment
	next     *Segment
	index    indexWrite
	time     indexWrite
	txn      txnIndexWrite
	snapshot []byte // nil if there is one at this offset
	compact  bool   // recovery cannot tell offsets that compaction took from a tail that was lost: so the sealed .log is synced
}

// Next is the segment that is active after Rolled.
func (p *RollPlan) Next() *Segment { return p.next }

// PlanRoll plans to seal the active segment and to go on in a new one at the log end offset. No batch may be appended until
// Rolled or RollAbandoned. The writes of earlier plans must have succeeded: what a sealed segment holds can't be undone.
func (l *Log) PlanRoll() RollPlan { return l.PlanRollAt(l.LogEndOffset()) }

// PlanRollReplicated is PlanRoll for a batch that has its offsets already. The new segment begins at the log end offset, however far
// above it the batch does: offsets that are missing where a segment ends are to recovery a tail that was lost, unless the log is
// compacted. Only where relative offsets do not reach so far, it begins at the batch.
func (l *Log) PlanRollReplicated(b wire.RecordBatch) RollPlan {
	base := l.LogEndOffset()
	if !canHold(base, b.LastOffset()) {
		base = b.BaseOffset()
	}
	return l.PlanRollAt(base)
}

// PlanRollAt is PlanRoll with a base offset at or above the log end offset: that of a replicated batch after a gap too wide
// for relative offsets.
func (l *Log) PlanRollAt(base wire.Offset) RollPlan {
	s := l.ActiveSegment()
	if l.rolling || l.truncating || base < s.nextOffset || base == s.baseOffset {
		panic("BUG: roll while rolling or truncated, below the log end offset, or of an empty segment to itself")
	}
	l.rolling = true
	p := RollPlan{
		sealed: s, size: s.size, next: newSegment(l.dir, base),
		index: s.planIndex(), time: s.planTimeIndex(true), txn: s.planTxnIndex(), compact: l.config.Compact,
	}
	if l.snapshot != base {
		p.snapshot = AppendProducerSnapshot(nil, l.producers.entries())
	}
	return p
}

// Run writes the plan's files and gives the new .log, opened to write; the caller closes it. The sealed segment's indexes are
// always durable then, its .log, the snapshot and the new names if sync is set or the log is compacted; otherwise PlanFlush or the caller sees to those.
// After an error the plan may be run again, or given up with RollAbandoned.
func (p *RollPlan) Run(fsys FS, sync bool) (File, error) {
	sync = sync || p.compact
	if err := sealLog(fsys, p.sealed.LogName(), p.size, sync); err != nil {
		return nil, err
	}
	if err := p.txn.run(fsys); err != nil {
		return nil, err
	}
	if err := writeIndexes(fsys, p.time, p.index); err != nil {
		return nil, err
	}
	if p.snapshot != nil {
		name := fileName(p.next.dir, p.next.baseOffset, snapshotSuffix)
		if err := writeNamed(fsys, name, p.snapshot, sync); err != nil {
			return nil, err
		}
	}
	return p.next.createFiles(fsys, sync)
}

// sealLog cuts off what writes that failed and were undone have left behind a .log's batches, durably: in a sealed segment
// nothing is written over it any more, and the file's size would count it. With sync the batches are made durable too.
func sealLog(fsys FS, name string, size wire.Position, sync bool) (err error) {
	f, err := fsys.OpenFile(name, ReadWrite, 0)
	if err != nil {
		return fmt.Errorf("segment: open %s: %w", name, err)
	}
	defer closeFile(f, &err)
	have, err := f.Size()
	if err != nil {
		return fmt.Errorf("segment: size of %s: %w", name, err)
	}
	if wire.Position(have) > size {
		if err := f.Truncate(int64(size)); err != nil {
			return fmt.Errorf("segment: cut %s to %d bytes: %w", name, size, err)
		}
		sync = true
	}
	return syncFile(f, name, sync)
}

// createFiles makes a segment's empty files and gives the .log. What an earlier attempt left is emptied.
func (s *Segment) createFiles(fsys FS, sync bool) (File, error) {
	for _, name := range []string{s.indexName(), s.timeIndexName()} {
		if err := writeNamed(fsys, name, nil, false); err != nil {
			return nil, err
		}
	}
	f, err := fsys.OpenFile(s.LogName(), ReadWrite|Create|Truncate, filePerm)
	if err != nil {
		return nil, fmt.Errorf("segment: create %s: %w", s.LogName(), err)
	}
	if sync {
		if err := fsys.SyncDir(s.dir); err != nil {
			f.Close()
			return nil, fmt.Errorf("segment: sync directory %s: %w", s.dir, err)
		}
	}
	return f, nil
}

// Rolled says that the plan has run: its new segment is the active one.
func (l *Log) Rolled(p RollPlan) {
	s := p.sealed
	if !l.rolling || s != l.ActiveSegment() {
		panic("BUG: rolled without a plan")
	}
	l.rolling = false
	s.sealed(p.time)
	s.txn.written(p.txn)
	s.nextOffset = p.next.baseOffset
	if p.snapshot != nil {
		l.snapshot = p.next.baseOffset
	}
	if n := len(l.segments); n > 1 {
		l.segments[n-2].index.release() // readers near the end may still use the one just sealed
		l.segments[n-2].txn.release(l.recent.visible)
	}
	l.segments = append(l.segments, p.next)
}

// RollAbandoned says that the plan failed and will not be run again: the old segment stays active. Files of the new one that
// were made are empty, and the next roll or recovery takes them.
func (l *Log) RollAbandoned(p RollPlan) {
	if !l.rolling || p.sealed != l.ActiveSegment() {
		panic("BUG: roll abandoned without a plan")
	}
	l.rolling = false
}
