package node

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// fileReaders are the readers of a segment file that met bytes which were not in the page cache. Any loop may have one of their
// connections. A file that is only read from memory has none, and costs its readers the look at a pointer.
//
//	            sent       being sent       asked of the disk ahead
//	file  ├──────────────┼┄┄┄┄┄┄┄┄┄┄┄┄┼━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┤
//	                     begin        end                              until, a window further at most
//
// The rest of a range that is being sent is asked for with its first piece: it was asked of this node. What is behind the range is asked
// for only when a second range has followed it, so that who reads one and leaves costs the disk nothing more.
type fileReaders struct {
	mu     sync.Mutex
	at     [fileReadersMax]fileReader
	clock  uint64
	asking bool // one is out
}

// fileReader is one of them, as far as it can be told from others: by where it reads.
type fileReader struct {
	begin, end int64 // of the range that is being sent, or was last
	until      int64
	window     int64 // doubles with each time that the disk is asked, up to the property; starts again when pages were lost
	follows    bool  // the range came after another
	used       uint64
}

const (
	// fileReadersMax is how many groups of consumers may catch up in a file at positions of their own before they drive each other out.
	fileReadersMax = 4
	// readaheadFirst is the first window: what a cold read brings in at a time, once more.
	readaheadFirst = coldReadBytes
	// readaheadStep is what the disk is asked for with one call, if the kernel takes so much: it cuts what is above a device's largest
	// request and its read-ahead (force_page_cache_ra in mm/readahead.c), of which readaheadStepLeast is the usual one. On a disk that did
	// one request after the other, readers got a third of the rate by steps of 128 KiB, and more than before by 1 MiB (PERFORMANCE.md).
	readaheadStep, readaheadStepLeast = 1 << 20, 128 << 10
	// readaheadsMax bounds the goroutines of a loop that ask disks, which may wait when a device's queue is full. A reader that finds none
	// free asks again with its next piece.
	readaheadsMax = 16
)

// readers are the file's, made when the first bytes of it are cold.
func (s *segmentFile) readers() *fileReaders {
	if r := s.cold.Load(); r != nil {
		return r
	}
	s.cold.CompareAndSwap(nil, new(fileReaders))
	return s.cold.Load()
}

// readahead is what is to be asked of the disk: bytes of file from at on, and rest bytes of the segment that comes after it.
type readahead struct {
	file         *segmentFile
	at, upTo     int64
	rest, window int64
}

// reads notes that the piece of want bytes at r's offset is about to be sent, and asks the disk for what is to come. within says that the
// piece was asked for ahead: its pages may still be on their way.
func (l *Loop) reads(r *fileRange, want int64, cached bool) (within bool) {
	most := l.node.Config().FetchReadaheadBytes
	known := r.file.cold.Load()
	if most == 0 || known == nil && cached {
		return false
	}
	if known == nil {
		known = r.file.readers()
	}
	next, within, lost := known.note(r, want, cached, most, l.cold.asking < readaheadsMax)
	if lost {
		l.metrics.readaheadLost.Inc()
	}
	if next.file != nil {
		l.askAhead(known, next)
	}
	return within
}

// note is reads' bookkeeping; free says that the disk may be asked.
func (f *fileReaders) note(r *fileRange, want int64, cached bool, most int64, free bool) (next readahead, within, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.reader(r.offset, r.offset+r.length, !cached)
	if s == nil {
		return readahead{}, false, false
	}
	within = r.offset < s.until
	if !cached && r.offset+want <= s.until && !f.asking { // read in vain: memory is short
		s.until, s.window, s.follows, lost = 0, 0, false, true
	}
	if !free || f.asking || s.until-(r.offset+want) > s.window/2 {
		return readahead{}, within, lost
	}
	next = s.plan(r, want, most)
	f.asking = next.file != nil
	return next, within, lost
}

// reader gives the reader whose piece is at offset, of a range that ends at end; nil if it is none of them, and none to be added.
func (f *fileReaders) reader(offset, end int64, add bool) *fileReader {
	f.clock++
	oldest := &f.at[0]
	for i := range f.at {
		s := &f.at[i]
		switch {
		case s.used == 0:
		case s.begin <= offset && s.end == end: // the same range, or its beginning once more
			s.used = f.clock
			return s
		case s.begin < offset && offset <= s.end: // a range that a byte limit cut ends within a batch, from which the next one begins
			s.begin, s.end, s.follows, s.used = offset, end, true, f.clock
			return s
		}
		if s.used < oldest.used {
			oldest = s
		}
	}
	if !add {
		return nil
	}
	*oldest = fileReader{begin: offset, end: end, used: f.clock}
	return oldest
}

