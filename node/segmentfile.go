package node

import (
	"slices"
	"sync/atomic"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// segmentFile is an open segment file with a count of who uses it: the partition that opened it, each answer whose
// bytes are still to be sent from it, each write and sync under way. The descriptor is closed by whoever lets go
// last, on any thread, so a deleted segment is served to the end of the answers that were planned on it.
type segmentFile struct {
	file segment.File
	fd   int
	name string
	refs atomic.Int32
	// part and segment are what it is the file of; they are fixed before it is handed on.
	part    *partition
	segment *segment.Segment
	// cold are readers of what is not in the page cache; nil as long as there were none.
	cold atomic.Pointer[fileReaders]
	// open is the node's count of open segment files.
	open *atomic.Int64
}

func (n *Node) newSegmentFile(f segment.File, name string) *segmentFile {
	s := &segmentFile{file: f, fd: f.Fd(), name: name, open: &n.openFiles}
	s.refs.Store(1)
	s.open.Add(1)
	return s
}

// retain takes a reference; the caller holds one already.
func (s *segmentFile) retain() *segmentFile {
	s.refs.Add(1)
	return s
}

// orNone is retain for a file that may not be open.
func (s *segmentFile) orNone() *segmentFile {
	if s == nil {
		return nil
	}
	return s.retain()
}

func (s *segmentFile) release() {
	if n := s.refs.Add(-1); n == 0 {
		s.open.Add(-1)
		_ = s.file.Close() // nothing is buffered: syncs are explicit, and their errors are looked at
	} else if n < 0 {
		panic("BUG: segment file released twice")
	}
}

// fileOf returns the open file of a segment, or nil after asking for it to be opened; whoever waits is resumed then.
func (l *Loop) fileOf(p *partition, seg *segment.Segment) *segmentFile {
	if f := p.files[seg]; f != nil {
		return f
	}
	if p.opening[seg] || slices.Contains(p.swapping, seg) {
		return nil
	}
	if p.opening == nil {
		p.opening = make(map[*segment.Segment]bool)
	}
	p.opening[seg] = true
	fs, name := p.dir().fs, seg.LogName()
	l.background(func() Message {
		f, err := fs.OpenFile(name, segment.ReadWrite, 0)
		return messageFunc(func(l *Loop) { l.opened(p, seg, name, f, err) })
	})
	return nil
}

func (l *Loop) opened(p *partition, seg *segment.Segment, name string, f segment.File, err error) {
	delete(p.opening, seg)
	switch gone := p.stopped != wire.None || !p.has(seg); {
	case gone && err == nil:
		_ = f.Close()
	case gone: // with its file, by retention or with its topic
	case err == nil:
		p.addFile(seg, l.node.newSegmentFile(f, name))
		l.readOver(p.files[seg])
		l.evictFiles(p)
		if len(p.plans) > 0 {
			l.markDirty(p)
		}
	case passes(err):
		l.openRefused(p, err)
	default:
		l.storageFault(p.dir(), "open "+name, err)
	}
	l.resumeParked(p)
}

// evictFiles closes what this loop has open and nobody uses once too much is open, except of p, which has just asked.
// Everything idle goes at once, so that the next walk over all partitions is as many opens away as the bound allows.
func (l *Loop) evictFiles(p *partition) {
	if int(l.node.openFiles.Load()) <= l.node.seams.filesKept {
		return
	}
	l.parts.all(func(other *partition) {
		if other != p {
			l.closeIdleFiles(other, false)
		}
	})
}

// openRefused answers what waits for a file that cannot be opened now, for want of a descriptor.
func (l *Loop) openRefused(p *partition, err error) {
	for _, s := range p.parked {
		s.located = &located{err: err}
	}
	if len(p.plans) > 0 && len(p.writing) == 0 {
		l.writeFailed(p, err)
	}
}

// has says whether a segment is still part of the log.
func (p *partition) has(seg *segment.Segment) bool { return slices.Contains(p.log().Segments(), seg) }

func (p *partition) addFile(seg *segment.Segment, f *segmentFile) {
	if p.files == nil {
		p.files = make(map[*segment.Segment]*segmentFile)
	}
	f.part, f.segment = p, seg
	p.files[seg] = f
}

// closeIdleFiles closes what the partition has open and nobody uses, except the active segment when keepActive.
func (l *Loop) closeIdleFiles(p *partition, keepActive bool) {
	active := p.log().ActiveSegment()
	for seg, f := range p.files {
		if (keepActive && seg == active) || f.refs.Load() > 1 || len(p.plans)+len(p.writing) > 0 {
			continue
		}
		delete(p.files, seg)
		f.release()
	}
}
