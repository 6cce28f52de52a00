package reassign

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func TestBalance(t *testing.T) {
	three := []Node{{1, "", false}, {2, "", false}, {3, "", false}}
	for _, c := range []struct {
		name       string
		nodes      []Node
		partitions []Placed
		want       []Moved
	}{
		{"balanced", three, []Placed{{[]wire.NodeID{1, 2}, false}, {[]wire.NodeID{2, 3}, false}, {[]wire.NodeID{3, 1}, false}}, nil},
		{"one replica more or less is balanced", three, []Placed{{[]wire.NodeID{1}, false}, {[]wire.NodeID{1}, false}, {[]wire.NodeID{2}, false}, {[]wire.NodeID{3}, false}}, nil},
		{"a new node", three, []Placed{{[]wire.NodeID{1}, false}, {[]wire.NodeID{2}, false}, {[]wire.NodeID{1}, false}, {[]wire.NodeID{2}, false}, {[]wire.NodeID{1}, false}, {[]wire.NodeID{2}, false}},
			[]Moved{{0, []wire.NodeID{3}}, {1, []wire.NodeID{3}}}},
		{"leaders alone", three, []Placed{{[]wire.NodeID{1, 2, 3}, false}, {[]wire.NodeID{1, 2, 3}, false}, {[]wire.NodeID{1, 2, 3}, false}},
			[]Moved{{0, []wire.NodeID{2, 1, 3}}, {1, []wire.NodeID{3, 2, 1}}}},
		{"what is reassigned stays", three, []Placed{{[]wire.NodeID{1}, true}, {[]wire.NodeID{1}, true}, {[]wire.NodeID{1}, false}}, []Moved{{2, []wire.NodeID{2}}}},
		{"racks", []Node{{1, "a", false}, {2, "a", false}, {3, "b", false}}, []Placed{{[]wire.NodeID{1, 2}, false}}, []Moved{{0, []wire.NodeID{1, 3}}}},
		{"racks before numbers", []Node{{1, "a", false}, {2, "a", false}, {3, "b", false}},
			[]Placed{{[]wire.NodeID{1, 3}, false}, {[]wire.NodeID{3, 1}, false}, {[]wire.NodeID{1, 3}, false}, {[]wire.NodeID{3, 2}, false}}, []Moved{{0, []wire.NodeID{2, 3}}}},
		{"a node that goes", []Node{{1, "", false}, {2, "", false}}, []Placed{{[]wire.NodeID{9, 1}, false}, {[]wire.NodeID{9, 1}, false}},
			[]Moved{{0, []wire.NodeID{2, 9}}}},
	} {
		if got := Balance(c.nodes, c.partitions); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Whatever the cluster is: afterwards nothing is left to do, no node has two replicas more than another that could take one of them, no rack is lost,
// and a partition keeps its number of replicas.
func TestRandomBalances(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		nodes := make([]Node, 1+r.IntN(7))
		for i := range nodes {
			nodes[i] = Node{wire.NodeID(i), fmt.Sprint(r.IntN(3)), false}
		}
		partitions := make([]Placed, r.IntN(60))
		for i := range partitions {
			for _, n := range r.Perm(len(nodes))[:1+r.IntN(len(nodes))] {
				partitions[i].Replicas = append(partitions[i].Replicas, wire.NodeID(n*n%len(nodes)))
			}
			slices.Sort(partitions[i].Replicas)
			partitions[i].Replicas = slices.Compact(partitions[i].Replicas)
			partitions[i].Fixed = r.IntN(8) == 0
		}
		before := newBalance(nodes, partitions)
		moves := Balance(nodes, partitions)
		after := slices.Clone(partitions)
		for _, m := range moves {
			if partitions[m.Partition].Fixed || len(m.Replicas) != len(partitions[m.Partition].Replicas) || before.rackCount(m.Replicas) < before.rackCount(partitions[m.Partition].Replicas) {
				t.Fatalf("seed %d: %v to %v", seed, partitions[m.Partition], m)
			}
			after[m.Partition].Replicas = m.Replicas
		}
		if again := Balance(nodes, after); again != nil {
			t.Fatalf("seed %d: %d moves, and then %d", seed, len(moves), len(again))
		}
		if !reflect.DeepEqual(moves, Balance(nodes, partitions)) {
			t.Fatalf("seed %d: other moves the second time", seed)
		}
	}
}

func TestReplacement(t *testing.T) {
	nodes := []Node{{1, "a", false}, {2, "b", false}, {3, "c", false}, {4, "c", false}, {5, "b", true}}
	load := map[wire.NodeID]int{3: 5, 4: 4, 2: 1}
	for _, c := range []struct {
		replicas []wire.NodeID
		goes     wire.NodeID
		want     wire.NodeID
		ok       bool
	}{
		{[]wire.NodeID{1, 2}, 1, 4, true}, {[]wire.NodeID{1, 2}, 2, 4, true}, {[]wire.NodeID{1, 3}, 1, 2, true}, {[]wire.NodeID{1, 2, 3}, 2, 4, true},
		{[]wire.NodeID{1, 2, 3, 4}, 1, 0, false}, {[]wire.NodeID{9}, 9, 1, true},
	} {
		got, ok := Replacement(nodes, func(id wire.NodeID) int { return load[id] }, c.replicas, c.goes)
		if got != c.want || ok != c.ok {
			t.Errorf("%v without %d: %d %v, want %d %v", c.replicas, c.goes, got, ok, c.want, c.ok)
		}
	}
}
