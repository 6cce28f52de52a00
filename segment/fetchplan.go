package segment

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// FetchStatus says what a FetchPlan is good for.
type FetchStatus uint8

// The outcomes of PlanFetch.
const (
	FetchReady      FetchStatus = iota // the range holds batches to send
	FetchEmpty                         // the log has from, but nothing below bound yet
	FetchOutOfRange                    // from is below the log start offset or above the log end offset
	FetchNeedIndex                     // the segment's index is not in memory: LoadIndex, IndexLoaded, plan again
)

var fetchStatuses = [...]string{"ready", "empty", "out of range", "need index"}

// String names the status.
func (s FetchStatus) String() string { return fetchStatuses[s] }

// FetchPlan is the byte range of one segment that answers a fetch. Where it is not exact, Locate makes it so by reading headers.
// It is a value, and making it allocates nothing.
type FetchPlan struct {
	Segment    *Segment
	Start      wire.Position // the batch that holds From begins here, or after it if not StartExact
	End        wire.Position // exclusive; batches that reach Bound or more begin here, or before it if not EndExact
	FirstSize  int32         // bytes of the batch at Start if that is known, else 0
	StartExact bool
	EndExact   bool
	Status     FetchStatus
	From       wire.Offset
	Bound      wire.Offset // exclusive: the high watermark, the last stable offset or the log end offset

	size  wire.Position // of the segment
	index indexPlan     // what LoadIndex reads
}

// PlanFetch says where the batches from the one that holds from up to, not including, the one that holds bound lie, as far as
// one segment has them. Near the end of the log the answer is exact; elsewhere the sparse index gives it.
func (l *Log) PlanFetch(from, bound wire.Offset) FetchPlan {
	p := FetchPlan{From: from, Bound: min(bound, l.LogEndOffset())}
	switch {
	case from < l.start || from > l.LogEndOffset():
		p.Status = FetchOutOfRange
		return p
	case from >= p.Bound:
		p.Status = FetchEmpty
		return p
	}
	if b, covered := l.recent.find(from); covered {
		l.planRecent(&p, b)
	} else if l.planIndexed(&p); p.Status == FetchNeedIndex {
		p.index = l.planIndexLoad(p.Segment)
	}
	if p.Status == FetchReady && p.StartExact && p.EndExact && p.Start >= p.End {
		p.Status = FetchEmpty // bound lies in the batch that holds from
	}
	return p
}

// planRecent plans from b, the batch that holds p.From or the first after it.
func (l *Log) planRecent(p *FetchPlan, b *recentBatch) {
	s := l.segments[l.segmentAt(b.last)]
	p.Segment = s
	p.Start, p.StartExact, p.FirstSize = wire.Position(b.position), true, b.length
	p.size, p.End, p.EndExact = s.size, s.size, true
	if p.Bound >= s.nextOffset {
		return
	}
	if e, _ := l.recent.find(p.Bound); e != nil && e.last < s.nextOffset {
		p.End = wire.Position(e.position)
	}
}

// planIndexed plans by the offset index of the segment that holds p.From.
func (l *Log) planIndexed(p *FetchPlan) {
	i := l.segmentAt(p.From)
	for l.segments[i].size == 0 && l.segments[i].nextOffset < p.Bound {
		i++ // an empty segment, sealed to make room for a wide gap of offsets
	}
	s := l.segments[i]
	p.Segment = s
	if p.From <= s.baseOffset {
		p.StartExact = true // the first batch
	} else if !p.startByIndex(s) {
		return
	}
	p.size, p.End, p.EndExact = s.size, s.size, true
	if p.Bound >= s.nextOffset {
		return
	}
	if e, covered := l.recent.find(p.Bound); covered {
		if e != nil && e.last < s.nextOffset {
			p.End = wire.Position(e.position)
		}
		return
	}
	p.endByIndex(s)
}

func (p *FetchPlan) startByIndex(s *Segment) bool {
	e, ok := s.index.lookup(p.From)
	if !ok {
		p.Status = FetchNeedIndex
		return false
	}
	p.Start, p.StartExact = e.Position, e.Offset == p.From
	return true
}

func (p *FetchPlan) endByIndex(s *Segment) {
	e, found, ok := s.index.lookupAfter(p.Bound)
	p.EndExact = false
	switch {
	case !ok:
		p.Status = FetchNeedIndex
	case found:
		p.End = e.Position
	}
}

// EndOffset is an offset that no batch reaches which begins below a position of the plan's segment, as near as the sparse index tells
// (LogSegment.fetchUpperBoundOffset); at most the plan's bound.
func (p *FetchPlan) EndOffset(end wire.Position) wire.Offset {
	x := &p.Segment.index
	n := len(x.entries) / offsetEntrySize
	i := sort.Search(n, func(i int) bool { return readOffsetEntry(x.base, x.entries, i).Position >= end })
	if i == n {
		return min(p.Bound, p.Segment.nextOffset)
	}
	return min(p.Bound, readOffsetEntry(x.base, x.entries, i).Offset)
}

