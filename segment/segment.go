package segment

import (
	"math"

	"github.com/ringmill/ringmill/wire"
)

// Segment is one .log file of a partition with its indexes. The pointer is the segment's identity for as long as the log has
// it. The owner of the Log owns it; from another goroutine only BaseOffset and LogName may be called.
type Segment struct {
	dir            string         // the partition's directory; immutable
	baseOffset     wire.Offset    // first offset it may hold, its files' name; immutable
	nextOffset     wire.Offset    // active: the log's end offset; sealed: the next segment's base
	size           wire.Position  // bytes of .log that are batches
	firstTimestamp wire.Timestamp // greatest timestamp of the first batch; rolling by time counts from it
	created        wire.Timestamp // wall clock of the first event that named one; where firstTimestamp is none
	max            TimeEntry      // greatest timestamp and its batch's last offset
	index          OffsetIndex
	timeIndex      TimeIndex
	txn            TxnIndex
}

func newSegment(dir string, base wire.Offset) *Segment {
	none := TimeEntry{Timestamp: wire.NoTimestamp, Offset: base}
	return &Segment{
		dir: dir, baseOffset: base, nextOffset: base,
		firstTimestamp: wire.NoTimestamp, created: wire.NoTimestamp, max: none,
		index:     OffsetIndex{base: base},
		timeIndex: TimeIndex{base: base, last: none},
	}
}

// BaseOffset is the least offset that the segment may hold.
func (s *Segment) BaseOffset() wire.Offset { return s.baseOffset }

// NextOffset is where the log goes on after the segment: the next segment's base offset, or the log end offset.
func (s *Segment) NextOffset() wire.Offset { return s.nextOffset }

// Size is the number of bytes of record batches in the .log.
func (s *Segment) Size() wire.Position { return s.size }

// MaxTimestamp is the greatest timestamp of its batches, in milliseconds; wire.NoTimestamp if none has one.
func (s *Segment) MaxTimestamp() wire.Timestamp { return s.max.Timestamp }

// LogName is the path of the .log: "<dir>/<20 digits of base offset>.log". It allocates.
func (s *Segment) LogName() string { return logName(s.dir, s.baseOffset) }

func (s *Segment) indexName() string     { return fileName(s.dir, s.baseOffset, indexSuffix) }
func (s *Segment) timeIndexName() string { return fileName(s.dir, s.baseOffset, timeIndexSuffix) }
func (s *Segment) txnIndexName() string  { return fileName(s.dir, s.baseOffset, txnIndexSuffix) }

// maxSegmentBytes bounds a .log: positions in an index have 31 bits.
const maxSegmentBytes = math.MaxInt32

// sealed notes that the indexes are written, the time index with its closing entry.
func (s *Segment) sealed(times indexWrite) {
	s.index.flushed = int32(s.index.Count())
	s.timeIndex.flushed = int32((times.at + int64(len(times.data))) / timeEntrySize)
	s.timeIndex.tail, s.timeIndex.last = nil, s.max
}

// sinceIndexEntry is the number of bytes from the last batch that the index names, or from the start.
func (s *Segment) sinceIndexEntry() wire.Position { return s.size - s.index.last.Position }

// place notes a batch of length bytes at the end, in the order of Kafka's LogSegment.append: greatest timestamp first, then
// an entry in both indexes if more than interval bytes passed since the last one. It says which indexes got an entry.
func (s *Segment) place(b wire.RecordBatch, length wire.Position, interval int) (indexed, timeIndexed bool) {
	last, ts := b.LastOffset(), b.MaxTimestamp()
	if s.size == 0 {
		s.firstTimestamp = ts
	}
	if ts > s.max.Timestamp && b.RecordCount() > 0 { // of a batch that compaction has emptied no record has the time
		s.max = TimeEntry{Timestamp: ts, Offset: last}
	}
	if s.sinceIndexEntry() > wire.Position(interval) {
		s.index.append(OffsetEntry{Offset: last, Position: s.size})
		indexed, timeIndexed = true, s.timeIndex.maybeAppend(s.max)
	}
	s.size += length
	s.nextOffset = last + 1
	return indexed, timeIndexed
}

// timeWaited is how long the segment has been growing, in milliseconds, when a batch with timestamp ts arrives at now:
// counted in record time from the first batch, or in wall time if that has no timestamp (LogSegment.timeWaitedForRoll).
func (s *Segment) timeWaited(now, ts wire.Timestamp) int64 {
	if s.firstTimestamp >= 0 {
		return int64(ts - s.firstTimestamp)
	}
	if s.created >= 0 {
		return int64(now - s.created)
	}
	return 0
}

// noteTime takes the first wall-clock time that is known as the segment's creation.
func (s *Segment) noteTime(now wire.Timestamp) {
	if s.created < 0 {
		s.created = now
	}
}

// retentionTimestamp is what retention by time counts from: the greatest record timestamp, or else the creation.
func (s *Segment) retentionTimestamp() wire.Timestamp {
	if s.max.Timestamp >= 0 {
		return s.max.Timestamp
	}
	return s.created
}
