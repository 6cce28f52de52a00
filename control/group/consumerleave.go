package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerGroupLeave serves a member that leaves: for good, or as a static member for a while, with its partitions kept for
// it until its session ends.
func (c *Coordinator) consumerGroupLeave(h Handle, req *kmsg.ConsumerGroupHeartbeatRequest) refusal {
	g := c.lookup(req.Group)
	switch {
	case g == nil:
		return refuse(wire.GroupIDNotFound, "Group %s not found.", req.Group)
	case g.state == Dead:
		return refusal{code: wire.CoordinatorNotAvailable}
	case g.consumer == nil:
		return refuse(wire.GroupIDNotFound, "Group %s is not a consumer group.", req.Group)
	}
	m, r := g.consumer.leaver(req)
	if r != accepted {
		return r
	}
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.Version, resp.MemberID, resp.MemberEpoch = req.Version, &m.id, req.MemberEpoch
	if req.MemberEpoch == memberLeftForAWhile {
		current := m.memberCurrent
		current.epoch, current.revoking = memberLeftForAWhile, nil
		c.setCurrent(g, m, current)
		c.settle(g, delayedReply{handle: h, req: req, resp: resp})
		return accepted
	}
	c.fence(g, []*consumerMember{m}, delayedReply{handle: h, req: req, resp: resp})
	return accepted
}

func (cg *consumerGroup) leaver(req *kmsg.ConsumerGroupHeartbeatRequest) (*consumerMember, refusal) {
	return cg.memberOf(req.Group, req.MemberID, req.InstanceID)
}

// memberOf finds the member that a request names by its id, or by its instance id and id.
func (cg *consumerGroup) memberOf(group, id string, instance *string) (*consumerMember, refusal) {
	if instance == nil {
		m := cg.members[id]
		if m == nil {
			return nil, refuse(wire.UnknownMemberID, "Member %s is not a member of group %s.", id, group)
		}
		return m, accepted
	}
	m := cg.static[*instance]
	switch {
	case m == nil:
		return nil, refuse(wire.UnknownMemberID, "Instance id %s is unknown.", *instance)
	case m.id != id:
		return nil, fencedInstance(id, *instance, m.id)
	}
	return m, accepted
}

// fence removes members, which begins a new epoch. If only members of the classic protocol are left, the group follows
// that one again.
func (c *Coordinator) fence(g *group, members []*consumerMember, replies ...delayedReply) {
	if len(members) == 0 {
		c.settle(g, replies...)
		return
	}
	if c.mayDowngrade(g.consumer, members) && c.downgrade(g, members) {
		c.settle(g, replies...)
		c.prepareRebalance(g)
		return
	}
	for _, m := range members {
		c.deleteMember(g, m)
		if m.regex != "" {
			c.dropUnusedRegex(g, m.regex)
		}
	}
	c.bumpEpoch(g, c.currentHash(g.consumer))
	c.settle(g, replies...)
}

// consumerTimer does what is due of a consumer group's member.
func (c *Coordinator) consumerTimer(t *timer) {
	m := t.consumer
	if t.kind == timerConsumerRebalance && m.classic == nil && m.epoch != m.rebalanceEpoch {
		return // it has moved on since
	}
	c.fence(t.group, []*consumerMember{m})
}
