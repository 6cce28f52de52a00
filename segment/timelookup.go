package segment

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// TimePlan is what a lookup by time needs of a log, as values, so that Run can do it in another goroutine.
type TimePlan struct {
	target   wire.Timestamp
	start    wire.Offset // records below it are gone
	bound    wire.Offset // records from it on are not visible
	max      bool        // the record with the greatest timestamp is looked for; target is that timestamp
	segments []timeSegment
}

// timeSegment is a segment as a TimePlan knows it.
type timeSegment struct {
	dir         string
	base        wire.Offset
	size        wire.Position
	from        wire.Offset // start at the batch with this last offset; NoOffset: ask the time index
	indexed     int         // entries of the .index file that count
	indexTail   []byte      // and those it lacks
	timeIndexed int
	timeTail    []byte
}

func (s *Segment) timeSegment(from wire.Offset) timeSegment {
	return timeSegment{
		dir: s.dir, base: s.baseOffset, size: s.size, from: from,
		indexed: int(s.index.flushed), indexTail: append([]byte(nil), s.index.unflushed()...),
		timeIndexed: int(s.timeIndex.flushed), timeTail: append([]byte(nil), s.timeIndex.tail...),
	}
}

// PlanTimeLookup plans to find the first record, in the order of offsets, with a timestamp of at least target and an offset
// below bound.
func (l *Log) PlanTimeLookup(target wire.Timestamp, bound wire.Offset) TimePlan {
	p := TimePlan{target: target, start: l.start, bound: bound}
	for _, s := range l.segments {
		if s.size > 0 && s.max.Timestamp >= target && s.baseOffset < bound {
			p.segments = append(p.segments, s.timeSegment(wire.NoOffset))
		}
	}
	return p
}

// PlanMaxTimestamp plans to find the first record with the log's greatest timestamp (ListOffsets -3, KIP-734); it is not found
// if it is not below bound.
func (l *Log) PlanMaxTimestamp(bound wire.Offset) TimePlan {
	p := TimePlan{target: wire.NoTimestamp, start: l.start, bound: bound, max: true}
	for _, s := range l.segments {
		if s.size > 0 && s.max.Timestamp > p.target {
			p.target = s.max.Timestamp
			p.segments = append(p.segments[:0], s.timeSegment(s.max.Offset))
		}
	}
	return p
}

// Run does the lookup through open, which opens a file by name to read; Run closes it. It blocks, and decodes records. found is
// false if there is no such record. Errors: those of open and of reading, and *CorruptionError for bytes that are no batch.
func (p TimePlan) Run(open func(name string) (File, error)) (off wire.Offset, ts wire.Timestamp, epoch wire.LeaderEpoch, found bool, err error) {
	off, ts, epoch = wire.NoOffset, wire.NoTimestamp, wire.NoLeaderEpoch
	dec := wire.AcquireDecompressor()
	defer dec.Release()
	for i := range p.segments {
		hit, err := p.search(&p.segments[i], open, dec)
		switch {
		case err != nil:
			return wire.NoOffset, wire.NoTimestamp, wire.NoLeaderEpoch, false, err
		case !hit.found:
			continue
		case hit.offset >= p.bound:
			return off, ts, epoch, false, nil
		}
		return hit.offset, hit.timestamp, hit.epoch, true, nil
	}
	return off, ts, epoch, false, nil
}

// timeHit is a record that a lookup found.
type timeHit struct {
	offset    wire.Offset
	timestamp wire.Timestamp
	epoch     wire.LeaderEpoch
	found     bool
}

