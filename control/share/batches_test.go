package share

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// TestCombine holds combine to what it means for one record: the batch that holds it and has come furthest, at or above
// the start.
func TestCombine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	states := []RecordState{Available, Acknowledged, Archived}
	for range 20_000 {
		batches := make([]StateBatch, random.IntN(8))
		for i := range batches {
			first := wire.Offset(random.IntN(20))
			batches[i] = StateBatch{first, first + wire.Offset(random.IntN(8)), states[random.IntN(3)], int16(random.IntN(3))}
		}
		start := wire.Offset(random.IntN(12) - 1)
		got := combine(batches, start)
		if want := combineSlowly(batches, start); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v from %d\nbecame %v\n  want %v", batches, start, got, want)
		}
	}
}

func combineSlowly(batches []StateBatch, start wire.Offset) (out []StateBatch) {
	for off := max(start, 0); off < 40; off++ {
		var best *StateBatch
		for i := range batches {
			if b := &batches[i]; b.First <= off && off <= b.Last && (best == nil || b.compare(*best) > 0) {
				best = b
			}
		}
		if best == nil {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Last+1 == off && out[n-1].compare(*best) == 0 {
			out[n-1].Last = off
			continue
		}
		out = append(out, StateBatch{off, off, best.State, best.Deliveries})
	}
	return out
}

func TestCombineAtTheEndOfOffsets(t *testing.T) {
	got := combine([]StateBatch{{5, maxOffset, Archived, 1}}, wire.NoOffset)
	if want := []StateBatch{{5, maxOffset - 1, Archived, 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
