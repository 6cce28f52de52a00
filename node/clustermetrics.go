package node

import "github.com/ringmill/ringmill/wire"

// registerCluster adds the figures of a node's place in its cluster. A node of its own is the controller of itself.
func (m *nodeMetrics) registerCluster(n *Node) {
	gauge := func(name string, value func() int) {
		m.set.NewGauge(name, func() float64 { return float64(value()) })
	}
	gauge("ringmill_active_controller", func() int {
		if n.cluster == nil || n.isMember() && n.cluster.quorum.view.Load().here {
			return 1
		}
		return 0
	})
	gauge("ringmill_quorum_term", func() int {
		if !n.isMember() {
			return 0
		}
		return int(n.cluster.quorum.view.Load().term)
	})
	gauge("ringmill_metadata_version", func() int {
		if image := n.Image(); image != nil {
			return int(image.Version())
		}
		return 0
	})
	gauge("ringmill_metadata_behind", n.metadataBehind)
	gauge("ringmill_brokers_active", func() int { active, _ := n.brokerCounts(); return active })
	gauge("ringmill_brokers_fenced", func() int { _, fenced := n.brokerCounts(); return fenced })
	gauge("ringmill_partitions_leaderless", n.leaderless)
}

// metadataBehind is how many records of the metadata this node knows of that are not in force here yet.
func (n *Node) metadataBehind() int {
	if !n.isMember() {
		return 0
	}
	newest, here := n.cluster.follower.latest(), n.Image()
	if newest == nil {
		return 0
	}
	return int(newest.Version() - min(here.Version(), newest.Version()))
}

// brokerCounts are the nodes of the cluster that serve, and those that are registered and do not.
func (n *Node) brokerCounts() (active, fenced int) {
	if n.cluster == nil {
		return 1, 0
	}
	for b := range n.Image().Brokers() {
		if b.Fenced {
			fenced++
		} else {
			active++
		}
	}
	return active, fenced
}

// leaderless are the partitions of the cluster that nobody leads.
func (n *Node) leaderless() (count int) {
	m := n.Image()
	if n.cluster == nil || m == nil {
		return 0
	}
	for t := range m.Topics() {
		for _, s := range t.States() {
			if s.Leader == wire.NoNode {
				count++
			}
		}
	}
	return count
}
