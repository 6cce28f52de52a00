package controller

import (
	"slices"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
)

// AlterConfigs gives the records of a change of configurations, or of others like it, which was judged before, and what it does to partitions: where a smaller
// min.insync.replicas lets the in-sync set acknowledge by itself, nobody outside of it is eligible any more (Kafka's ClearElrRecord).
// It must be the same entry: a leader that knew the smaller number before the ELR is empty could acknowledge what the ELR does not have.
func (c *Controller) AlterConfigs(m *image.Image, configs ...image.Record) []image.Record {
	s := c.begin(m)
	s.add(configs...)
	if slices.ContainsFunc(configs, setsMinISR) {
		s.settle(c.index.eligible, func(p *image.PartitionState) bool { return len(p.ELR) > 0 }, func(*elect.Change) {})
	}
	for _, r := range configs {
		if config, ok := r.(image.ConfigRecord); ok && config.Key == drainKey && config.Resource.Type == image.BrokerResource {
			s.drainAsConfigured(config.Resource.Name)
		}
	}
	return s.records
}

// minISRKey is the property that ELRs depend on, a topic's own or all brokers'.
const minISRKey = "min.insync.replicas"

func setsMinISR(r image.Record) bool {
	config, ok := r.(image.ConfigRecord)
	return ok && config.Key == minISRKey
}
