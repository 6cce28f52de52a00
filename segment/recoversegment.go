package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ringmill/ringmill/wire"
)

// takeIndexes takes the indexes of a segment that needs no scan as they are: it looks at sizes and last entries alone, and
// reads no more. It reports whether they make sense for the .log's size.
func (o *opener) takeIndexes(s *Segment, f io.ReaderAt) bool {
	entry, count, ok := o.lastEntry(s.indexName(), offsetEntrySize)
	if !ok || count == 0 && o.needsEntries(s, f) {
		return false
	}
	if count > 0 {
		last := readOffsetEntry(s.baseOffset, entry, 0)
		if last.Offset < s.baseOffset || last.Position < 0 || last.Position >= s.size || count > 1 && last.Position == 0 {
			return false
		}
		s.index.first, s.index.flushed, s.index.last = int32(count), int32(count), last
	}
	entry, count, ok = o.lastEntry(s.timeIndexName(), timeEntrySize)
	if !ok {
		return false
	}
	if count == 0 {
		return !o.hasTimes(s, f, wire.NoTimestamp)
	}
	last := readTimeEntry(s.baseOffset, entry, 0)
	if last.Offset < s.baseOffset || last.Timestamp < 0 || last.Timestamp == 0 && o.hasTimes(s, f, 0) {
		return false
	}
	s.timeIndex.flushed, s.timeIndex.last, s.max = int32(count), last, last
	return true
}

// needsEntries reports whether an index cannot be empty: the first batch, which gets no entry, is larger than the interval and
// not the only one.
func (o *opener) needsEntries(s *Segment, f io.ReaderAt) bool {
	interval := wire.Position(o.log.config.IndexIntervalBytes)
	if s.size <= interval {
		return false
	}
	w := &o.walker
	w.start(s.dir, s.baseOffset, f, s.size)
	b, fault, err := w.read(0, false)
	if err != nil || fault != "" {
		return true
	}
	length := wire.Position(b.Length())
	return length < s.size && (length > interval || s.size > 2*interval+length)
}

// hasTimes reports whether a segment's first batch is later than ts: then its time index, in which the greatest timestamp is
// noted when the segment is closed, cannot end there.
func (o *opener) hasTimes(s *Segment, f io.ReaderAt, ts wire.Timestamp) bool {
	if s.size == 0 {
		return false
	}
	w := &o.walker
	w.start(s.dir, s.baseOffset, f, s.size)
	b, fault, err := w.read(0, false)
	return err != nil || fault != "" || b.MaxTimestamp() > ts
}

// lastEntry reads the last entry of an index file. ok is false if the file is missing, unreadable, or no number of entries.
func (o *opener) lastEntry(name string, size int) (entry []byte, count int64, ok bool) {
	f, err := o.fs.OpenFile(name, ReadOnly, 0)
	if err != nil {
		return nil, 0, false
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil || n%int64(size) != 0 {
		return nil, 0, false
	}
	if n == 0 {
		return nil, 0, true
	}
	entry = make([]byte, size)
	if got, _ := f.ReadAt(entry, n-int64(size)); got < size {
		return nil, 0, false
	}
	return entry, n / int64(size), true
}

func (o *opener) noteRebuilt(s *Segment) {
	for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
		o.report.RebuiltIndexes = append(o.report.RebuiltIndexes, fileName("", s.baseOffset, suffix)[1:])
	}
}

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

func (o *opener) dropIndexes(s *Segment) {
	fresh := newSegment(s.dir, s.baseOffset)
	s.index, s.timeIndex, s.max = fresh.index, fresh.timeIndex, fresh.max
}

