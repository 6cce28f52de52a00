package group

import (
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// assignTargets computes what each member shall own in the group's epoch.
func (c *Coordinator) assignTargets(g *group) {
	cg := g.consumer
	members := cg.sortedMembers()
	targets := c.assignorFor(cg)(c.assignorGroup(cg, members))
	for i, m := range members {
		if !m.hasTarget || !m.target.Equal(targets[i]) {
			c.setTarget(g, m, targets[i])
		}
	}
	cg.targetEpoch = cg.epoch
	g.touch(recordTargetEpoch, "")
}

// assignorFor is the assignor that most members ask for, or the first that is configured.
func (c *Coordinator) assignorFor(cg *consumerGroup) assignor.Func {
	name := cg.preferredAssignor()
	if name == nil || !slices.Contains(c.cfg.ConsumerAssignors, *name) {
		name = &c.cfg.ConsumerAssignors[0]
	}
	return assignor.ByName(*name)
}

// assignorGroup is the group as assignors see it. Members that subscribe to the same share one list of topics.
func (c *Coordinator) assignorGroup(cg *consumerGroup, members []*consumerMember) *assignor.Group {
	in := &assignor.Group{Members: make([]assignor.Member, len(members)), Partitions: c.partitionsOf}
	for i, m := range members {
		in.Members[i] = assignor.Member{ID: m.id, InstanceID: m.instanceID, Assigned: m.target}
		if i > 0 && m.regex == members[i-1].regex && slices.Equal(m.topics, members[i-1].topics) {
			in.Members[i].Topics = in.Members[i-1].Topics
		} else {
			in.Members[i].Topics = c.topicsOf(cg, m)
		}
	}
	return in
}

func (c *Coordinator) partitionsOf(id wire.TopicID) int32 { return c.topics.image.ByID(id).Partitions }

// topicsOf are the topics that a member reads, as far as they exist.
func (c *Coordinator) topicsOf(cg *consumerGroup, m *consumerMember) []wire.TopicID {
	var ids []wire.TopicID
	add := func(names []string) {
		for _, name := range names {
			if t := c.topics.image.ByName(name); t != nil {
				ids = append(ids, t.ID)
			}
		}
	}
	add(m.topics)
	if m.regex != "" {
		add(cg.regexes[m.regex].topics)
	}
	slices.SortFunc(ids, assignor.CompareTopics)
	return slices.Compact(ids)
}

// reconcile moves a member towards its target as far as it may go now: it gives up first what is no longer its own, then
// it gets what the others have given up. owned is what it says that it holds; nil if it did not say.
func (c *Coordinator) reconcile(g *group, m *consumerMember, owned []kmsg.ConsumerGroupHeartbeatRequestTopic) {
	cg := g.consumer
	if m.isReconciledTo(cg.targetEpoch) {
		return
	}
	next := cg.next(m, owned)
	if next.equal(&m.memberCurrent) {
		return
	}
	c.setCurrent(g, m, next)
	switch {
	case m.classic != nil: // has timers for joining and syncing instead
	case m.state == memberUnrevoked:
		m.rebalanceEpoch = m.epoch
		c.timers.arm(&m.rebalance, c.after(int64(m.rebalanceTimeoutMS)))
	default:
		c.timers.disarm(&m.rebalance)
	}
}

// next is where m may go from where it stands.
func (cg *consumerGroup) next(m *consumerMember, owned []kmsg.ConsumerGroupHeartbeatRequestTopic) memberCurrent {
	switch m.state {
	case memberStable:
		if m.epoch == cg.targetEpoch {
			return m.memberCurrent
		}
		return cg.towardsTarget(m, m.epoch, owned)
	case memberUnrevoked:
		if owns(owned, m.revoking) {
			return m.memberCurrent
		}
		return cg.towardsTarget(m, m.epoch+1, owned) // it has revoked what the step to the next epoch asked for
	case memberUnreleased:
		return cg.towardsTarget(m, m.epoch, owned)
	}
	return cg.towardsTarget(m, cg.targetEpoch, owned)
}

func (cg *consumerGroup) towardsTarget(m *consumerMember, epoch int32, owned []kmsg.ConsumerGroupHeartbeatRequestTopic) memberCurrent {
	kept := m.assigned.Intersect(m.target)
	if revoking := m.assigned.Minus(kept); len(revoking) > 0 && owns(owned, revoking) {
		return memberCurrent{epoch: epoch, previousEpoch: m.epoch, state: memberUnrevoked, assigned: kept, revoking: revoking}
	}
	wanted := m.target.Minus(kept)
	free := wanted.Filter(func(topic wire.TopicID, p int32) bool { return cg.owners[topicPartition{topic, p}] == nil })
	state := memberStable
	if free.Count() < wanted.Count() {
		state = memberUnreleased
	}
	return memberCurrent{epoch: cg.targetEpoch, previousEpoch: m.epoch, state: state, assigned: kept.Union(free)}
}

// owns reports whether a member still holds, or may hold, one of the partitions.
func owns(owned []kmsg.ConsumerGroupHeartbeatRequestTopic, partitions assignor.Assignment) bool {
	if owned == nil {
		return true
	}
	for i := range owned {
		for _, p := range owned[i].Partitions {
			if partitions.Has(owned[i].TopicID, p) {
				return true
			}
		}
	}
	return false
}
