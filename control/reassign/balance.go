package reassign

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// Placed is one partition as a balance sees it.
type Placed struct {
	Replicas []wire.NodeID // the preferred leader first
	Fixed    bool          // it is being reassigned: it counts, but is not touched
}

// Moved is what a balance makes of a partition.
type Moved struct {
	Partition int // its place in what Balance was given
	Replicas  []wire.NodeID
}

// Balance finds few moves after which partitions are in as many racks as they can be, nodes have as many replicas as their
// neighbours, and as many preferred leaders, up to one where the partitions allow it. Replicas move only from a node that has at least two more
// than the one they go to, so that a balanced cluster is left alone; leaders move by the order of the replicas, which costs
// no data. Only nodes are given anything; replicas elsewhere stay. Equal arguments give equal moves, in the order of the partitions.
func Balance(nodes []Node, partitions []Placed) (moves []Moved) {
	b := newBalance(nodes, partitions)
	b.spreadRacks()
	b.untilStable(b.evenReplicas)
	b.untilStable(b.evenLeaders)
	for i, p := range b.partitions {
		if !slices.Equal(p.Replicas, partitions[i].Replicas) {
			moves = append(moves, Moved{Partition: i, Replicas: p.Replicas})
		}
	}
	return moves
}

// Replacement gives the node that a replica should move to from one of replicas that goes away: the least loaded that is not among
// them, in a rack of its own if there is one. ok is false if there is no such node.
func Replacement(nodes []Node, load func(wire.NodeID) int, replicas []wire.NodeID, goes wire.NodeID) (id wire.NodeID, ok bool) {
	rackOf := racksOf(nodes)
	stay := wire.WithoutNodes(replicas, goes)
	var best Node
	for _, n := range nodes {
		if slices.Contains(replicas, n.ID) || n.Fenced {
			continue
		}
		if !ok || compareTargets(rackOf, load, stay, n, best) < 0 {
			best, ok = n, true
		}
	}
	return best.ID, ok
}

// compareTargets prefers a new rack, then less load, then the lower id.
func compareTargets(rackOf map[wire.NodeID]string, load func(wire.NodeID) int, stay []wire.NodeID, a, b Node) int {
	taken := func(n Node) int {
		if slices.ContainsFunc(stay, func(id wire.NodeID) bool { return hasRack(rackOf, id, n.Rack) }) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(taken(a), taken(b)), cmp.Compare(load(a.ID), load(b.ID)), cmp.Compare(a.ID, b.ID))
}

func racksOf(nodes []Node) map[wire.NodeID]string {
	rackOf := make(map[wire.NodeID]string, len(nodes))
	for _, n := range nodes {
		rackOf[n.ID] = n.Rack
	}
	return rackOf
}

// hasRack: a node that is not known is in no rack.
func hasRack(rackOf map[wire.NodeID]string, id wire.NodeID, rack string) bool {
	r, known := rackOf[id]
	return known && r == rack
}

// balance is the work on one Balance.
type balance struct {
	nodes      []Node // by id
	rackOf     map[wire.NodeID]string
	racks      int
	partitions []Placed
	replicas   map[wire.NodeID]int
	leaders    map[wire.NodeID]int
	least      int // replicas that the node with the fewest has
}

func newBalance(nodes []Node, partitions []Placed) *balance {
	b := &balance{nodes: slices.Clone(nodes), rackOf: racksOf(nodes), partitions: slices.Clone(partitions),
		replicas: make(map[wire.NodeID]int), leaders: make(map[wire.NodeID]int)}
	slices.SortFunc(b.nodes, func(x, y Node) int { return cmp.Compare(x.ID, y.ID) })
	racks := make(map[string]bool)
	for _, n := range nodes {
		racks[n.Rack] = true
	}
	b.racks = len(racks)
	for i := range b.partitions {
		p := &b.partitions[i]
		p.Replicas = slices.Clone(p.Replicas)
		for _, id := range p.Replicas {
			b.replicas[id]++
		}
		b.leaders[p.Replicas[0]]++
	}
	b.findLeast()
	return b
}