// plan widens the window and says what it has that was not asked for.
func (s *fileReader) plan(r *fileRange, want, most int64) readahead {
	window := min(max(2*s.window, readaheadFirst), most)
	at, upTo, limit := max(s.until, r.offset+want), r.offset+want+window, s.end
	var rest int64
	if s.follows {
		var st unix.Stat_t
		if err := unix.Fstat(r.file.fd, &st); err != nil {
			return readahead{}
		}
		if limit = st.Size; upTo > limit {
			rest = max(upTo-limit, window/2) // asked for once, when the end comes into sight
		}
	}
	if upTo = min(upTo, limit); at >= upTo {
		return readahead{}
	}
	s.window, s.until = window, upTo
	return readahead{file: r.file, at: at, upTo: upTo, rest: rest, window: window}
}

// askAhead has a goroutine ask the disk: that may wait.
func (l *Loop) askAhead(f *fileReaders, next readahead) {
	l.cold.asking++
	file, part := next.file.retain(), next.file.part
	over := readaheadOver{part, next.file.segment, next.rest, next.window}
	l.spawn(func() Message {
		l.metrics.readahead.Add(int(askDisk(file.fd, next.at, next.upTo)))
		f.mu.Lock()
		f.asking = false
		f.mu.Unlock()
		file.release()
		return messageFunc(func(l *Loop) {
			l.cold.asking--
			switch {
			case over.bytes == 0:
			case part.loop == l:
				over.handle(l)
			default:
				l.post(part.loop, over)
			}
		})
	})
}

// askDisk has the kernel read what is not in the page cache of fd's bytes [at, upTo), and does not wait for it. It gives the bytes that
// it asked for.
func askDisk(fd int, at, upTo int64) (asked int64) {
	var n int64
	for step := int64(readaheadStep); at < upTo; at += n {
		n = min(step, upTo-at)
		before, total, err := iouring.Cachestat(fd, at, n)
		if err == nil && before == total {
			continue
		}
		if err != nil || unix.Fadvise(fd, at, n, unix.FADV_WILLNEED) != nil {
			return asked
		}
		cached, _, _ := iouring.Cachestat(fd, at, n)
		asked += int64(max(cached-before, 0)) * n / int64(total)
		if cached < total && step > readaheadStepLeast { // it took less: the rest by smaller steps
			step, n = step/2, 0
		}
	}
	return asked
}

// readaheadOver goes on with a reader that will come to the end of a segment: the first bytes of the next one are to be asked for, and
// then as much at a time as its window is.
type readaheadOver struct {
	part          *partition
	segment       *segment.Segment
	bytes, window int64
}

// handle runs on the partition's loop.
func (m readaheadOver) handle(l *Loop) {
	if m.part.stopped != wire.None {
		return
	}
	segments := m.part.log().Segments()
	i := slices.Index(segments, m.segment) + 1
	if i == 0 || i == len(segments) {
		return
	}
	m.segment = segments[i]
	m.part.ahead = m
	if f := l.fileOf(m.part, m.segment); f != nil {
		l.readOver(f)
	}
}

// readOver asks for the beginning of f if a reader of the segment before it is going to come to it.
func (l *Loop) readOver(f *segmentFile) {
	m := f.part.ahead
	if m.segment != f.segment {
		return
	}
	f.part.ahead = readaheadOver{}
	known := f.readers()
	if l.cold.asking < readaheadsMax && known.expect(m) {
		l.askAhead(known, readahead{file: f, upTo: m.bytes})
	}
}

// expect takes in a reader that comes from the segment before; false if the disk is being asked for another.
func (f *fileReaders) expect(m readaheadOver) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking {
		return false
	}
	f.asking = true
	*f.reader(0, 0, true) = fileReader{begin: -1, until: m.bytes, window: m.window, follows: true, used: f.clock}
	return true
}

// arrived says whether the pages of fd's bytes [off, off+n), which are all in the page cache, have been read: it asks for a byte of each
// part that may be a request of its own.
func arrived(fd int, off, n int64) bool {
	var b [1]byte
	for at, last := off, off+n-1; ; at = min(at+readaheadStepLeast, last) {
		if _, err := iouring.PreadNoWait(fd, b[:], at); err != nil {
			return false
		}
		if at == last {
			return true
		}
	}
}
