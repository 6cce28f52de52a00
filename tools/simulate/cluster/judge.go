package cluster

import (
	"fmt"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// lacking says what a healed cluster lacks to be whole; "" if nothing.
func (c *Cluster) lacking() string {
	leader := c.controllerByBelief()
	if leader == nil {
		return "the quorum has no leader"
	}
	for _, n := range c.nodes {
		if !n.process.Running() {
			return n.process.Name() + " is down"
		}
		if n.registered == 0 {
			return n.process.Name() + " is not registered"
		}
		if n.quorum.applied != leader.quorum.applied {
			return fmt.Sprintf("%s has applied up to %d, %s up to %d", n.process.Name(), n.quorum.applied, leader.process.Name(), leader.quorum.applied)
		}
	}
	if lacking := c.membersLack(leader); lacking != "" {
		return lacking
	}
	for i := range c.ledgers {
		if lacking := c.partitionLacks(i, leader.image); lacking != "" {
			return fmt.Sprintf("partition %d %s", i, lacking)
		}
	}
	for _, p := range c.producers {
		if !p.idle() {
			return p.process.Name() + " waits for answers"
		}
	}
	for _, k := range c.consumers {
		for _, r := range k.readers {
			if l := c.ledgers[r.partition]; r.position < wire.Offset(len(l.committed)) {
				return fmt.Sprintf("%s has read partition %d up to %d of %d", k.process.Name(), r.partition, r.position, len(l.committed))
			}
		}
	}
	for _, a := range c.admins {
		if !a.calmAck {
			return a.process.Name() + " has no answer"
		}
	}
	if c.txns != nil {
		return c.coordinatedLacks()
	}
	return ""
}

// controllerByBelief is a node that takes itself for the controller: of several, the one of the newest term.
func (c *Cluster) controllerByBelief() (leader *Node) {
	for _, n := range c.nodes {
		if n.process.Running() && n.control.leading && (leader == nil || n.image.Version() > leader.image.Version()) {
			leader = n
		}
	}
	return leader
}

// partitionLacks says what a partition lacks to be whole: a leader, replicas in sync, all of which have all.
func (c *Cluster) partitionLacks(index int, m *image.Image) string {
	_, state := c.stateOf(m, index)
	if state == nil {
		return "is not there"
	}
	if state.Leader == wire.NoNode {
		return fmt.Sprintf("has no leader (ISR %v, ELR %v)", state.ISR, state.ELR)
	}
	if state.Reassigning() {
		return fmt.Sprintf("goes from %v to be without %v", state.Replicas, state.Removing)
	}
	if len(state.ISR) < len(state.Replicas) {
		return fmt.Sprintf("has %v in sync, of %v", state.ISR, state.Replicas)
	}
	for _, n := range c.nodes {
		if n.replicas[index] != nil && !state.HasReplica(n.id) {
			return fmt.Sprintf("is still on node %d", n.id)
		}
	}
	for _, id := range state.Replicas {
		r := c.node(id).replicas[index]
		leader := c.node(state.Leader).replicas[index]
		switch {
		case r == nil || leader == nil:
			return fmt.Sprintf("is not on node %d", id)
		case r.log.LogEndOffset() != leader.log.LogEndOffset() || r.partition.HighWatermark() != leader.log.LogEndOffset():
			return fmt.Sprintf("is %s, and on its leader %s", r.describe(), leader.describe())
		}
	}
	return ""
}

// leaderByBelief is a node that takes itself for the leader of a partition: of several, the one of the newest epoch.
func (c *Cluster) leaderByBelief(index int) (leader *Node) {
	for _, n := range c.nodes {
		if n.replicas == nil || n.replicas[index] == nil || n.replicas[index].partition.Role() != replicate.Leading {
			continue
		}
		if leader == nil || n.replicas[index].partition.LeaderEpoch() > leader.replicas[index].partition.LeaderEpoch() {
			leader = n
		}
	}
	return leader
}

// judge looks at what is left when all is quiet.
func (c *Cluster) judge() {
	for _, n := range c.nodes {
		if int(n.quorum.applied)+1 < len(c.quorum.applied) {
			c.world.Fail("R2", "%s has applied up to %d, %d was applied once", n.process.Name(), n.quorum.applied, len(c.quorum.applied)-1)
		}
	}
	for _, n := range c.nodes {
		for i, r := range n.replicas {
			if r != nil {
				c.judgeLog(n, i, r)
			}
		}
	}
	c.judgeTransactions()
}

// judgeLog reads a replica's whole log from its files.
func (c *Cluster) judgeLog(n *Node, index int, r *replica) {
	var log []entry
	err := r.read(0, r.log.LogEndOffset(), 1<<30, func(batches []byte) error {
		return entriesOf(batches, func(off wire.Offset, e entry) {
			if off != wire.Offset(len(log)) {
				c.ledgers[index].fail("G", "%s has offset %d after %d", n.process.Name(), off, len(log)-1)
			}
			log = append(log, e)
		})
	})
	if err != nil {
		c.ledgers[index].fail("I12", "%s cannot read its log: %v", n.process.Name(), err)
		return
	}
	c.ledgers[index].final(n.process.Name(), log)
}
