package group

import (
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// refreshShareTopics begins a new epoch if something changed: what members read, the topics themselves, or which of their
// partitions are initialized.
func (c *Coordinator) refreshShareTopics(g *group, changed bool) {
	sg := g.share
	version := c.topics.image.Version()
	if !sg.checked || sg.checkedAt != version {
		changed = changed || c.topics.hashAll(sortedKeys(sg.names)) != sg.metadataHash
		sg.checked, sg.checkedAt = true, version
	}
	if sg.uncovered {
		changed = changed || !c.coversInitialized(sg)
		sg.uncovered = false
	}
	if changed || sg.stale || sg.epoch == 0 {
		c.bumpShareEpoch(g)
		sg.stale = false
	}
}

// coversInitialized reports whether each initialized partition that somebody subscribes to is some member's target.
func (c *Coordinator) coversInitialized(sg *shareGroup) bool {
	missing := sg.topics.initialized.Filter(func(topic wire.TopicID, _ int32) bool {
		t := c.topics.image.ByID(topic)
		return t != nil && sg.names[t.Name] > 0
	})
	for _, m := range sg.members {
		missing = missing.Minus(m.target)
	}
	return len(missing) == 0
}

// assignShareTargets computes what each member shall read in the group's epoch.
func (c *Coordinator) assignShareTargets(g *group) {
	sg := g.share
	members := sg.sortedMembers()
	in := &assignor.Group{
		Members: make([]assignor.Member, len(members)), Partitions: c.partitionsOf, Assignable: sg.topics.initialized.Has,
		Name: func(topic wire.TopicID) string { return c.topics.image.ByID(topic).Name },
	}
	for i, m := range members {
		in.Members[i] = assignor.Member{ID: m.id, Assigned: m.target, Topics: c.topicIDs(m.topics)}
	}
	for i, target := range assignor.Simple(in) {
		if m := members[i]; !m.hasTarget || !m.target.Equal(target) {
			m.target, m.hasTarget = target, true
			g.touch(recordShareTarget, m.id)
		}
	}
	sg.targetEpoch = sg.epoch
	g.touch(recordShareTargetEpoch, "")
}

// topicIDs are the topics of these names that exist, in the order of their ids.
func (c *Coordinator) topicIDs(names []string) []wire.TopicID {
	var ids []wire.TopicID
	for _, name := range names {
		if t := c.topics.image.ByName(name); t != nil {
			ids = append(ids, t.ID)
		}
	}
	slices.SortFunc(ids, assignor.CompareTopics)
	return ids
}

// reconcileShare moves a member to its target.
func (c *Coordinator) reconcileShare(g *group, m *shareMember) {
	if m.epoch == g.share.targetEpoch {
		return
	}
	m.shareCurrent = shareCurrent{epoch: g.share.targetEpoch, previousEpoch: m.epoch, assigned: m.target}
	c.recountShare(m)
	g.touch(recordShareCurrent, m.id)
}
