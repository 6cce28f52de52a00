package segment

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// indexPlan is what FetchPlan.LoadIndex needs to know of a segment, as values.
type indexPlan struct {
	size     wire.Position
	entries  int32
	interval int32
	sealed   bool
}

func (l *Log) planIndexLoad(s *Segment) indexPlan {
	return indexPlan{
		size: s.size, entries: s.index.flushed, interval: int32(l.config.IndexIntervalBytes), sealed: s != l.ActiveSegment(),
	}
}

// LoadedIndex is what FetchPlan.LoadIndex has read for IndexLoaded.
type LoadedIndex struct {
	segment *Segment
	entries []byte
	rebuilt bool // not the file's entries but all of the segment's
}

// Size is the bytes of memory that the index takes.
func (x LoadedIndex) Size() int { return len(x.entries) }

// LoadIndex reads what a plan with FetchNeedIndex lacks. It blocks, and touches nothing of the Log. If the file of a sealed
// segment is missing or not what it was, it is made again by a scan of the .log. Errors: the file system's, or ErrIndex for the
// active segment's file.
func (p FetchPlan) LoadIndex(fsys FS) (LoadedIndex, error) {
	x := LoadedIndex{segment: p.Segment}
	name := p.Segment.indexName()
	data, err := fsys.ReadFile(name)
	if err == nil {
		want := int(p.index.entries) * offsetEntrySize
		sound := soundOffsetEntries(p.Segment.baseOffset, data[:min(want, len(data))], p.index.size)
		if len(sound) == want {
			x.entries = sound
			return x, nil
		}
		err = fmt.Errorf("%w: %s: %d of %d entries are sound", ErrIndex, name, len(sound)/offsetEntrySize, p.index.entries)
	}
	if !p.index.sealed {
		return x, fmt.Errorf("segment: load index: %w", err)
	}
	x.rebuilt = true
	x.entries, err = p.index.rebuild(fsys, p.Segment.dir, p.Segment.baseOffset)
	return x, err
}

// rebuild scans a sealed segment for the entries of its .index and writes them.
func (x indexPlan) rebuild(fsys FS, dir string, base wire.Offset) ([]byte, error) {
	f, err := fsys.OpenFile(logName(dir, base), ReadOnly, 0)
	if err != nil {
		return nil, fmt.Errorf("segment: open %s: %w", logName(dir, base), err)
	}
	defer f.Close()
	w := walker{}
	w.start(dir, base, f, x.size)
	s := newSegment(dir, base)
	for {
		b, at, ok, err := w.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		s.size = at
		s.place(b, wire.Position(b.Length()), int(x.interval))
	}
	return s.index.entries, s.planIndex().run(fsys)
}

// IndexLoaded puts a loaded index in place; ReleaseMemory or ReleaseIndex takes it away again. It is ignored if the segment is
// gone or memory was released in between: planning again shows.
func (l *Log) IndexLoaded(x LoadedIndex) {
	s := x.segment
	if s == nil || l.segments[l.segmentAt(s.baseOffset)] != s {
		return
	}
	if x.rebuilt {
		s.index.replace(x.entries)
		return
	}
	s.index.load(x.entries)
}

// ReleaseIndex drops the index entries of s that are in its file too, and says how many bytes that were.
func (l *Log) ReleaseIndex(s *Segment) int { return s.index.release() }
