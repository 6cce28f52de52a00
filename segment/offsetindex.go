package segment

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// offsetEntrySize is the size of an entry of a .index file: int32 offset relative to the segment's base, int32 position.
const offsetEntrySize = 8

// OffsetEntry maps the last offset of a batch to the position of the batch's first byte.
type OffsetEntry struct {
	Offset   wire.Offset
	Position wire.Position
}

// OffsetIndex is the sparse map from offsets to positions of one segment: Kafka's .index file, of which any prefix may be
// left on disk only. Entries are strictly increasing in both columns. What is not yet in the file is always in memory.
//
//	entry number  0 ........... first ........... flushed ........... count
//	in the file   ================================|
//	in memory                   |==================================|
type OffsetIndex struct {
	base    wire.Offset
	first   int32       // entries before this one are in the file only
	flushed int32       // entries before this one are in the file
	entries []byte      // [first, count), in the file's format
	last    OffsetEntry // of all, in memory or not; zero if there is none
}

// Count is the number of entries, in memory or not.
func (x *OffsetIndex) Count() int { return int(x.first) + len(x.entries)/offsetEntrySize }

// resident reports whether all entries are in memory.
func (x *OffsetIndex) resident() bool { return x.first == 0 }

// append adds an entry; canHold says whether its offset fits.
func (x *OffsetIndex) append(e OffsetEntry) {
	if x.Count() > 0 && e.Offset <= x.last.Offset {
		panic("BUG: offset index entry does not increase")
	}
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(e.Offset-x.base))
	x.entries = binary.BigEndian.AppendUint32(x.entries, uint32(e.Position))
	x.last = e
}

// cut undoes the last append; last is the entry before it. The entry may be in the file by now, and even no longer in memory:
// the next write goes over it.
func (x *OffsetIndex) cut(last OffsetEntry) {
	n := int32(x.Count()) - 1
	if len(x.entries) > 0 {
		x.entries = x.entries[:len(x.entries)-offsetEntrySize]
	}
	x.first, x.flushed = min(x.first, n), min(x.flushed, n)
	x.last = last
}

// lookup gives the greatest entry whose offset is at most target: the batch that holds target begins there or later. Without
// such an entry it gives the segment's start. ok is false if the answer may be in the part that is not in memory.
func (x *OffsetIndex) lookup(target wire.Offset) (e OffsetEntry, ok bool) {
	n := x.upper(target)
	if n == 0 {
		return OffsetEntry{Offset: x.base}, x.resident()
	}
	return readOffsetEntry(x.base, x.entries, n-1), true
}

// lookupAfter gives the least entry whose offset is at least target: the batch that holds target does not begin after it.
// found is false if there is none; ok as in lookup.
func (x *OffsetIndex) lookupAfter(target wire.Offset) (e OffsetEntry, found, ok bool) {
	n := x.upper(target - 1)
	if n == 0 && !x.resident() {
		return OffsetEntry{}, false, false
	}
	if n == len(x.entries)/offsetEntrySize {
		return OffsetEntry{}, false, true
	}
	return readOffsetEntry(x.base, x.entries, n), true, true
}

// upper gives the number of entries in memory with an offset of at most target.
func (x *OffsetIndex) upper(target wire.Offset) int { return upperOffset(x.base, x.entries, target) }

// upperOffset gives the number of leading entries with an offset of at most target.
func upperOffset(base wire.Offset, entries []byte, target wire.Offset) int {
	return sort.Search(len(entries)/offsetEntrySize, func(i int) bool {
		return readOffsetEntry(base, entries, i).Offset > target
	})
}

// load puts loaded entries, those of the file from its start, before the ones in memory.
func (x *OffsetIndex) load(loaded []byte) bool {
	if len(loaded)/offsetEntrySize < int(x.first) {
		return false // released since the load was planned: it would leave a gap
	}
	head := loaded[:int(x.first)*offsetEntrySize]
	if len(x.entries) > 0 {
		head = append(head[:len(head):len(head)], x.entries...)
	}
	x.entries, x.first = head, 0
	return true
}

// replace takes entries as all there are, and in the file.
func (x *OffsetIndex) replace(entries []byte) {
	n := len(entries) / offsetEntrySize
	x.entries, x.first, x.flushed, x.last = entries, 0, int32(n), OffsetEntry{}
	if n > 0 {
		x.last = readOffsetEntry(x.base, entries, n-1)
	}
}

// release drops what is in the file too, and says how many bytes that were.
func (x *OffsetIndex) release() int {
	n := int(x.flushed-x.first) * offsetEntrySize
	if n <= 0 {
		return 0
	}
	x.entries = append([]byte(nil), x.entries[n:]...)
	x.first = x.flushed
	return n
}

// unflushed is what the file lacks, a view.
func (x *OffsetIndex) unflushed() []byte {
	return x.entries[int(x.flushed-x.first)*offsetEntrySize:]
}

func readOffsetEntry(base wire.Offset, entries []byte, i int) OffsetEntry {
	e := entries[i*offsetEntrySize:][:offsetEntrySize]
	return OffsetEntry{
		Offset:   base + wire.Offset(int32(binary.BigEndian.Uint32(e))),
		Position: wire.Position(int32(binary.BigEndian.Uint32(e[4:]))),
	}
}

// canHold reports whether an offset can be written as relative to base: 0 to 2³¹-1 above it.
func canHold(base, offset wire.Offset) bool {
	return offset >= base && offset-base <= math.MaxInt32
}

// soundOffsetEntries gives the leading bytes of a .index file that are entries: strictly increasing, within a log of size
// bytes. The zeros that Kafka preallocates, and whatever a crash left after the last good entry, are no part of it.
func soundOffsetEntries(base wire.Offset, data []byte, size wire.Position) []byte {
	last := OffsetEntry{Offset: base - 1, Position: -1}
	n := len(data) / offsetEntrySize
	for i := 0; i < n; i++ {
		e := readOffsetEntry(base, data, i)
		if e.Offset <= last.Offset || e.Position <= last.Position || e.Position >= size {
			return data[:i*offsetEntrySize]
		}
		last = e
	}
	return data[:n*offsetEntrySize]
}
