package node

import (
	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
)

// setGroupConfigs gives a coordinator that has none yet the configurations of its groups.
func (g *groupService) setGroupConfigs(s *groupShard) {
	m := g.node.Image()
	for r := range m.Resources() {
		if r.Type == image.GroupResource && g.shardOf(r.Name) == s {
			s.coordinator.SetGroupConfig(r.Name, g.configOf(m, r.Name))
		}
	}
}

// configChanged has the group's coordinator go by its configuration as it is now. A coordinator whose log is still being
// read gets all of them when that is done.
func (g *groupService) configChanged(id string) {
	g.inbox.put(func() {
		if s := g.shardOf(id); s != nil {
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
