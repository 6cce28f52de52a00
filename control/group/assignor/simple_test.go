package assignor

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// shareGroup is group, of which all partitions may be given out.
func shareGroup(counts map[byte]int32, subscriptions ...[]byte) *Group {
	g := group(counts, subscriptions...)
	g.Name = func(id wire.TopicID) string { return "t" + string('0'+rune(id[15])) }
	g.Assignable = func(wire.TopicID, int32) bool { return true }
	return g
}

func TestSimpleHashesAndGoesRound(t *testing.T) {
	g := shareGroup(map[byte]int32{1: 5}, []byte{1}, []byte{1}) // "a" hashes to 97, "b" to 98
	want := []Assignment{{some(1, 0, 2, 4)}, {some(1, 1, 3)}}
	if got := Simple(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSimpleSharesPartitions(t *testing.T) {
	g := shareGroup(map[byte]int32{1: 1}, []byte{1}, []byte{1}, []byte{1})
	want := []Assignment{{some(1, 0)}, {some(1, 0)}, {some(1, 0)}}
	if got := Simple(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSimpleLeavesOutWhatIsNotAssignable(t *testing.T) {
	g := shareGroup(map[byte]int32{1: 3}, []byte{1})
	g.Assignable = func(_ wire.TopicID, p int32) bool { return p == 1 }
	if got, want := Simple(g), []Assignment{{some(1, 1)}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSimpleCovers is invariant A6 over random groups whose members and partitions come and go.
func TestSimpleCovers(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		counts := map[byte]int32{1: 1, 2: 1, 3: 1}
		var g *Group
		for range 30 {
			g = nextShareGroup(r, g, counts)
			out := Simple(g)
			for i := range out {
				g.Members[i].Assigned = out[i]
			}
			checkCover(t, g, counts)
		}
	}
}

// nextShareGroup lets members of g leave, others join or subscribe to something else, and topics grow.
func nextShareGroup(r *rand.Rand, g *Group, counts map[byte]int32) *Group {
	counts[byte(r.IntN(3)+1)] += int32(r.IntN(3))
	next := shareGroup(counts)
	for id := range 8 {
		if r.IntN(3) == 0 {
			continue
		}
		m := Member{ID: string(rune('a' + id))}
		for n := range byte(3) {
			if r.IntN(2) == 0 {
				m.Topics = append(m.Topics, topic(n+1))
			}
		}
		if g != nil {
			for _, before := range g.Members {
				if before.ID == m.ID {
					m.Assigned = before.Assigned
				}
			}
		}
		next.Members = append(next.Members, m)
	}
	return next
}

func checkCover(t *testing.T, g *Group, counts map[byte]int32) {
	t.Helper()
	for n, count := range counts {
		read, held := false, map[int32]bool{}
		for _, m := range g.Members {
			subscribes := m.subscribes(topic(n))
			read = read || subscribes
			for _, p := range m.Assigned.Of(topic(n)) {
				held[p] = true
				if !subscribes || p >= count {
					t.Fatalf("%s has partition %d of topic %d", m.ID, p, n)
				}
			}
		}
		if read && len(held) != int(count) {
			t.Fatalf("topic %d has %d partitions, held are %v: %+v", n, count, held, g.Members)
		}
	}
}

// TestSortAsHashMap: the orders were taken from a java.util.HashMap of OpenJDK 21; the second has doubled once.
func TestSortAsHashMap(t *testing.T) {
	for _, want := range [][]string{
		{"member-1", "member-2", "alpha", "delta", "member-3", "beta", "gamma"},
		{"k91", "k0", "k70", "k84", "k42", "k63", "k77", "k21", "k35", "k7", "k56", "k14", "k28", "k49"},
	} {
		keys := slices.Sorted(slices.Values(want))
		sortAsHashMap(keys)
		if !slices.Equal(keys, want) {
			t.Errorf("%v, want %v", keys, want)
		}
	}
}