// search walks the batches of one segment from where its indexes point to; from its start if there is no batch.
func (p *TimePlan) search(s *timeSegment, open func(string) (File, error), dec *wire.Decompressor) (hit timeHit, err error) {
	from, err := p.startPosition(s, open)
	if err != nil {
		return hit, err
	}
	f, err := open(logName(s.dir, s.base))
	if err != nil {
		return hit, fmt.Errorf("segment: open %s: %w", logName(s.dir, s.base), err)
	}
	defer f.Close()
	w := walker{}
	w.start(s.dir, s.base, f, s.size)
	w.position = from
	for {
		b, at, ok, err := w.next()
		if w.damage != nil && from > 0 {
			from = 0
			w.start(s.dir, s.base, f, s.size)
			continue
		}
		if err != nil || !ok {
			return hit, err
		}
		if b.MaxTimestamp() < p.target || b.LastOffset() < p.start {
			continue
		}
		if hit, err = p.inBatch(s, f, at, b.Length(), dec); hit.found || err != nil {
			return hit, err
		}
	}
}

// startPosition is a position at or before the first batch with a timestamp of at least the target.
func (p *TimePlan) startPosition(s *timeSegment, open func(string) (File, error)) (wire.Position, error) {
	after := s.from
	if after < 0 {
		entry, err := s.floor(open, timeIndexSuffix, s.timeIndexed, s.timeTail, timeEntrySize, func(e []byte) bool {
			return readTimeEntry(s.base, e, 0).Timestamp >= p.target
		})
		if err != nil || entry == nil {
			return 0, err
		}
		after = readTimeEntry(s.base, entry, 0).Offset
	}
	entry, err := s.floor(open, indexSuffix, s.indexed, s.indexTail, offsetEntrySize, func(e []byte) bool {
		return readOffsetEntry(s.base, e, 0).Offset > after
	})
	if err != nil || entry == nil {
		return 0, err
	}
	if at := readOffsetEntry(s.base, entry, 0).Position; at > 0 && at < s.size {
		return at, nil
	}
	return 0, nil
}

// floor gives the last entry of an index before the first for which beyond is true; nil if that is the first, or if the file is
// gone: the search then begins at the segment's start.
func (s *timeSegment) floor(open func(string) (File, error), suffix string, indexed int, tail []byte, size int, beyond func([]byte) bool) ([]byte, error) {
	f, err := open(fileName(s.dir, s.base, suffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("segment: open %s: %w", fileName(s.dir, s.base, suffix), err)
	}
	defer f.Close()
	entry := make([]byte, size)
	at := func(i int) []byte {
		if i >= indexed {
			return tail[(i-indexed)*size:][:size]
		}
		if n, e := f.ReadAt(entry, int64(i*size)); n < size && !errors.Is(e, io.EOF) {
			err = e
		}
		return entry
	}
	i := sort.Search(indexed+len(tail)/size, func(i int) bool { return err != nil || beyond(at(i)) })
	if i == 0 || err != nil {
		return nil, err
	}
	return at(i - 1), err
}

// inBatch looks for the record in one batch.
func (p *TimePlan) inBatch(s *timeSegment, f io.ReaderAt, at wire.Position, length int, dec *wire.Decompressor) (hit timeHit, err error) {
	buf := make([]byte, length)
	if n, err := f.ReadAt(buf, int64(at)); n < length {
		return hit, fmt.Errorf("segment: read %d bytes at %d of %s: %w", length, at, logName(s.dir, s.base), err)
	}
	b := wire.RecordBatch(buf)
	it, err := b.Records(dec)
	if err == nil {
		for rec, ok := it.Next(); ok; rec, ok = it.Next() {
			off, ts := b.BaseOffset()+wire.Offset(rec.OffsetDelta), b.RecordTimestamp(rec)
			if ts >= p.target && (off >= p.start || p.max) {
				return timeHit{offset: off, timestamp: ts, epoch: b.PartitionLeaderEpoch(), found: true}, nil
			}
		}
		err = it.Err()
	}
	if err != nil {
		return hit, &CorruptionError{
			Dir: s.dir, Segment: s.base, Position: at, End: at + wire.Position(length), Offset: b.BaseOffset(),
			Reason: "records cannot be decoded", Err: err,
		}
	}
	return hit, nil
}
