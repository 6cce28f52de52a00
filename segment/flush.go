package segment

import (
	"bytes"
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// FlushPlan is what makes a log durable up to an offset: index entries and leader epochs that files lack, the files to sync, and
// for a clean shutdown a producer snapshot. Run does it; it touches nothing of the Log.
type FlushPlan struct {
	dir      string
	upTo     wire.Offset // the recovery point once the plan has run
	segments []segmentFlush
	snapshot []byte // nil: none
	at       wire.Offset
	epochs   []byte // leader-epoch-checkpoint; nil: as it is
	syncDir  bool   // names were created since the last flush
}

// segmentFlush is one segment's part of a FlushPlan.
type segmentFlush struct {
	segment *Segment
	index   indexWrite
	time    indexWrite
	txn     txnIndexWrite
	closing bool // with the last entry of the time index
}

// UpTo is the recovery point once the plan has run.
func (p *FlushPlan) UpTo() wire.Offset { return p.upTo }

// Empty reports whether there is nothing to do.
func (p *FlushPlan) Empty() bool { return len(p.segments) == 0 && p.snapshot == nil && p.epochs == nil }

// PlanFlush plans to make everything below the log end offset durable. The caller sees to it that all writes of earlier
// AppendPlans are done before Run. While the log is being truncated there is nothing to flush.
func (l *Log) PlanFlush() FlushPlan { return l.planFlush(false) }

// PlanClose is PlanFlush and what a clean shutdown adds: the last entry of the active segment's time index, and a producer
// snapshot at the log end offset, so that opening scans nothing.
func (l *Log) PlanClose() FlushPlan {
	if l.truncating {
		panic("BUG: close of a log that is being truncated")
	}
	p := l.planFlush(true)
	if end := l.LogEndOffset(); end > max(l.snapshot, l.start) {
		p.snapshot, p.at = AppendProducerSnapshot(nil, l.producers.entries()), end
		p.syncDir = true
	}
	return p
}

func (l *Log) planFlush(closing bool) FlushPlan {
	if l.truncating {
		return FlushPlan{dir: l.dir, upTo: l.recoveryPoint} // the truncation makes durable what is left
	}
	p := FlushPlan{dir: l.dir, upTo: l.LogEndOffset()}
	if l.epochsDirty {
		p.epochs = l.EpochCheckpoint()
	}
	active := l.ActiveSegment()
	p.syncDir = len(l.segments) > 1 && l.recoveryPoint <= active.baseOffset
	for _, s := range l.segments[l.segmentAt(l.recoveryPoint):] {
		if s.nextOffset <= l.recoveryPoint && !(closing && s == active) {
			continue
		}
		p.segments = append(p.segments, segmentFlush{
			segment: s, index: s.planIndex(), time: s.planTimeIndex(closing), txn: s.planTxnIndex(), closing: closing && s == active,
		})
	}
	return p
}

// Limit lowers the offset that the plan makes durable to written, the end of what the page cache has: appends that are
// planned and not written yet are in the log's bookkeeping, but a sync of the file would not cover them.
func (p *FlushPlan) Limit(written wire.Offset) { p.upTo = min(p.upTo, written) }

// Run writes and syncs. An error leaves it open what is on disk; the caller stops using the log directory if it came from a
// sync.
func (p *FlushPlan) Run(fsys FS) error {
	for i := range p.segments {
		if err := p.segments[i].run(fsys); err != nil {
			return err
		}
	}
	if p.epochs != nil {
		if err := fsys.WriteFileAtomic(p.dir+"/"+LeaderEpochCheckpoint, p.epochs); err != nil {
			return fmt.Errorf("segment: write %s of %s: %w", LeaderEpochCheckpoint, p.dir, err)
		}
	}
	if p.snapshot != nil {
		if err := writeNamed(fsys, fileName(p.dir, p.at, snapshotSuffix), p.snapshot, true); err != nil {
			return err
		}
	}
	if p.syncDir {
		if err := fsys.SyncDir(p.dir); err != nil {
			return fmt.Errorf("segment: sync directory %s: %w", p.dir, err)
		}
	}
	return nil
}

func (f *segmentFlush) run(fsys FS) error {
	if err := syncNamed(fsys, f.segment.LogName()); err != nil {
		return err
	}
	if err := f.txn.run(fsys); err != nil {
		return err
	}
	return writeIndexes(fsys, f.time, f.index)
}

// Flushed says that the plan has run: the recovery point advances.
func (l *Log) Flushed(p FlushPlan) {
	for i := range p.segments {
		p.segments[i].done()
	}
	if p.snapshot != nil {
		l.snapshot = p.at
	}
	if p.epochs != nil {
		l.epochsDirty = l.epochsDirty && !bytes.Equal(p.epochs, l.EpochCheckpoint())
	}
	l.Synced(p.upTo)
}

// done notes which entries are in files. An undo since the plan may have taken some of them back; a closing time entry is
// not counted, since the next write replaces it.
func (f *segmentFlush) done() {
	s := f.segment
	s.txn.written(f.txn)
	x := &s.index
	x.flushed = max(x.flushed, min(int32(x.Count()), int32((f.index.at+int64(len(f.index.data)))/offsetEntrySize)))
	if f.closing {
		return
	}
	t := &s.timeIndex
	flushed := min(int32(t.Count()), int32((f.time.at+int64(len(f.time.data)))/timeEntrySize))
	if n := flushed - t.flushed; n > 0 {
		t.tail, t.flushed = append([]byte(nil), t.tail[int(n)*timeEntrySize:]...), flushed
	}
}

// Synced raises the recovery point after the caller has synced .log files up to off, and their names, by itself. Indexes are no
// part of that: those of sealed segments are durable since the roll, and recovery makes entries of the active one's again.
func (l *Log) Synced(off wire.Offset) {
	l.recoveryPoint = max(l.recoveryPoint, min(off, l.LogEndOffset()))
}
