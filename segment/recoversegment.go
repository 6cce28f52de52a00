package segment

import (
	"fmt"
	"io"
	"math"

	"github.com/ringmill/ringmill/wire"
)

// rebuild makes the indexes of a durable segment anew by a scan of all of it. Its .log is not touched.
func (o *opener) rebuild(s *Segment, f File) error {
	next := s.nextOffset
	o.dropIndexes(s)
	if err := o.scan(s, f, keepAll, next); err != nil {
		return err
	}
	s.size, s.nextOffset = o.walker.size, next
	return o.writeIndexes(s, true)
}

// recoverSegment opens a segment that may have a torn tail, or the active one: it scans from the recovery point, or after a
// clean shutdown from the last index entry.
func (o *opener) recoverSegment(s *Segment, f File, last bool) (torn bool, err error) {
	var files indexFiles
	taken := o.opt.Clean && o.takeIndexes(s, f)
	if !taken {
		if files, err = o.readIndexes(s); err != nil {
			return false, err
		}
	}
	limit := keepAll
	if !last {
		limit = s.nextOffset
	}
	if err := o.scan(s, f, o.opt.RecoveryPoint, limit); err != nil {
		return false, err
	}
	w := &o.walker
	size, why, bad := w.size, w.torn, w.damage != nil && w.badEnd == w.size
	if why == "" && !last && !bad {
		why = o.gap(s, limit)
	}
	if err := o.readFirst(s, f); err != nil {
		return false, err
	}
	if why != "" {
		return true, o.truncate(s, size, why)
	}
	s.size = size
	if last {
		o.badTail = bad
	} else {
		s.nextOffset = limit
	}
	if taken && last && len(s.index.unflushed())+len(s.timeIndex.tail) == 0 {
		return false, nil // the files are as they should be
	}
	if !taken && last && o.settle(s, files) {
		return false, nil
	}
	return false, o.writeIndexes(s, !last)
}

// gap says what is wrong if the next segment begins at a later offset than this one ends: the tail of this file was lost. Above
// the recovery point that is a torn tail, below it damage. A log that is or was compacted may have such gaps.
func (o *opener) gap(s *Segment, limit wire.Offset) (torn string) {
	if o.log.config.Compact || s.nextOffset >= limit || s.nextOffset < o.opt.CleanerOffset {
		return ""
	}
	reason := fmt.Sprintf("the next segment begins at offset %d", limit)
	if s.nextOffset >= o.opt.RecoveryPoint {
		return reason
	}
	o.noteDamage(&CorruptionError{
		Dir: s.dir, Segment: s.baseOffset, Position: s.size, End: s.size, Offset: s.nextOffset, Reason: reason,
	})
	return ""
}

// truncate cuts a .log of size bytes after its last good batch, durably.
func (o *opener) truncate(s *Segment, size wire.Position, why string) (err error) {
	name := s.LogName()
	f, err := o.fs.OpenFile(name, ReadWrite, 0)
	if err != nil {
		return fmt.Errorf("segment: open %s: %w", name, err)
	}
	defer closeFile(f, &err)
	if err := f.Truncate(int64(s.size)); err != nil {
		return fmt.Errorf("segment: cut %s to %d bytes: %w", name, s.size, err)
	}
	if err := syncFile(f, name, true); err != nil {
		return err
	}
	o.report.TruncatedBytes += int64(size - s.size)
	o.report.TruncatedAt, o.report.TruncatedWhy = s.nextOffset, why
	return o.writeIndexes(s, false)
}

// scan walks the .log from the batch of the last index entry, or from the start, and notes each batch in the segment and the
// epoch cache. Bytes that are no batch are damage below durable, and end the scan from there on.
func (o *opener) scan(s *Segment, f io.ReaderAt, durable, limit wire.Offset) error {
	size := s.size
	from, expected, err := o.resume(s, f)
	if err != nil {
		return err
	}
	w := &o.walker
	w.start(s.dir, s.baseOffset, f, size)
	w.verify, w.durable, w.limit = true, durable, limit
	w.position, w.expected = from, expected
	s.size, s.nextOffset = from, expected
	for {
		b, at, ok, err := w.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		s.size = at
		s.place(b, wire.Position(b.Length()), o.log.config.IndexIntervalBytes)
		switch e := b.PartitionLeaderEpoch(); {
		case e > o.log.epochs.Latest():
			o.log.AssignEpoch(e, b.BaseOffset())
		case e >= 0 && e != o.log.epochs.EpochAt(b.BaseOffset()):
			o.doubted = true
		}
	}
	o.noteDamage(w.damage)
	return nil
}

// resume says where the scan begins: at the batch of the last index entry. If a good batch with that last offset is not there,
// the index is of another file, or damage begins there: it is dropped, and the scan begins at the start.
func (o *opener) resume(s *Segment, f io.ReaderAt) (from wire.Position, expected wire.Offset, err error) {
	if s.index.Count() == 0 {
		return 0, s.baseOffset, nil
	}
	w := &o.walker
	w.start(s.dir, s.baseOffset, f, s.size)
	b, fault, err := w.read(s.index.last.Position, true)
	if err != nil {
		return 0, 0, err
	}
	if fault == "" && b.LastOffset() == s.index.last.Offset && b.BaseOffset() >= s.baseOffset {
		return s.index.last.Position, b.BaseOffset(), nil
	}
	o.noteRebuilt(s)
	o.dropIndexes(s)
	return 0, s.baseOffset, nil
}

func (o *opener) noteDamage(d *CorruptionError) {
	if o.report.Damage == nil {
		o.report.Damage = d
	}
}

// readFirstIfDated is readFirst for a sealed segment whose compaction may be due by that timestamp.
func (o *opener) readFirstIfDated(s *Segment, f io.ReaderAt) error {
	if c := &o.log.config; !c.Compact || c.MaxCompactionLagMS == math.MaxInt64 {
		return nil
	}
	return o.readFirst(s, f)
}

// readFirst reads the timestamp from which rolling by time counts.
func (o *opener) readFirst(s *Segment, f io.ReaderAt) error {
	if s.size == 0 {
		s.firstTimestamp = wire.NoTimestamp
		return nil
	}
	w := &o.walker
	w.start(s.dir, s.baseOffset, f, s.size)
	b, fault, err := w.read(0, false)
	if err == nil && fault == "" {
		s.firstTimestamp = b.MaxTimestamp()
	}
	return err
}
