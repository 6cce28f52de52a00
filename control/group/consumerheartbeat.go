package group

import (
	"slices"
	"strings"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerGroupHeartbeat takes a ConsumerGroupHeartbeat of version 0 to 1 (KIP-848): a member joins, says that it lives and
// what it holds, gets what it may have, and leaves by it.
func (c *Coordinator) consumerGroupHeartbeat(h Handle, cl Client, req *kmsg.ConsumerGroupHeartbeatRequest) {
	r := c.checkConsumerHeartbeat(req)
	if r == accepted {
		switch req.MemberEpoch {
		case memberLeaves, memberLeftForAWhile:
			r = c.consumerGroupLeave(h, req)
		default:
			r = c.consumerGroupBeat(h, cl, req)
		}
	}
	if r != accepted {
		c.reply(h, consumerHeartbeatError(req, r))
	}
}

func consumerHeartbeatError(req *kmsg.ConsumerGroupHeartbeatRequest, r refusal) *kmsg.ConsumerGroupHeartbeatResponse {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.Version, resp.ErrorCode, resp.ErrorMessage = req.Version, int16(r.code), r.text()
	return resp
}

// memberIDByClientFrom is the first version whose clients make their member ids themselves (KIP-1082).
const memberIDByClientFrom = 1

// checkConsumerHeartbeat judges the request by itself.
func (c *Coordinator) checkConsumerHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) refusal {
	needsID := req.Version >= memberIDByClientFrom || req.MemberEpoch > 0 || req.MemberEpoch == memberLeaves
	switch {
	case needsID && isBlank(&req.MemberID):
		return refuse(wire.InvalidRequest, "MemberId can't be empty.")
	case isBlank(&req.Group):
		return refuse(wire.InvalidRequest, "GroupId can't be empty.")
	case isBlank(req.InstanceID):
		return refuse(wire.InvalidRequest, "InstanceId can't be empty.")
	case isBlank(req.RackID):
		return refuse(wire.InvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch < memberLeftForAWhile:
		return refuse(wire.InvalidRequest, "MemberEpoch is invalid.")
	case req.MemberEpoch == memberLeftForAWhile && req.InstanceID == nil:
		return refuse(wire.InvalidRequest, "InstanceId can't be null.")
	case req.MemberEpoch == memberJoins && !c.isCompleteJoin(req):
		return incompleteJoin(req)
	case req.ServerAssignor != nil && !slices.Contains(c.cfg.ConsumerAssignors, *req.ServerAssignor):
		return refuse(wire.UnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*req.ServerAssignor, strings.Join(c.cfg.ConsumerAssignors, ", "))
	case !c.mayAppend():
		return refusal{code: wire.CoordinatorLoadInProgress}
	}
	return accepted
}

// isBlank reports whether a string is there and holds nothing to see. Java's trim takes all up to the blank for white.
func isBlank(s *string) bool {
	return s != nil && strings.TrimFunc(*s, func(r rune) bool { return r <= ' ' }) == ""
}

func (c *Coordinator) isCompleteJoin(req *kmsg.ConsumerGroupHeartbeatRequest) bool {
	return req.RebalanceTimeoutMillis != -1 && req.Topics != nil && len(req.Topics) == 0 &&
		(req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil)
}

func incompleteJoin(req *kmsg.ConsumerGroupHeartbeatRequest) refusal {
	switch {
	case req.RebalanceTimeoutMillis == -1:
		return refuse(wire.InvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
	case req.Topics == nil || len(req.Topics) > 0:
		return refuse(wire.InvalidRequest, "TopicPartitions must be empty when (re-)joining.")
	}
	return refuse(wire.InvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
}

// consumerGroupBeat serves a member that joins or lives, in three steps: what it says of itself, which may begin an epoch;
// the targets of a new epoch; and its own next step towards its target. Nothing is changed before nothing can be refused
// any longer.
func (c *Coordinator) consumerGroupBeat(h Handle, cl Client, req *kmsg.ConsumerGroupHeartbeatRequest) refusal {
	b := beat{client: cl, req: req}
	if r := c.findConsumerGroup(&b); r != accepted {
		return r
	}
	if r := b.findMember(); r != accepted {
		return r
	}
	if r := c.checkBeat(&b); r != accepted {
		return r
	}
	if !c.enterConsumerGroup(&b) {
		return refuse(wire.GroupMaxSizeReached, "There are as many groups as there may be.")
	}
	g, m := b.group, b.member
	assigned := m.assigned
	changed := c.takeMetadata(g, m, b.metadata)
	c.refreshTopics(g, changed || g.consumer.epoch == 0)
	if g.consumer.epoch > g.consumer.targetEpoch {
		c.assignTargets(g)
	}
	c.reconcile(g, m, req.Topics)
	c.timers.arm(&m.session, c.after(int64(c.configOf(g.id).ConsumerSessionTimeoutMS)))
	resp := c.beatAnswer(&b, !m.assigned.Equal(assigned))
	c.settle(g, delayedReply{handle: h, req: req, resp: resp})
	c.refreshRegexes(g)
	return accepted
}

// takeMetadata takes over what a member says of itself, and reports whether the group reads other topics by that.
func (c *Coordinator) takeMetadata(g *group, m *consumerMember, md memberMetadata) (changed bool) {
	if md.equal(&m.memberMetadata) {
		return false
	}
	changed = !slices.Equal(md.topics, m.topics)
	regex := m.regex
	c.setMetadata(g, m, md)
	if md.classic == nil { // it may have spoken the classic protocol before
		c.timers.disarm(&m.sync)
	}
	return c.regexJoined(g, regex, md.regex) || changed
}

// beatAnswer tells the member where it stands; what it may use only if it asked for that or if it changed.
func (c *Coordinator) beatAnswer(b *beat, assignedChanged bool) *kmsg.ConsumerGroupHeartbeatResponse {
	m, req := b.member, b.req
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.Version = req.Version
	resp.MemberID, resp.MemberEpoch = &m.id, m.epoch
	resp.HeartbeatIntervalMillis = c.configOf(b.group.id).ConsumerHeartbeatIntervalMS
	full := req.RebalanceTimeoutMillis != -1 && req.Topics != nil &&
		(req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil)
	if req.MemberEpoch == memberJoins || full || assignedChanged {
		resp.Assignment = answeredAssignment(m.assigned)
	}
	return resp
}

func answeredAssignment(a assignor.Assignment) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	out := &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: make([]kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic, len(a))}
	for i := range a {
		out.Topics[i].TopicID, out.Topics[i].Partitions = a[i].Topic, a[i].Partitions
	}
	return out
}
