package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// beat is a heartbeat on its way into a group.
type beat struct {
	client Client
	req    *kmsg.ConsumerGroupHeartbeatRequest

	group    *group         // nil if it has to be made
	consumer *consumerGroup // what the group is, or will be: new, or converted from a classic group
	member   *consumerMember
	known    bool // member is in consumer
	replaces *consumerMember
	metadata memberMetadata // what the member will have said of itself
}

// findConsumerGroup finds the group, or what it will be once the member is in it. Only who joins makes one, or has one
// that follows the classic protocol converted.
func (c *Coordinator) findConsumerGroup(b *beat) refusal {
	id, joins := b.req.Group, b.req.MemberEpoch == memberJoins
	b.group = c.lookup(id)
	switch g := b.group; {
	case g == nil && !joins:
		return refuse(wire.GroupIDNotFound, "Consumer group %s not found.", id)
	case g == nil:
		b.consumer = newConsumerGroup()
	case g.state == Dead:
		return refusal{code: wire.CoordinatorNotAvailable}
	case g.consumer != nil:
		b.consumer = g.consumer
	case !joins || g.share != nil:
		return refuse(wire.GroupIDNotFound, "Group %s is not a consumer group.", id)
	case g.state == Empty:
		b.consumer = newConsumerGroup()
	default:
		var r refusal
		b.consumer, r = c.upgraded(g)
		return r
	}
	return accepted
}

// findMember finds the member that the heartbeat is from, or makes one that is not in the group yet.
func (b *beat) findMember() refusal {
	id := b.req.MemberID
	if b.req.InstanceID != nil {
		return b.findStaticMember(*b.req.InstanceID)
	}
	b.member = b.consumer.members[id]
	if b.member == nil {
		if b.req.MemberEpoch != memberJoins {
			return b.unknownMember()
		}
		return accepted
	}
	b.known = true
	return b.checkEpoch(b.member)
}

// findStaticMember: the instance id is a member's for as long as it does not leave, for good or for a while. Who joins with
// the id of one that left for a while takes its place, with its partitions.
func (b *beat) findStaticMember(instance string) refusal {
	id, owner := b.req.MemberID, b.consumer.static[instance]
	if b.req.MemberEpoch != memberJoins {
		switch {
		case owner == nil:
			return refuse(wire.UnknownMemberID, "Instance id %s is unknown.", instance)
		case owner.id != id:
			return fencedInstance(id, instance, owner.id)
		}
		b.member, b.known = owner, true
		return b.checkEpoch(owner)
	}
	switch {
	case owner == nil:
		b.member = b.consumer.members[id]
		b.known = b.member != nil
	case owner.classic == nil && owner.epoch != memberLeftForAWhile:
		return refuse(wire.UnreleasedInstanceID, "Static member %s with instance id %s cannot join the group because the "+
			"instance id is owned by %s member.", id, instance, owner.id)
	case owner.id != id && b.consumer.members[id] != nil:
		// The member id is another member's: in Kafka that one's partitions would be lost sight of.
		return fencedInstance(id, instance, owner.id)
	default:
		b.replaces = owner
	}
	return accepted
}

func (b *beat) unknownMember() refusal {
	return refuse(wire.UnknownMemberID, "Member %s is not a member of group %s.", b.req.MemberID, b.req.Group)
}

