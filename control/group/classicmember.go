package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// classicMemberOf finds the member of the classic protocol that a request is from.
func (cg *consumerGroup) classicMemberOf(group, id string, instance *string, generation int32) (*consumerMember, wire.ErrorCode) {
	m, r := cg.memberOf(group, id, instance)
	switch {
	case r != accepted:
		return nil, r.code
	case m.classic == nil:
		return nil, wire.UnknownMemberID
	case m.epoch != generation:
		return nil, wire.IllegalGeneration
	}
	return m, wire.None
}

// syncConsumerGroup takes a SyncGroup to a consumer group with members.
func (c *Coordinator) syncConsumerGroup(g *group, w waiter, req *kmsg.SyncGroupRequest) {
	m, code := g.consumer.classicMemberOf(g.id, req.MemberID, req.InstanceID, req.Generation)
	if code == wire.None {
		code = c.checkClassicSync(g, m, req)
	}
	if code != wire.None {
		c.answerSyncNow(w, syncError(code))
		return
	}
	c.timers.disarm(&m.sync)
	c.timers.arm(&m.session, c.after(int64(m.classic.sessionTimeoutMS)))
	resp := syncError(wire.None)
	resp.Version, resp.ProtocolType, resp.Protocol = w.version, req.ProtocolType, req.Protocol
	resp.MemberAssignment = c.classicAssignment(m.assigned, m.classic.protocols[0].metadata)
	c.settle(g, delayedReply{handle: w.handle, req: req, resp: resp})
}

func (c *Coordinator) checkClassicSync(g *group, m *consumerMember, req *kmsg.SyncGroupRequest) wire.ErrorCode {
	protocolType := consumerProtocolType
	if differs(req.ProtocolType, &protocolType) || differs(req.Protocol, &m.classic.protocols[0].name) {
		return wire.InconsistentGroupProtocol
	}
	if g.consumer.epoch > m.epoch && m.state != memberUnrevoked {
		return c.mustRejoin(m)
	}
	return wire.None
}

// mustRejoin gives the member its rebalance timeout to join again, if it was not told before.
func (c *Coordinator) mustRejoin(m *consumerMember) wire.ErrorCode {
	if !m.rebalance.armed() {
		c.timers.arm(&m.rebalance, c.after(int64(m.rebalanceTimeoutMS)))
	}
	return wire.RebalanceInProgress
}

// heartbeatConsumerGroup is the answer to a Heartbeat to a consumer group.
func (c *Coordinator) heartbeatConsumerGroup(g *group, req *kmsg.HeartbeatRequest) wire.ErrorCode {
	cg := g.consumer
	m, code := cg.classicMemberOf(g.id, req.MemberID, req.InstanceID, req.Generation)
	if code != wire.None {
		return code
	}
	c.timers.arm(&m.session, c.after(int64(m.classic.sessionTimeoutMS)))
	if m.epoch < cg.epoch || m.state == memberUnrevoked || m.state == memberUnreleased && !cg.waitsForOthers(m) {
		return c.mustRejoin(m)
	}
	return wire.None
}

// waitsForOthers reports whether a partition that m shall have is not given up yet.
func (cg *consumerGroup) waitsForOthers(m *consumerMember) bool {
	return len(m.target.Minus(m.assigned).Filter(func(topic wire.TopicID, p int32) bool {
		return cg.owners[topicPartition{topic, p}] != nil
	})) > 0
}

// leaveConsumerGroup takes a LeaveGroup to a consumer group; members of either protocol can be named, also by an
// administrator with the instance id alone.
func (c *Coordinator) leaveConsumerGroup(h Handle, g *group, req *kmsg.LeaveGroupRequest, resp *kmsg.LeaveGroupResponse) {
	var left []*consumerMember
	seen := map[*consumerMember]bool{}
	for i := range req.Members {
		who := &req.Members[i]
		m, code := g.consumer.namedToLeave(g.id, who)
		resp.Members = append(resp.Members, leaveMemberResponse(who, code))
		if code == wire.None && !seen[m] {
			left, seen[m] = append(left, m), true
		}
	}
	c.fence(g, left, delayedReply{handle: h, req: req, resp: foldLeave(resp)})
}

func (cg *consumerGroup) namedToLeave(group string, who *kmsg.LeaveGroupRequestMember) (*consumerMember, wire.ErrorCode) {
	if who.InstanceID != nil && who.MemberID == "" {
		if m := cg.static[*who.InstanceID]; m != nil {
			return m, wire.None
		}
		return nil, wire.UnknownMemberID
	}
	m, r := cg.memberOf(group, who.MemberID, who.InstanceID)
	return m, r.code
}
