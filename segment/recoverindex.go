package segment

import (
	"bytes"
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
	if err == nil && fault == "" && b.RecordCount() == 0 && wire.Position(b.Length()) == s.size {
		return false // all that compaction has left is a batch without records
	}
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

func (o *opener) dropIndexes(s *Segment) {
	fresh := newSegment(s.dir, s.baseOffset)
	s.index, s.timeIndex, s.max = fresh.index, fresh.timeIndex, fresh.max
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