// ReleaseBelow says that the high watermark has passed off: the exact positions of batches below it need not be kept beyond
// the newest 128, nor the transactions that ended below it.
func (l *Log) ReleaseBelow(off wire.Offset) {
	l.recent.release(off)
	l.steps.release(off)
	if len(l.unreplicated) > 0 {
		l.releaseEnded(l.recent.visible)
	}
}

// FetchRange is the exact range of a fetch: whole batches, from the one that holds the offset asked for. It is empty, with Start
// at or above End, if that batch reaches the bound.
type FetchRange struct {
	Start, End wire.Position
	FirstSize  int32 // bytes of the first batch
}

// Locate gives the plan's exact range. It reads headers through r, the plan's .log, where the plan is not exact.
//
// Errors: ErrNoBatch if compaction or damage left no batch at or after From in the segment; the reader goes on with a plan from
// Segment.NextOffset. Others as FindBatch's.
func (p FetchPlan) Locate(r io.ReaderAt) (at FetchRange, err error) {
	at = FetchRange{Start: p.Start, End: p.End, FirstSize: p.FirstSize}
	if !p.StartExact || p.FirstSize == 0 {
		if at.Start, at.FirstSize, err = FindBatch(r, p.From, p.Start, p.size); err != nil {
			return at, err
		}
	}
	if p.EndExact {
		return at, nil
	}
	switch end, _, err := FindBatch(r, p.Bound, at.Start, p.End); {
	case err == nil:
		at.End = end
	case !errors.Is(err, ErrNoBatch): // else the batch that reaches the bound begins at End
		return at, err
	}
	return at, nil
}

// findChunk is what FindBatch reads at a time: three headers fit, most hops between small batches stay within it, and it is
// small enough for the stack.
const findChunk = 256

// FindBatch walks the batches of a .log from start, the beginning of one, to end and gives position and size in bytes of the
// first whose last offset is at least target: the one that holds it, or the first after it. It reads headers only.
//
// Errors: ErrNoBatch if there is none; ErrWouldBlock as r gives it; *CorruptionError, without the directory, for bytes that are
// no header; r's others wrapped.
func FindBatch(r io.ReaderAt, target wire.Offset, start, end wire.Position) (pos wire.Position, size int32, err error) {
	var chunk [findChunk]byte
	var have []byte // of the file, from at on
	at := start
	for pos = start; pos < end; {
		if gap := int(pos - at); gap+wire.RecordBatchOverhead <= len(have) {
			have, at = have[gap:], pos
		} else if have, err = readHeaders(r, chunk[:], pos, end); err != nil {
			return 0, 0, err
		} else {
			at = pos
		}
		b := wire.RecordBatch(have[:wire.RecordBatchOverhead])
		length := wire.Position(b.Length())
		if reason := headerFault(b, end-pos); reason != "" {
			return 0, 0, &CorruptionError{Position: pos, End: end, Offset: target, Reason: reason}
		}
		if b.LastOffset() >= target {
			return pos, int32(length), nil
		}
		pos += length
	}
	return 0, 0, ErrNoBatch
}

// readHeaders reads into chunk from pos up to end, one header at least.
func readHeaders(r io.ReaderAt, chunk []byte, pos, end wire.Position) ([]byte, error) {
	want := chunk[:min(len(chunk), int(end-pos))]
	n, err := r.ReadAt(want, int64(pos))
	if n >= wire.RecordBatchOverhead {
		return want[:n], nil
	}
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return nil, &CorruptionError{Position: pos, End: end, Reason: "a batch header ends early", Err: io.ErrUnexpectedEOF}
	case errors.Is(err, ErrWouldBlock):
		return nil, err
	default:
		return nil, fmt.Errorf("segment: read %d bytes at %d: %w", len(want), pos, err)
	}
}

// headerFault says what is wrong with a batch header that has room bytes to the end of its file; "" if nothing is.
func headerFault(b wire.RecordBatch, room wire.Position) string {
	length := b.Length()
	switch {
	case b.Magic() != 2:
		return fmt.Sprintf("magic is %d", b.Magic())
	case length < wire.RecordBatchOverhead:
		return fmt.Sprintf("a batch of %d bytes", length)
	case wire.Position(length) > room:
		return fmt.Sprintf("a batch of %d bytes in %d", length, room)
	case b.BaseOffset() < 0 || b.LastOffsetDelta() < 0:
		return fmt.Sprintf("offset %d, last offset delta %d", b.BaseOffset(), b.LastOffsetDelta())
	}
	return ""
}
