package cluster

import (
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// route is what a client knows of a partition's leader.
type route struct {
	leader wire.NodeID
	epoch  wire.LeaderEpoch
}

var noRoute = route{leader: -1, epoch: -1}

// findLeader asks one node after the other for a partition's leader, until one knows of any that is not older than known.
func (c *Cluster) findLeader(from *world.Process, partition int, known route, found func(route)) {
	node := c.nodes[c.world.Workload.IntN(len(c.nodes))]
	again := func() { from.After(clientBackoff, func() { c.findLeader(from, partition, known, found) }) }
	c.ask(from, node, "metadata", clientPatience, func(reply func(func())) {
		r := node.leaderOf(partition)
		reply(func() {
			if r.leader < 0 || r.epoch < known.epoch {
				again()
				return
			}
			found(r)
		})
	}, again)
}