func (b *balance) findLeast() {
	for i, n := range b.nodes {
		if has := b.replicas[n.ID]; i == 0 || has < b.least {
			b.least = has
		}
	}
}

// untilStable repeats a pass over all partitions. Each move takes from the bigger and gives to the smaller, so that it ends.
func (b *balance) untilStable(pass func(p *Placed) bool) {
	for again := true; again; {
		again = false
		for i := range b.partitions {
			if p := &b.partitions[i]; !p.Fixed && pass(p) {
				again = true
			}
		}
	}
}

// spreadRacks moves replicas that share a rack with another into racks that the partition is not in.
func (b *balance) spreadRacks() {
	for i := range b.partitions {
		p := &b.partitions[i]
		for !p.Fixed && b.rackCount(p.Replicas) < min(len(p.Replicas), b.racks) && b.spread(p) {
		}
	}
}

func (b *balance) spread(p *Placed) bool {
	for at := len(p.Replicas) - 1; at >= 0; at-- {
		if to := b.target(p, at, func(n Node) bool { return true }, 1); to != wire.NoNode {
			b.move(p, at, to)
			return true
		}
	}
	return false
}

// evenReplicas moves one replica of p from a node that has at least two more than another.
func (b *balance) evenReplicas(p *Placed) bool {
	for at, from := range p.Replicas {
		if _, ours := b.rackOf[from]; !ours || b.replicas[from] < b.least+2 {
			continue
		}
		to := b.target(p, at, func(n Node) bool { return b.replicas[n.ID]+1 < b.replicas[from] }, 0)
		if to != wire.NoNode {
			b.move(p, at, to)
			return true
		}
	}
	return false
}

// target gives the least loaded node that may take p's replica at: it has none, is allowed, and brings p into at least more racks
// than it is in.
func (b *balance) target(p *Placed, at int, allowed func(Node) bool, more int) wire.NodeID {
	best := wire.NoNode
	for _, n := range b.nodes {
		if n.Fenced || slices.Contains(p.Replicas, n.ID) || !allowed(n) || best != wire.NoNode && b.replicas[n.ID] >= b.replicas[best] {
			continue
		}
		moved := slices.Clone(p.Replicas)
		moved[at] = n.ID
		if b.rackCount(moved) >= b.rackCount(p.Replicas)+more {
			best = n.ID
		}
	}
	return best
}

// evenLeaders puts another replica first where the first one leads at least two more partitions.
func (b *balance) evenLeaders(p *Placed) bool {
	from, best := p.Replicas[0], 0
	for at, id := range p.Replicas {
		if _, ours := b.rackOf[id]; ours && b.leaders[id] < b.leaders[p.Replicas[best]] {
			best = at
		}
	}
	if b.leaders[p.Replicas[best]]+1 >= b.leaders[from] {
		return false
	}
	b.leaders[from]--
	b.leaders[p.Replicas[best]]++
	p.Replicas[0], p.Replicas[best] = p.Replicas[best], p.Replicas[0]
	return true
}

func (b *balance) move(p *Placed, at int, to wire.NodeID) {
	from := p.Replicas[at]
	p.Replicas[at] = to
	b.replicas[from]--
	b.replicas[to]++
	b.findLeast()
	if at == 0 {
		b.leaders[from]--
		b.leaders[to]++
	}
}

// rackCount is how many racks of the nodes a partition is in.
func (b *balance) rackCount(replicas []wire.NodeID) (n int) {
	for i, id := range replicas {
		rack, ours := b.rackOf[id]
		if ours && !slices.ContainsFunc(replicas[:i], func(other wire.NodeID) bool { return hasRack(b.rackOf, other, rack) }) {
			n++
		}
	}
	return n
}
