package node

import (
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// replicas shows what a node of a cluster leads, and what of that has fewer replicas than it should, as Apache Kafka's LeaderCount,
// UnderReplicatedPartitions and UnderMinIsrPartitionCount do. They are counted when they are asked for.
func (m *nodeMetrics) replicas(n *Node) {
	count := func(name string, counts func(t *image.Topic, s *image.PartitionState) bool) {
		m.set.NewGauge(name, func() float64 { return float64(n.countLed(counts)) })
	}
	count("ringmill_partitions_led", func(*image.Topic, *image.PartitionState) bool { return true })
	count("ringmill_partitions_under_replicated", func(_ *image.Topic, s *image.PartitionState) bool { return len(s.ISR) < len(s.Replicas) })
	count("ringmill_partitions_under_min_isr", func(t *image.Topic, s *image.PartitionState) bool {
		known := n.topics.identified(t.ID)
		return known != nil && len(s.ISR) < known.config.MinInSyncReplicas
	})
	m.isrShrinks, m.isrExpands = m.set.NewCounter("ringmill_isr_shrinks_total"), m.set.NewCounter("ringmill_isr_expands_total")
}

// countLed counts partitions that this node leads in a cluster; a node of its own has no replicas to tell of.
func (n *Node) countLed(counts func(*image.Topic, *image.PartitionState) bool) (led int) {
	m := n.image.Load()
	if n.cluster == nil || m == nil {
		return 0
	}
	me := n.Config().NodeID
	for t := range m.Topics() {
		for i := range t.Partitions {
			if s := t.State(wire.PartitionIndex(i)); s != nil && s.Leader == me && counts(t, s) {
				led++
			}
		}
	}
	return led
}

// isrChanged counts what a leader's proposal has made of the ISR.
func (m *nodeMetrics) isrChanged(before, after int) {
	switch {
	case after < before:
		m.isrShrinks.Inc()
	case after > before:
		m.isrExpands.Inc()
	}
}