// recoverSegment opens a segment that may have a torn tail, or the active one: it scans from the recovery point, or after a
// clean shutdown from the last index entry.
func (o *opener) recoverSegment(s *Segment, f File, last bool) (torn bool, err error) {
	if !o.opt.Clean || !o.takeIndexes(s, f) {
		if err := o.readIndexes(s); err != nil {
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
	return false, o.writeIndexes(s, !last)
}

// gap says what is wrong if the next segment begins at a later offset than this one ends: the tail of this file was lost. Above
// the recovery point that is a torn tail, below it damage. A compacted log may have such gaps.
func (o *opener) gap(s *Segment, limit wire.Offset) (torn string) {
	if o.log.config.Compact || s.nextOffset >= limit {
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

// truncate cuts a .log of size bytes after its last good batch, durably, and its transaction index with it.
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
	if err := o.cutTxnIndex(s); err != nil {
		return err
	}
	return o.writeIndexes(s, false)
}

// An entry of a .txnindex: int16 version, then int64 each of producer id, first, last and last stable offset.
const (
	txnEntrySize  = 2 + 4*8
	txnLastOffset = 2 + 2*8
)

// cutTxnIndex drops the aborted transactions of a .txnindex whose markers were cut off.
func (o *opener) cutTxnIndex(s *Segment) error {
	data, err := o.readIndex(s, txnIndexSuffix)
	if err != nil || len(data) == 0 {
		return err
	}
	n := 0
	for n+txnEntrySize <= len(data) && wire.Offset(binary.BigEndian.Uint64(data[n+txnLastOffset:])) < s.nextOffset {
		n += txnEntrySize
	}
	if n == len(data) {
		return nil
	}
	return indexWrite{name: fileName(s.dir, s.baseOffset, txnIndexSuffix), at: int64(n)}.run(o.fs)
}

// readIndexes reads what a crash left of the indexes and keeps the sound entries below the recovery point; all above it is
// made again by the scan. A .timeindex that is missing cannot be made from there, so then the scan begins at the start.
func (o *opener) readIndexes(s *Segment) error {
	trust := o.opt.RecoveryPoint
	if o.opt.Clean {
		trust = keepAll
	}
	o.dropIndexes(s)
	offsets, err := o.readIndex(s, indexSuffix)
	if err != nil {
		return err
	}
	times, err := o.readIndex(s, timeIndexSuffix)
	if err != nil {
		return err
	}
	if offsets == nil || times == nil {
		if s.size > 0 {
			o.noteRebuilt(s)
		}
		return nil
	}
	sound := soundOffsetEntries(s.baseOffset, offsets, s.size)
	if len(sound) == 0 && len(bytes.Trim(offsets, "\x00")) > 0 {
		o.noteRebuilt(s)
	}
	offsets = sound
	offsets = offsets[:upperOffset(s.baseOffset, offsets, trust-1)*offsetEntrySize]
	n := len(offsets) / offsetEntrySize
	if n == 0 {
		return nil
	}
	s.index.entries, s.index.flushed = offsets, int32(n)
	s.index.last = readOffsetEntry(s.baseOffset, offsets, n-1)
	times = soundTimeEntries(s.baseOffset, times, min(trust, s.index.last.Offset+1))
	if n := len(times) / timeEntrySize; n > 0 {
		last := readTimeEntry(s.baseOffset, times, n-1)
		s.timeIndex.flushed, s.timeIndex.last, s.max = int32(n), last, last
	}
	return nil
}

// readIndex gives an index file's content, nil if it is not there.
func (o *opener) readIndex(s *Segment, suffix string) ([]byte, error) {
	data, err := o.fs.ReadFile(fileName(s.dir, s.baseOffset, suffix))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("segment: read %s: %w", fileName(s.dir, s.baseOffset, suffix), err)
	case data == nil:
		return []byte{}, nil
	}
	return data, nil
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
		if e := b.PartitionLeaderEpoch(); e > o.log.epochs.Latest() {
			o.log.AssignEpoch(e, b.BaseOffset())
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

// writeIndexes brings the index files up to date; a sealed segment's are closed.
func (o *opener) writeIndexes(s *Segment, sealed bool) error {
	index, times := s.planIndex(), s.planTimeIndex(sealed)
	if err := writeIndexes(o.fs, times, index); err != nil {
		return err
	}
	s.index.flushed = int32(s.index.Count())
	s.timeIndex.flushed = int32((times.at + int64(len(times.data))) / timeEntrySize)
	s.timeIndex.tail = nil
	if sealed {
		s.timeIndex.last = s.max
	}
	return nil
}
