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

// indexFiles is what a crash left of a segment's two index files; nil stands for one that is missing.
type indexFiles struct{ offsets, times []byte }

// readIndexes reads them and keeps the sound entries below the recovery point; all above it is made again by the scan. A
// .timeindex that is missing cannot be made from there, so then the scan begins at the start.
func (o *opener) readIndexes(s *Segment) (files indexFiles, err error) {
	trust := o.opt.RecoveryPoint
	if o.opt.Clean {
		trust = keepAll
	}
	o.dropIndexes(s)
	if files.offsets, err = o.readIndex(s, indexSuffix); err != nil {
		return files, err
	}
	if files.times, err = o.readIndex(s, timeIndexSuffix); err != nil {
		return files, err
	}
	if files.offsets == nil || files.times == nil {
		if s.size > 0 {
			o.noteRebuilt(s)
		}
		return files, nil
	}
	sound := soundOffsetEntries(s.baseOffset, files.offsets, s.size)
	if len(sound) == 0 && len(bytes.Trim(files.offsets, "\x00")) > 0 {
		o.noteRebuilt(s)
	}
	o.trustIndexes(s, sound[:upperOffset(s.baseOffset, sound, trust-1)*offsetEntrySize], files.times, trust)
	return files, nil
}

// trustIndexes takes entries of the .index as they are, and those of the .timeindex that belong to them.
func (o *opener) trustIndexes(s *Segment, offsets, times []byte, trust wire.Offset) {
	n := len(offsets) / offsetEntrySize
	if n == 0 {
		return
	}
	s.index.entries, s.index.flushed = offsets[:len(offsets):len(offsets)], int32(n)
	s.index.last = readOffsetEntry(s.baseOffset, offsets, n-1)
	times = soundTimeEntries(s.baseOffset, times, min(trust, s.index.last.Offset+1))
	if n := len(times) / timeEntrySize; n > 0 {
		last := readTimeEntry(s.baseOffset, times, n-1)
		s.timeIndex.flushed, s.timeIndex.last, s.max = int32(n), last, last
	}
}

// settle compares what the scan has made with the files: entries that these have already are not written again. It reports
// whether both can stay as they are: they hold nothing else, and what they lack is little.
func (o *opener) settle(s *Segment, files indexFiles) bool {
	x, t := &s.index, &s.timeIndex
	if files.offsets == nil || files.times == nil {
		return false
	}
	offsets, onlyThose := inFile(files.offsets[x.flushed*offsetEntrySize:], x.unflushed(), offsetEntrySize)
	times, onlyThese := inFile(files.times[t.flushed*timeEntrySize:], t.tail, timeEntrySize)
	x.flushed += int32(offsets)
	t.flushed, t.tail = t.flushed+int32(times), t.tail[times*timeEntrySize:]
	return onlyThose && onlyThese && len(x.unflushed())+len(t.tail) <= indexTailMax
}

// inFile counts the entries that a file begins with, and says whether it holds no more.
func inFile(file, entries []byte, size int) (count int, only bool) {
	common := 0
	for common < min(len(file), len(entries)) && file[common] == entries[common] {
		common++
	}
	count = common / size
	return count, len(file) == count*size
}

// indexTailMax is how many bytes of entries that the active segment's index files lack stay in memory, as they do while it is
// written to, until the next flush, roll or clean end. Writing and syncing them here would be two fdatasyncs a partition, half of
// the start of 10,000 partitions after a kill -9 (PERFORMANCE.md). 16 KiB are the entries of some 3 MB of log.
const indexTailMax = 16 << 10

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
