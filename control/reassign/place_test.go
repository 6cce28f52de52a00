package reassign

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// kafkaRandom is org.apache.kafka.server.util.MockRandom under java.util.Random: with it the placements are those that Kafka's own tests
// expect.
type kafkaRandom struct{ state int64 }

func newKafkaRandom() *kafkaRandom { return &kafkaRandom{state: 17} }

func (r *kafkaRandom) next(bits int) int32 {
	r.state = r.state*2862933555777941757 + 3037000493
	return int32(uint64(r.state) >> (64 - bits))
}

func (r *kafkaRandom) IntN(n int) int {
	bound := int32(n)
	u := r.next(31)
	if bound&(bound-1) == 0 {
		return int(int32(int64(bound) * int64(u) >> 31))
	}
	for u-u%bound+(bound-1) < 0 {
		u = r.next(31)
	}
	return int(u % bound)
}

// The values are those of StripedReplicaPlacerTest.
func TestPlacementsOfKafka(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []Node
		want  [][]wire.NodeID
	}{
		{"testAvoidFencedReplicaIfPossibleOnSingleRack", []Node{{3, "", false}, {1, "", true}, {0, "", false}, {4, "", false}, {2, "", false}},
			[][]wire.NodeID{{3, 4, 0, 2}, {4, 0, 2, 3}, {0, 2, 3, 4}, {2, 3, 4, 0}, {0, 4, 3, 2}}},
		{"testMultiPartitionTopicPlacementOnSingleUnfencedBroker", []Node{{0, "", false}, {1, "", true}}, [][]wire.NodeID{{0}, {0}, {0}}},
		{"testPlacementOnFencedReplicaOnSingleRack", []Node{{3, "", false}, {1, "", true}, {2, "", false}},
			[][]wire.NodeID{{3, 2, 1}, {2, 3, 1}, {3, 2, 1}, {2, 3, 1}}},
		{"testRackListWithMultipleRacks", []Node{{11, "1", false}, {10, "1", false}, {30, "3", false}, {31, "3", false}, {21, "2", false}, {20, "2", true}},
			[][]wire.NodeID{{11, 21, 31, 10}, {21, 30, 10, 20}, {31, 11, 21, 30}}},
		{"testRackListWithInvalidRacks", []Node{{11, "1", false}, {10, "1", false}, {30, "3", true}, {31, "3", true}, {20, "2", true}, {21, "2", true}, {41, "4", false}, {40, "4", true}},
			[][]wire.NodeID{{41, 11, 21, 30}, {10, 20, 31, 41}, {41, 21, 30, 11}}},
		{"testSuccessfulPlacement", []Node{{0, "", false}, {3, "", false}, {2, "", false}, {1, "", false}},
			[][]wire.NodeID{{2, 3, 0}, {3, 0, 1}, {0, 1, 2}, {1, 2, 3}, {1, 0, 2}}},
	} {
		got, err := Place(c.nodes, int32(len(c.want)), int16(len(c.want[0])), newKafkaRandom())
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v, error %v", c.name, got, c.want, err)
		}
	}
}

func TestEvenDistributionOfKafka(t *testing.T) {
	placed, err := Place([]Node{{0, "", false}, {1, "", false}, {2, "", false}, {3, "", false}}, 200, 2, newKafkaRandom())
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, p := range placed {
		counts[fmt.Sprint(p)]++
	}
	for pair, want := range map[string]int{"[0 1]": 14, "[0 2]": 22, "[0 3]": 14, "[1 0]": 17, "[1 2]": 17, "[1 3]": 16, "[2 0]": 13, "[2 1]": 17,
		"[2 3]": 20, "[3 0]": 20, "[3 1]": 19, "[3 2]": 11} {
		if counts[pair] != want {
			t.Errorf("%s: %d, want %d", pair, counts[pair], want)
		}
	}
}

func TestRefusedPlacements(t *testing.T) {
	for _, c := range []struct {
		nodes  []Node
		factor int16
		want   string
	}{
		{[]Node{{11, "1", true}, {10, "1", true}}, 1, "All brokers are currently fenced."},
		{nil, 1, "All brokers are currently fenced."},
		{[]Node{{11, "1", false}, {10, "1", false}}, 3, "The target replication factor of 3 cannot be reached because only 2 broker(s) are registered."},
		{[]Node{{11, "1", false}, {10, "1", false}}, 0, "Invalid replication factor 0: the replication factor must be positive."},
		{[]Node{{11, "1", false}, {10, "1", false}}, -1, "Invalid replication factor -1: the replication factor must be positive."},
	} {
		_, err := Place(c.nodes, 1, c.factor, newKafkaRandom())
		var problem *PlacementError
		if !errors.As(err, &problem) || problem.Problem != c.want {
			t.Errorf("factor %d: %v, want %s", c.factor, err, c.want)
		}
	}
}

// Whatever the nodes are: replicas differ, leaders are not fenced, fenced nodes come only where others are missing in the rack, and
// a partition is in as many racks as it can be.
func TestRandomPlacements(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		nodes := make([]Node, 1+r.IntN(8))
		fenced, inRack := map[wire.NodeID]bool{}, map[wire.NodeID]string{}
		allRacks := map[string]bool{}
		for i := range nodes {
			nodes[i] = Node{wire.NodeID(i), fmt.Sprint(r.IntN(3)), r.IntN(4) == 0 && i > 0}
			fenced[nodes[i].ID], inRack[nodes[i].ID] = nodes[i].Fenced, nodes[i].Rack
			allRacks[nodes[i].Rack] = true
		}
		factor := 1 + r.IntN(len(nodes))
		placed, err := Place(nodes, 20, int16(factor), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range placed {
			racks := map[string]bool{}
			for i, n := range p {
				racks[inRack[n]] = true
				if slices.Contains(p[:i], n) {
					t.Fatalf("seed %d: %v has a node twice", seed, p)
				}
			}
			if len(p) != factor || fenced[p[0]] || len(racks) < min(factor, len(allRacks)) {
				t.Fatalf("seed %d: %v of nodes %v", seed, p, nodes)
			}
		}
	}
}
