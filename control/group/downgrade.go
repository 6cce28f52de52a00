package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mayDowngrade reports whether the group would follow the classic protocol when these members are gone: others are left,
// and all of them speak it.
func (c *Coordinator) mayDowngrade(cg *consumerGroup, leaving []*consumerMember) bool {
	left, classic := len(cg.members)-len(leaving), cg.classicMembers
	for _, m := range leaving {
		classic -= count(m.classic != nil)
	}
	return left > 0 && classic == left && c.cfg.ConsumerMigration.Downgrade && left <= c.cfg.MaxSize
}

// mayDowngradeReplacing reports whether the group would follow the classic protocol when this static member has been
// replaced by one that speaks it.
func (c *Coordinator) mayDowngradeReplacing(cg *consumerGroup, old *consumerMember) bool {
	return old.classic == nil && cg.classicMembers == len(cg.members)-1 && c.cfg.ConsumerMigration.Downgrade &&
		len(cg.members) <= c.cfg.MaxSize
}

// downgrade makes the group a stable classic group of the members that do not leave, with their targets as its last
// assignment. false, and nothing is changed, if they have no protocol in common or their metadata cannot be read, which no
// coordinator would have written.
func (c *Coordinator) downgrade(g *group, leaving []*consumerMember) bool {
	cg := g.consumer
	gone := map[*consumerMember]bool{}
	for _, m := range leaving {
		gone[m] = true
	}
	var members []*member
	var targets []assignor.Assignment
	for _, m := range cg.sortedMembers() {
		if !gone[m] {
			members, targets = append(members, m.downgraded(g)), append(targets, m.target)
		}
	}
	if !haveCommonProtocol(members) {
		return false
	}
	epoch := cg.epoch
	c.leaveConsumer(g)
	g.protocolType, g.generation, g.state, g.previous, g.stateSince = consumerProtocolType, epoch, Stable, Stable, c.wall
	for _, m := range members {
		g.add(m, consumerProtocolType)
		c.memoryBytes += m.size()
		c.extendSession(m, m.sessionTimeoutMS)
	}
	selected := g.selectProtocol()
	g.protocol, g.subscribed = &selected, nil
	g.subscribed = g.computeSubscribed()
	for i, m := range members {
		c.setAssignment(m, c.classicAssignment(targets[i], m.metadata(selected)))
	}
	g.touch(recordClassicGroup, "")
	return true
}

// downgraded is m as a member of a classic group.
func (m *consumerMember) downgraded(g *group) *member {
	out := &member{
		id: m.id, instanceID: m.instanceID, client: m.client, sessionTimeoutMS: m.classic.sessionTimeoutMS,
		rebalanceTimeoutMS: m.rebalanceTimeoutMS, protocols: m.classic.protocols,
	}
	out.session = timer{position: -1, kind: timerSession, group: g, member: out}
	return out
}

// haveCommonProtocol reports whether one protocol is on every member's list.
func haveCommonProtocol(members []*member) bool {
	for _, p := range members[0].protocols {
		common := true
		for _, m := range members[1:] {
			common = common && listedBefore(m.protocols, p.name)
		}
		if common {
			return true
		}
	}
	return false
}

// leaveConsumer takes all that belongs to the consumer protocol out of the group. Its tombstones stand in the order in
// which Kafka accepts them.
func (c *Coordinator) leaveConsumer(g *group) {
	cg := g.consumer
	members := cg.sortedMembers()
	for _, m := range members {
		g.touch(recordCurrent, m.id)
	}
	for _, m := range members {
		g.touch(recordTarget, m.id)
	}
	g.touch(recordTargetEpoch, "")
	for _, m := range members {
		g.touch(recordMember, m.id)
		c.forgetMember(g, m)
	}
	g.touchGroupTombstones()
	c.forgetRegexes(cg)
	g.consumer = nil
}

// touchGroupTombstones notes the records of a consumer group beside those of its members.
func (g *group) touchGroupTombstones() {
	g.touch(recordTargetEpoch, "")
	for _, regex := range sortedKeys(g.consumer.regexes) {
		g.touch(recordRegex, regex)
	}
	g.touch(recordOldMetadata, "")
	g.touch(recordGroup, "")
}

func (c *Coordinator) forgetRegexes(cg *consumerGroup) {
	for _, r := range cg.regexes {
		c.memoryBytes -= r.size()
	}
	clear(cg.regexes)
}

// becomeClassic makes a consumer group without members a classic group without a generation.
func (c *Coordinator) becomeClassic(g *group) {
	c.leaveConsumer(g)
	g.protocolType, g.state, g.previous, g.stateSince = "", Empty, Dead, c.wall
	g.touch(recordClassicGroup, "")
}

// classicAssignment tells a member of the classic protocol its partitions, in the version of its own metadata.
func (c *Coordinator) classicAssignment(a assignor.Assignment, metadata []byte) []byte {
	out := kmsg.NewConsumerMemberAssignment()
	if s, ok := readSubscription(metadata); ok {
		out.Version = min(s.Version, consumerProtocolVersionMax)
	}
	for i := range a {
		if t := c.topics.image.ByID(a[i].Topic); t != nil {
			topic := kmsg.NewConsumerMemberAssignmentTopic()
			topic.Topic, topic.Partitions = t.Name, a[i].Partitions
			out.Topics = append(out.Topics, topic)
		}
	}
	return out.AppendTo(nil)
}

// consumerProtocolVersionMax is the newest version of a consumer's metadata and assignment in the classic protocol.
const consumerProtocolVersionMax = 3
