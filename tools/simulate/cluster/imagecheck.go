package cluster

import (
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// checkImage judges an image when the first node has it: who is in sync is alive (C3) and has all that was committed (I7).
func (c *Cluster) checkImage(m *image.Image) {
	if m.Version() <= c.newest {
		return
	}
	c.newest = m.Version()
	c.noteWiped(m)
	for i, l := range c.ledgers {
		_, s := c.stateOf(m, i)
		if s == nil {
			continue
		}
		if c.world.Tracing() && c.newestStates[i] != s {
			c.world.Tracef("metadata  partition %d: node %d leads in epoch %d.%d, in sync %v, eligible %v, of %v", i, s.Leader, s.LeaderEpoch, s.PartitionEpoch, s.ISR, s.ELR, s.Replicas)
		}
		c.newestStates[i] = s
		for _, id := range s.ISR {
			if b := m.Broker(id); b == nil || b.Fenced || b.ShuttingDown {
				l.fail("C3", "node %d is in the in-sync set of epoch %d.%d and is fenced, shutting down or not there", id, s.LeaderEpoch, s.PartitionEpoch)
			}
			if !c.node(id).counts(i, m) {
				continue
			}
			if end := c.node(id).keptEnd(i); end < wire.Offset(len(l.committed)) {
				l.fail("I7", "node %d is in the in-sync set of epoch %d.%d and has %d, committed is %d", id, s.LeaderEpoch, s.PartitionEpoch, end, len(l.committed))
			}
		}
		if s.Leader != wire.NoNode && !slices.Contains(s.ISR, s.Leader) {
			l.fail("C3", "node %d leads in epoch %d.%d and is not in sync", s.Leader, s.LeaderEpoch, s.PartitionEpoch)
		}
	}
}

// keptEnd is the end of what the node has of a partition and will not lose by what may happen to it.
func (n *Node) keptEnd(index int) wire.Offset {
	if n.replicas == nil || n.replicas[index] == nil {
		return n.durableEnd(index)
	}
	return n.replicas[index].partition.SafeEnd()
}