func fencedInstance(id, instance, owner string) refusal {
	return refuse(wire.FencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", id, instance, owner)
}

// checkEpoch judges the epoch that the heartbeat carries: the member's, or the one before if it holds nothing but what it
// was given since, as the answer with the new epoch may have been lost.
func (b *beat) checkEpoch(m *consumerMember) refusal {
	received, owned := b.req.MemberEpoch, b.req.Topics
	switch {
	case received > m.epoch:
		return fencedEpoch("greater", received, m.epoch)
	case received < m.epoch && (received != m.previousEpoch || !holdsOnly(owned, m)):
		return fencedEpoch("smaller", received, m.epoch)
	case m.state == memberUnknown && (owned == nil || len(owned) > 0):
		return refuse(wire.FencedMemberEpoch,
			"The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.")
	}
	return accepted
}

func fencedEpoch(how string, received, known int32) refusal {
	return refuse(wire.FencedMemberEpoch, "The consumer group member has a %s member epoch (%d) than the one known by the "+
		"group coordinator (%d). The member must abandon all its partitions and rejoin.", how, received, known)
}

// holdsOnly reports whether a member says what it holds, and that is nothing but what it was given.
func holdsOnly(owned []kmsg.ConsumerGroupHeartbeatRequestTopic, m *consumerMember) bool {
	for i := range owned {
		if m.assigned.Of(owned[i].TopicID) == nil {
			return false
		}
		for _, p := range owned[i].Partitions {
			if !m.assigned.Has(owned[i].TopicID, p) {
				return false
			}
		}
	}
	return owned != nil
}

// checkBeat judges what is left: whether there is room, and the regular expression.
func (c *Coordinator) checkBeat(b *beat) refusal {
	cg := b.consumer
	if len(cg.members) >= c.cfg.ConsumerMaxSize && cg.members[b.req.MemberID] == nil {
		return refuse(wire.GroupMaxSizeReached, "The consumer group has reached its maximum capacity of %d members.", c.cfg.ConsumerMaxSize)
	}
	old := memberMetadata{rebalanceTimeoutMS: -1}
	switch {
	case b.replaces != nil:
		old = b.replaces.memberMetadata
	case b.known:
		old = b.member.memberMetadata
	}
	b.metadata = b.updated(old)
	if !b.known && !c.fits(consumerMemberOverheadBytes+requestBytes(b.req)) {
		return refuse(wire.GroupMaxSizeReached, "The coordinator's memory is used up.")
	}
	if regex := b.metadata.regex; regex != old.regex && regex != "" && cg.regexes[regex] == nil {
		return checkRegex(regex)
	}
	return accepted
}

func requestBytes(req *kmsg.ConsumerGroupHeartbeatRequest) (n int64) {
	for _, name := range req.SubscribedTopicNames {
		n += int64(16 + len(name))
	}
	return n
}

// updated is what the member says of itself: what the request leaves out stays.
func (b *beat) updated(md memberMetadata) memberMetadata {
	req := b.req
	md.client, md.classic = b.client, nil
	if req.InstanceID != nil {
		md.instanceID = req.InstanceID
	}
	if req.RackID != nil {
		md.rackID = req.RackID
	}
	if req.RebalanceTimeoutMillis != -1 {
		md.rebalanceTimeoutMS = req.RebalanceTimeoutMillis
	}
	if req.ServerAssignor != nil {
		md.assignor = req.ServerAssignor
	}
	if req.SubscribedTopicNames != nil {
		md.topics = sortedSet(req.SubscribedTopicNames)
	}
	if req.SubscribedTopicRegex != nil {
		md.regex = *req.SubscribedTopicRegex
	}
	return md
}

// enterConsumerGroup makes the group what it is to be, and the member one of it. false if there may be no more groups.
func (c *Coordinator) enterConsumerGroup(b *beat) bool {
	if b.group == nil {
		if b.group = c.createGroup(b.req.Group); b.group == nil {
			return false
		}
	}
	if b.group.consumer == nil {
		c.becomeConsumer(b.group, b.consumer)
	}
	id := b.req.MemberID
	if id == "" {
		id = c.ids.uuid()
	}
	switch {
	case b.replaces != nil:
		b.member = c.replaceConsumerMember(b.group, b.replaces, id)
	case !b.known:
		b.member = newConsumerMember(id, b.group)
		c.insertMember(b.group, b.member)
	}
	return true
}

// replaceConsumerMember gives the place of a static member to a new one, which begins with what the old one had.
func (c *Coordinator) replaceConsumerMember(g *group, old *consumerMember, id string) *consumerMember {
	c.deleteMember(g, old)
	m := newConsumerMember(id, g)
	m.memberMetadata, m.memberCurrent = old.memberMetadata, old.memberCurrent
	m.epoch, m.previousEpoch = memberJoins, 0
	c.insertMember(g, m)
	c.setTarget(g, m, old.target)
	g.touch(recordCurrent, m.id)
	return m
}
