package segment

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// TestOffsetMap: it answers as a Go map does, up to its bound.
func TestOffsetMap(t *testing.T) {
	for _, c := range []struct {
		memory int64
		load   float64
		max    int
	}{{24 * 2, 0.9, 1}, {24 * 100, 0.9, 90}, {24 * 5000, 0.75, 3750}, {24 * 5000, 1, 4999}, {1, 0, 1}} {
		m, want := newOffsetMap(c.memory, c.load), map[uint32]wire.Offset{}
		rng := rand.New(rand.NewPCG(1, 1))
		key := func(k uint32) []byte { return binary.BigEndian.AppendUint32(nil, k) }
		if m.get(key(1)) != wire.NoOffset || m.latest != wire.NoOffset {
			t.Errorf("%+v: the empty map knows a key", c)
		}
		for off := wire.Offset(0); off < 20_000; off++ {
			k := rng.Uint32N(6000)
			_, known := want[k]
			if ok := m.put(key(k), off); ok != (known || len(want) < c.max) {
				t.Fatalf("%+v: put at %d of %d entries: %t", c, off, len(want), ok)
			} else if ok {
				want[k] = off
				if m.latest != off {
					t.Fatalf("latest %d", m.latest)
				}
			}
		}
		for k := range uint32(6000) {
			off, known := want[k]
			if !known {
				off = wire.NoOffset
			}
			if got := m.get(key(k)); got != off {
				t.Fatalf("%+v: key %d at %d, want %d", c, k, got, off)
			}
		}
		if len(want) != c.max || m.used != c.max || int64(len(m.slots))*offsetSlotBytes > max(c.memory, 2*offsetSlotBytes) {
			t.Errorf("%+v: %d entries in %d slots", c, m.used, len(m.slots))
		}
	}
}
