package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A group changes its protocol while it works (KIP-848, "Upgrade to KIP-848"): the first member that joins with the
// consumer protocol makes a classic group of consumers a consumer group; when the last such member goes it is a classic
// group again. Members of the classic protocol stay throughout.

// MigrationPolicy is group.consumer.migration.policy: which ways a group with members may change its protocol.
type MigrationPolicy struct{ Upgrade, Downgrade bool }

// upgraded makes the consumer group that a classic group with members would be. Nothing is changed by that.
func (c *Coordinator) upgraded(g *group) (*consumerGroup, refusal) {
	cannot := func(why string) (*consumerGroup, refusal) {
		return nil, refuse(wire.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because %s.", g.id, why)
	}
	switch {
	case !c.cfg.ConsumerMigration.Upgrade:
		return cannot("online upgrade is disabled")
	case !g.isConsumer():
		return cannot("the group does not use the consumer embedded protocol")
	case len(g.members) > c.cfg.ConsumerMaxSize:
		return cannot("the group size exceeds the consumer group maximum size")
	}
	protocol := g.protocol
	if protocol == nil { // nobody was told of a generation yet
		selected := g.selectProtocol()
		protocol = &selected
	}
	cg := newConsumerGroup()
	cg.epoch, cg.targetEpoch = g.generation, g.generation
	for m := g.first; m != nil; m = m.next {
		moved, problem := c.upgradedMember(g, m, *protocol)
		if problem != "" {
			return cannot(problem)
		}
		if cg.wouldShare(moved.assigned) {
			return nil, refusal{code: wire.UnknownServerError} // as Kafka, whose bookkeeping fails
		}
		cg.insert(moved)
	}
	cg.metadataHash = c.currentHash(cg)
	return cg, accepted
}

// wouldShare reports whether one of the partitions has an owner.
func (cg *consumerGroup) wouldShare(a assignor.Assignment) bool {
	return len(a.Filter(func(topic wire.TopicID, p int32) bool { return cg.owners[topicPartition{topic, p}] != nil })) > 0
}

// upgradedMember is m as a member of a consumer group. It keeps what the last generation gave it.
func (c *Coordinator) upgradedMember(g *group, m *member, protocol string) (moved *consumerMember, problem string) {
	const malformed = "the embedded consumer protocol is malformed"
	subscription, ok := readSubscription(m.metadata(protocol))
	if !ok {
		return nil, malformed
	}
	moved = newConsumerMember(m.id, g)
	moved.memberMetadata = memberMetadata{
		instanceID: m.instanceID, rackID: subscription.Rack, client: m.client, rebalanceTimeoutMS: m.rebalanceTimeoutMS,
		topics:  sortedSet(subscription.Topics),
		classic: &classicSide{sessionTimeoutMS: m.sessionTimeoutMS, protocols: m.protocols},
	}
	if len(m.assignment) > 0 { // it may have joined and never synced
		assignment := kmsg.NewConsumerMemberAssignment()
		if assignment.ReadFrom(m.assignment) != nil || assignment.Version < 0 {
			return nil, malformed
		}
		if len(assignment.UserData) > 0 {
			return nil, "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default " +
				"assignor before re-attempting the upgrade"
		}
		for _, t := range assignment.Topics {
			if topic := c.topics.image.ByName(t.Topic); topic != nil {
				moved.assigned = append(moved.assigned, assignor.TopicPartitions{Topic: topic.ID, Partitions: t.Partitions})
			}
		}
		moved.assigned = assignor.Normal(moved.assigned)
	}
	moved.epoch, moved.previousEpoch = g.generation, g.generation
	moved.target, moved.hasTarget = moved.assigned, true
	return moved, ""
}

// readSubscription reads a consumer's metadata of the classic protocol. An empty rack is none.
func readSubscription(metadata []byte) (s kmsg.ConsumerMemberMetadata, ok bool) {
	s = kmsg.NewConsumerMemberMetadata()
	if s.ReadFrom(metadata) != nil || s.Version < 0 {
		return s, false
	}
	if s.Rack != nil && *s.Rack == "" {
		s.Rack = nil
	}
	return s, true
}

// becomeConsumer makes the group the consumer group that was made for it. Members of the classic protocol that wait are
// told to join again.
func (c *Coordinator) becomeConsumer(g *group, cg *consumerGroup) {
	if g.durable || len(g.members) > 0 {
		g.touch(recordClassicGroup, "")
	}
	c.leaveClassic(g)
	g.consumer, g.protocolType = cg, consumerProtocolType
	members := cg.sortedMembers()
	for _, m := range members {
		c.recount(m)
		c.timers.arm(&m.session, c.after(int64(m.classic.sessionTimeoutMS)))
		g.touch(recordMember, m.id)
	}
	if len(members) == 0 {
		return
	}
	g.touch(recordGroup, "")
	for _, m := range members {
		g.touch(recordTarget, m.id)
	}
	g.touch(recordTargetEpoch, "")
	for _, m := range members {
		g.touch(recordCurrent, m.id)
	}
}

// leaveClassic takes all that belongs to the classic protocol out of the group.
func (c *Coordinator) leaveClassic(g *group) {
	for m := g.first; m != nil; m = g.first {
		c.answerJoin(g, m, joinError(m.id, wire.RebalanceInProgress))
		c.answerSync(m, syncError(wire.RebalanceInProgress))
		c.removeMember(g, m)
	}
	for _, id := range sortedKeys(g.pending) {
		c.removePending(g, id)
	}
	c.timers.disarm(&g.timer)
	g.protocol, g.leader, g.subscribed, g.generation, g.newMemberAdded = nil, "", nil, 0, false
}
