package node

import (
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// indexMemory bounds the indexes of sealed segments that a loop's fetches have loaded: 8 bytes for each 4 KiB of log, so
// that a reader of old segments would otherwise leave 2 MiB of memory behind for each GiB. The oldest go first; who still
// reads there loads its index again.
type indexMemory struct {
	loaded []loadedIndex
	bytes  int
}

type loadedIndex struct {
	p       *partition
	segment *segment.Segment
	bytes   int
}

// indexBytesMax is enough for the indexes of 16 GiB of log that is being read at once, on each loop.
const indexBytesMax = 32 << 20

// add notes an index that is in place, and releases the oldest beyond the bound, never the one just added.
func (m *indexMemory) add(p *partition, s *segment.Segment, bytes int) {
	m.loaded = append(m.loaded, loadedIndex{p, s, bytes})
	m.bytes += bytes
	gone := 0
	for ; m.bytes > indexBytesMax && gone < len(m.loaded)-1; gone++ {
		old := m.loaded[gone]
		m.bytes -= old.bytes
		if old.p.stopped == wire.None {
			old.p.log().ReleaseIndex(old.segment)
		}
	}
	n := copy(m.loaded, m.loaded[gone:])
	clear(m.loaded[n:])
	m.loaded = m.loaded[:n]
}
