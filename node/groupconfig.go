package node

import (
	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// setGroupConfigs gives a coordinator that has none yet the configurations of its groups.
func (g *groupService) setGroupConfigs(shard wire.PartitionIndex, shards int, c *group.Coordinator) {
	m := g.node.Image()
	for r := range m.Resources() {
		if r.Type == image.GroupResource && group.PartitionFor(r.Name, int32(shards)) == int32(shard) {
			c.SetGroupConfig(r.Name, g.configOf(m, r.Name))
		}
	}
}

// configChanged has the group's coordinator go by its configuration as it is now. A coordinator whose log is still being
// read gets all of them when that is done.
func (g *groupService) configChanged(id string) {
	g.inbox.put(func() {
		if len(g.shards) > 0 {
			s := g.shards[group.PartitionFor(id, int32(len(g.shards)))]
			s.coordinator.SetGroupConfig(id, g.configOf(g.node.Image(), id))
		}
	})
}

// configOf is what a group with a configuration of its own goes by; nil if it has none.
func (g *groupService) configOf(m *image.Image, id string) *group.GroupConfig {
	overrides := m.GroupOverrides(id)
	if overrides == nil {
		return nil
	}
	c := g.node.Config().Group(overrides)
	return &group.GroupConfig{
		ConsumerSessionTimeoutMS: c.ConsumerSessionTimeoutMS, ConsumerHeartbeatIntervalMS: c.ConsumerHeartbeatIntervalMS,
		ShareSessionTimeoutMS: c.ShareSessionTimeoutMS, ShareHeartbeatIntervalMS: c.ShareHeartbeatIntervalMS,
	}
}
