package reassign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// Random is where placement takes its numbers from: math/rand/v2's Rand is one.
type Random interface {
	// IntN gives a number from 0 to n-1.
	IntN(n int) int
}

// Node is a node that replicas may be placed on.
type Node struct {
	ID     wire.NodeID
	Rack   string // "": none, which is a rack like another
	Fenced bool   // only if there are not enough others
}

// PlacementError says why replicas cannot be placed, in Kafka's words.
type PlacementError struct{ Problem string }

func (e *PlacementError) Error() string { return e.Problem }

// Place gives the replicas of partitions partitions, the preferred leader first in each (Kafka's StripedReplicaPlacer): it goes
// round the racks, in each round the nodes of a rack, begins each partition one rack and one node further, and shuffles when
// all nodes led once. Leaders are never fenced; the other replicas are, if there is nobody else. The error is a *PlacementError.
func Place(nodes []Node, partitions int32, replicationFactor int16, random Random) ([][]wire.NodeID, error) {
	r := newRacks(nodes, random)
	switch {
	case replicationFactor <= 0:
		return nil, &PlacementError{fmt.Sprintf("Invalid replication factor %d: the replication factor must be positive.", replicationFactor)}
	case r.unfenced == 0:
		return nil, &PlacementError{"All brokers are currently fenced."}
	case int(replicationFactor) > len(nodes):
		return nil, &PlacementError{fmt.Sprintf("The target replication factor of %d cannot be reached because only %d broker(s) are registered.",
			replicationFactor, len(nodes))}
	}
	placed := make([][]wire.NodeID, partitions)
	for i := range placed {
		placed[i] = r.place(int(replicationFactor))
	}
	return placed, nil
}

// ring is a list of nodes that is gone through once a round, each round from one further.
type ring struct {
	nodes []wire.NodeID
	at    int // taken in this round
	from  int // where the round began
	round int
}

func (g *ring) start(random Random) {
	if len(g.nodes) > 0 {
		slices.Sort(g.nodes)
		g.from = random.IntN(len(g.nodes))
	}
}

// next gives the next node of a round; wire.NoNode if all were taken.
func (g *ring) next(round int) wire.NodeID {
	if len(g.nodes) == 0 {
		return wire.NoNode
	}
	if g.round != round {
		g.round, g.at, g.from = round, 0, (g.from+1)%len(g.nodes)
	}
	if g.at >= len(g.nodes) {
		return wire.NoNode
	}
	n := g.nodes[(g.at+g.from)%len(g.nodes)]
	g.at++
	return n
}

type rack struct {
	name             string
	fenced, unfenced ring
}

func (k *rack) next(round int) wire.NodeID {
	if n := k.unfenced.next(round); n != wire.NoNode {
		return n
	}
	return k.fenced.next(round)
}

// racks are all racks, in the order in which they are gone round.
type racks struct {
	random   Random
	list     []*rack
	unfenced int // nodes
	round    int // partitions placed since the last shuffle
	from     int // the rack that the next partition begins with
}

func newRacks(nodes []Node, random Random) *racks {
	r := &racks{random: random}
	for _, n := range nodes {
		k := r.rack(n.Rack)
		if n.Fenced {
			k.fenced.nodes = append(k.fenced.nodes, n.ID)
			continue
		}
		k.unfenced.nodes = append(k.unfenced.nodes, n.ID)
		r.unfenced++
	}
	// Nodes without a rack come first.
	slices.SortFunc(r.list, func(a, b *rack) int { return cmp.Compare(a.name, b.name) })
	for _, k := range r.list {
		k.fenced.start(random)
		k.unfenced.start(random)
	}
	if len(r.list) > 0 {
		r.from = random.IntN(len(r.list))
	}
	return r
}

func (r *racks) rack(name string) *rack {
	if at := slices.IndexFunc(r.list, func(k *rack) bool { return k.name == name }); at >= 0 {
		return r.list[at]
	}
	k := &rack{name: name}
	r.list = append(r.list, k)
	return k
}

// place gives one partition's replicas. There are enough nodes, and one that is not fenced.
func (r *racks) place(replicas int) []wire.NodeID {
	if r.round == r.unfenced && r.unfenced > 1 {
		r.shuffle()
		r.round = 0
	}
	if r.from == len(r.list) {
		r.from = 0
	}
	leader, leaderRack := r.placeLeader()
	placed := append(make([]wire.NodeID, 0, replicas), leader)
	for at := r.from; len(placed) < replicas; at = (at + 1) % len(r.list) {
		if at == leaderRack {
			leaderRack = -1 // passed over once: it has had its turn
			continue
		}
		if n := r.list[at].next(r.round); n != wire.NoNode {
			placed = append(placed, n)
		}
	}
	r.round++
	r.from++
	return placed
}

func (r *racks) placeLeader() (leader wire.NodeID, rack int) {
	for rack = r.from; ; rack = (rack + 1) % len(r.list) {
		if leader = r.list[rack].unfenced.next(r.round); leader != wire.NoNode {
			return leader, rack
		}
	}
}

func (r *racks) shuffle() {
	shuffle(r.list, r.random)
	for _, k := range r.list {
		shuffle(k.fenced.nodes, r.random)
		shuffle(k.unfenced.nodes, r.random)
	}
}

// shuffle is Fisher and Yates's, from the end as java.util.Collections has it.
func shuffle[E any](list []E, random Random) {
	for i := len(list); i > 1; i-- {
		j := random.IntN(i)
		list[i-1], list[j] = list[j], list[i-1]
	}
}
