package segment

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/ringmill/ringmill/wire"
)

// offsetMap maps keys to the offset of their newest record, for one cleaning. Of a key it keeps 128 bits of its SHA-256 (Kafka's
// SkimpyOffsetMap keeps its MD5), so that an entry has 24 bytes whatever the key, and so that nobody can find two keys of which
// one would delete the other. It grows as entries come, up to its bound, and while it doubles it takes half as much again; at the
// bound it is full.
type offsetMap struct {
	slots    []offsetSlot
	used     int
	slotsMax int         // bound of len(slots)
	halvings int         // of slotsMax, for the next len(slots)
	usedMax  int         // bound of used
	latest   wire.Offset // offsets up to this one have been put; NoOffset if none
}

// offsetSlot is an entry; next is the offset after the record's, so that 0 marks a free slot.
type offsetSlot struct {
	hash [2]uint64
	next wire.Offset
}

const (
	offsetSlotBytes = 24
	offsetSlotsMin  = 1024
	// offsetMapGrowth is how full, in parts of ten, a map may be before it grows, where it still can.
	offsetMapGrowth = 7
)

// newOffsetMap gives a map of at most memory bytes that is full when load of its slots are used.
func newOffsetMap(memory int64, load float64) *offsetMap {
	slots := max(memory/offsetSlotBytes, 2)
	halvings := 0
	for slots>>(halvings+1) >= offsetSlotsMin {
		halvings++
	}
	return &offsetMap{halvings: halvings, slotsMax: int(slots), usedMax: min(max(int(float64(slots)*load), 1), int(slots)-1), latest: wire.NoOffset}
}

func hashKey(key []byte) [2]uint64 {
	sum := sha256.Sum256(key)
	return [2]uint64{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

// slot gives the slot with a hash, or the free one where it belongs.
func (m *offsetMap) slot(hash [2]uint64) *offsetSlot {
	i, _ := bits.Mul64(hash[0], uint64(len(m.slots)))
	for {
		s := &m.slots[i]
		if s.next == 0 || s.hash == hash {
			return s
		}
		if i++; i == uint64(len(m.slots)) {
			i = 0
		}
	}
}

// put notes the newest record of a key; false if the map is full.
func (m *offsetMap) put(key []byte, off wire.Offset) bool {
	m.grow()
	hash := hashKey(key)
	s := m.slot(hash)
	if s.next == 0 {
		if m.used >= m.usedMax {
			return false
		}
		m.used++
		s.hash = hash
	}
	s.next = off + 1
	m.latest = off
	return true
}

// get gives the offset of a key's newest record, NoOffset if the map does not know the key.
func (m *offsetMap) get(key []byte) wire.Offset {
	if len(m.slots) == 0 {
		return wire.NoOffset
	}
	return m.slot(hashKey(key)).next - 1
}

// grow makes room before the map is too full, while its bound allows it.
func (m *offsetMap) grow() {
	if len(m.slots) == m.slotsMax || m.used*10 < len(m.slots)*offsetMapGrowth {
		return
	}
	old := m.slots
	m.slots = make([]offsetSlot, m.slotsMax>>m.halvings)
	m.halvings--
	for i := range old {
		if old[i].next != 0 {
			*m.slot(old[i].hash) = old[i]
		}
	}
}
