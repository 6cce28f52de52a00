package segmenttest

import (
	"maps"
	"math/rand/v2"
	"slices"
)

const (
	pageBytes   = 4096
	sectorBytes = 512
	// pageStatesMax bounds the states kept of a page between two syncs; the oldest goes first.
	pageStatesMax = 4
)

// content is one file's bytes: as processes see them, as the disk has them, and what may or may not have got there.
type content struct {
	data   []byte
	synced []byte
	dirty  map[int64][][]byte // page number → its states since the last sync, oldest first, pageBytes each
	sizes  []int64            // sizes since the last sync
}

func (c *content) write(p []byte, off int64) {
	if len(p) == 0 {
		return
	}
	if end := off + int64(len(p)); end > int64(len(c.data)) {
		c.resize(end)
	}
	copy(c.data[off:], p)
	c.touch(off, off+int64(len(p)))
}

func (c *content) truncate(size int64) {
	old := int64(len(c.data))
	c.resize(size)
	c.touch(min(old, size), max(old, size))
}

func (c *content) resize(size int64) {
	c.data = resized(c.data, size)
	c.sizes = append(c.sizes, size)
}

// touch records a new state of each page that [from, to) lies in.
func (c *content) touch(from, to int64) {
	if c.dirty == nil {
		c.dirty = map[int64][][]byte{}
	}
	for n := from / pageBytes; n*pageBytes < to; n++ {
		states := append(c.dirty[n], c.page(n))
		if len(states) > pageStatesMax {
			states = states[1:]
		}
		c.dirty[n] = states
	}
}

func (c *content) page(n int64) []byte {
	page := make([]byte, pageBytes)
	if off := n * pageBytes; off < int64(len(c.data)) {
		copy(page, c.data[off:])
	}
	return page
}

func (c *content) sync() {
	c.synced = resized(c.synced, int64(len(c.data)))
	for n := range c.dirty {
		if off := n * pageBytes; off < int64(len(c.data)) {
			copy(c.synced[off:], c.data[off:min(off+pageBytes, int64(len(c.data)))])
		}
	}
	c.dirty, c.sizes = nil, nil
}

// syncFailed leaves the pages clean though they never arrived: processes go on reading what a power cut will take away.
func (c *content) syncFailed() { c.dirty, c.sizes = nil, nil }

// crash gives the bytes that a power cut leaves.
func (c *content) crash(rng *rand.Rand) []byte {
	kept := [...]int{0, 50, 90, 100}[rng.IntN(4)] // percent of the dirty pages that made it, so that the extremes occur too
	size := int64(len(c.synced))
	if len(c.sizes) > 0 && rng.IntN(100) < kept {
		size = c.sizes[rng.IntN(len(c.sizes))]
	}
	left := resized(slices.Clone(c.synced), size)
	for _, n := range slices.Sorted(maps.Keys(c.dirty)) {
		if rng.IntN(100) < kept && n*pageBytes < size {
			crashPage(rng, left[n*pageBytes:min((n+1)*pageBytes, size)], c.dirty[n])
		}
	}
	return left
}

// crashPage overwrites page with one of its states, or tears it: each sector has one of them, or stays as it is.
func crashPage(rng *rand.Rand, page []byte, states [][]byte) {
	if rng.IntN(3) > 0 {
		copy(page, states[rng.IntN(len(states))])
		return
	}
	for off := 0; off < len(page); off += sectorBytes {
		if i := rng.IntN(len(states) + 1); i < len(states) {
			end := min(off+sectorBytes, len(page))
			copy(page[off:end], states[i][off:end])
		}
	}
}

func resized(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}
