package cluster

import (
	"time"

	"github.com/ringmill/ringmill/tools/simulate/world"
)

// FaultsOf gives the faults that a seed draws.
func FaultsOf(seed uint64) []Fault {
	w := world.New(seed, nil)
	o := DrawOptions(&w.Streams)
	return allFaults(w, o)
}

// strike lets a fault happen now, or, if it is aimed at something, when that comes.
func (c *Cluster) strike(f Fault) {
	if f.Target >= targets {
		c.aimed = append(c.aimed, f)
		return
	}
	c.hit(c.target(f), f)
}

// hit lets a fault happen to a node.
func (c *Cluster) hit(n *Node, f Fault) {
	peer := c.nodes[(n.index+f.Peer)%len(c.nodes)]
	if c.world.Tracing() {
		c.world.Tracef("fault     %v of %s (peer %s) for %v", f.Kind, n.process.Name(), peer.process.Name(), f.Length.Round(time.Millisecond))
	}
	c.stats.faults++
	switch f.Kind {
	case Kill, PowerCut, FailedSync, CleanRestart:
		n.bringDown(f.Kind, f.Length)
	case PowerCutAll:
		for _, n := range c.nodes {
			n.bringDown(PowerCut, f.Length)
		}
	case Pause:
		c.pause(n.process, f.Length)
	case SlowLink:
		c.network.Slow(n.index, peer.index, slowLinkBy)
		c.healAfter(f.Length, func() { c.network.Slow(n.index, peer.index, 0) })
	case WipedLogs, WipedDisk:
		n.wipe(f.Kind, f.Length)
	case LostLogs:
		c.loser(n).loseLogs(f.Length)
	case SlowDisk:
		n.slowDisks++
		c.healAfter(f.Length, func() { n.slowDisks-- })
	case CutOneWay:
		c.cut(n.index, peer.index, f.Length)
	case CutBothWays:
		c.cut(n.index, peer.index, f.Length)
		c.cut(peer.index, n.index, f.Length)
	case Isolate:
		c.isolate(n, len(c.nodes), f.Length)
	case IsolateAll:
		c.isolate(n, len(c.nodes)+1, f.Length)
	}
}

// target is the node that a fault hits: one that leads, if there is one.
func (c *Cluster) target(f Fault) *Node {
	switch f.Target {
	case Leader:
		if n := c.leaderByBelief(f.Node); n != nil {
			return n
		}
	case Controller:
		if n := c.controllerByBelief(); n != nil {
			return n
		}
	}
	return c.nodes[f.Node%len(c.nodes)]
}

// healAfter undoes a fault, unless the whole cluster was healed before.
func (c *Cluster) healAfter(d time.Duration, undo func()) {
	c.world.After(d, func() {
		if !c.calm {
			undo()
		}
	})
}

func (c *Cluster) cut(from, to int, length time.Duration) {
	c.network.Cut(from, to)
	c.healAfter(length, func() { c.network.Heal(from, to) })
}

// isolate cuts a node off all places below places but its own, both ways.
func (c *Cluster) isolate(n *Node, places int, length time.Duration) {
	for place := range places {
		if place != n.index {
			c.cut(n.index, place, length)
			c.cut(place, n.index, length)
		}
	}
}

func (c *Cluster) pause(p *world.Process, length time.Duration) {
	life := p.Life()
	p.Pause()
	c.healAfter(length, func() {
		if p.Life() == life {
			p.Resume()
		}
	})
}

// heal undoes everything: the liveness phase begins.
func (c *Cluster) heal() {
	c.calm = true
	c.network.Calm()
	c.world.Tracef("heal      no more faults, no more records")
	for _, n := range c.nodes {
		n.slowDisks = 0
		n.process.Resume()
		n.comeBack()
	}
	for _, t := range c.transactors {
		for _, in := range t.instances {
			in.process.Resume()
		}
	}
}
