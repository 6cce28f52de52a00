package elect

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// elect finds the leader of the target state; wire.NoNode if there can be none. unclean: it may lack what was acknowledged.
func (c *Change) elect() (leader wire.NodeID, unclean bool) {
	for least := Fit; least > Unfit; least-- {
		if leader := c.electFrom(least); leader != wire.NoNode {
			return leader, false
		}
	}
	if last := c.lastKnownLeader(); last != wire.NoNode {
		return last, true
	}
	if c.Election == Unclean {
		leader = c.electAnybody()
		return leader, leader != wire.NoNode
	}
	return wire.NoNode, false
}

// electFrom elects among those that have all that was acknowledged and are at least so fit.
func (c *Change) electFrom(least Fitness) wire.NodeID {
	valid := func(n wire.NodeID) bool { return c.hasAll(n) && c.CanLead(n) >= least }
	switch {
	case c.Election == Preferred && valid(c.Replicas[0]):
		return c.Replicas[0]
	case valid(c.Before.Leader):
		return c.Before.Leader
	}
	if at := slices.IndexFunc(c.Replicas, valid); at >= 0 {
		return c.Replicas[at]
	}
	return wire.NoNode
}

// hasAll: the ISR, or the ELR where the ISR is empty.
func (c *Change) hasAll(n wire.NodeID) bool {
	return slices.Contains(c.ISR, n) || len(c.ISR) == 0 && slices.Contains(c.elr, n)
}

// lastKnownLeader is whom the partition falls back on when nobody has all: the one who led last (KIP-966). It had all, before it
// came back without some of it. Unlike Kafka before 4.1.1, it must be there (KAFKA-19522).
func (c *Change) lastKnownLeader() wire.NodeID {
	last := c.Before.LastKnownELR
	if len(c.ISR) > 0 || len(c.elr) > 0 || len(last) != 1 || !slices.Contains(c.Replicas, last[0]) || c.CanLead(last[0]) == Unfit {
		return wire.NoNode
	}
	return last[0]
}

func (c *Change) electAnybody() wire.NodeID {
	for least := Fit; least > Unfit; least-- {
		if at := slices.IndexFunc(c.Replicas, func(n wire.NodeID) bool { return c.CanLead(n) >= least }); at >= 0 {
			return c.Replicas[at]
		}
	}
	return wire.NoNode
}
