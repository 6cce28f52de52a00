package group

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shareGroupHeartbeat takes a ShareGroupHeartbeat of version 1 (KIP-932): a member joins with epoch 0, says that it lives,
// learns what it reads, and leaves with epoch -1.
func (c *Coordinator) shareGroupHeartbeat(h Handle, cl Client, req *kmsg.ShareGroupHeartbeatRequest) {
	r := c.checkShareHeartbeat(req)
	switch {
	case r != accepted:
	case req.MemberEpoch == memberLeaves:
		r = c.shareGroupLeave(h, req)
	default:
		r = c.shareGroupBeat(h, cl, req)
	}
	if r != accepted {
		resp := kmsg.NewPtrShareGroupHeartbeatResponse()
		resp.Version, resp.ErrorCode, resp.ErrorMessage = req.Version, int16(r.code), r.text()
		c.reply(h, resp)
	}
}

// checkShareHeartbeat judges the request by itself.
func (c *Coordinator) checkShareHeartbeat(req *kmsg.ShareGroupHeartbeatRequest) refusal {
	switch {
	case isBlank(&req.MemberID):
		return refuse(wire.InvalidRequest, "MemberId can't be empty.")
	case isBlank(&req.GroupID):
		return refuse(wire.InvalidRequest, "GroupId can't be empty.")
	case isBlank(req.RackID):
		return refuse(wire.InvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch == memberJoins && len(req.SubscribedTopicNames) == 0:
		return refuse(wire.InvalidRequest, "SubscribedTopicNames must be set in first request.")
	case req.MemberEpoch < memberLeaves:
		return refuse(wire.InvalidRequest, "MemberEpoch is invalid.")
	case !c.mayAppend():
		return refusal{code: wire.CoordinatorLoadInProgress}
	}
	return accepted
}

// shareGroupBeat serves a member that joins or lives: what it says of itself, which may begin an epoch; the targets of a
// new epoch; its own step to its target; and the state of partitions that the group has not read before.
func (c *Coordinator) shareGroupBeat(h Handle, cl Client, req *kmsg.ShareGroupHeartbeatRequest) refusal {
	g, m, r := c.findSharer(req)
	if r != accepted {
		return r
	}
	if g == nil {
		if g = c.createGroup(req.GroupID); g == nil {
			return refuse(wire.GroupMaxSizeReached, "There are as many groups as there may be.")
		}
		g.share, g.protocolType = newShareGroup(), shareType
	}
	if m == nil {
		m = newShareMember(req.MemberID, g)
		c.insertShareMember(g, m)
	}
	assigned := m.assigned
	changed := c.takeShareMetadata(g, m, cl, req)
	c.refreshShareTopics(g, changed)
	if g.share.epoch > g.share.targetEpoch {
		c.assignShareTargets(g)
	}
	c.reconcileShare(g, m)
	c.timers.arm(&m.session, c.after(int64(c.configOf(g.id).ShareSessionTimeoutMS)))
	resp := c.shareAnswer(g, m, req, !m.assigned.Equal(assigned))
	c.settle(g, delayedReply{handle: h, req: req, resp: resp, call: c.initializeShares(g)})
	return accepted
}

// findSharer finds the group and the member; nil is what is to be made.
func (c *Coordinator) findSharer(req *kmsg.ShareGroupHeartbeatRequest) (*group, *shareMember, refusal) {
	g, joins := c.lookup(req.GroupID), req.MemberEpoch == memberJoins
	switch {
	case g == nil && !joins:
		return nil, nil, refuse(wire.GroupIDNotFound, "Share group %s not found.", req.GroupID)
	case g == nil:
		return nil, nil, c.roomForShare(req)
	case g.state == Dead:
		return nil, nil, refusal{code: wire.CoordinatorNotAvailable}
	case g.share == nil:
		return nil, nil, refuse(wire.GroupIDNotFound, "Group %s is not a share group.", req.GroupID)
	}
	m := g.share.members[req.MemberID]
	switch {
	case m != nil:
		return g, m, m.checkEpoch(req.MemberEpoch)
	case len(g.share.members) >= c.cfg.ShareMaxSize:
		return g, nil, refuse(wire.GroupMaxSizeReached, "The share group has reached its maximum capacity of %d members.", c.cfg.ShareMaxSize)
	case !joins:
		return g, nil, unknownSharer(req)
	}
	return g, nil, c.roomForShare(req)
}

func unknownSharer(req *kmsg.ShareGroupHeartbeatRequest) refusal {
	return refuse(wire.UnknownMemberID, "Member %s is not a member of group %s.", req.MemberID, req.GroupID)
}

func (c *Coordinator) roomForShare(req *kmsg.ShareGroupHeartbeatRequest) refusal {
	bytes := int64(consumerMemberOverheadBytes)
	for _, name := range req.SubscribedTopicNames {
		bytes += int64(16 + len(name))
	}
	if !c.fits(bytes) {
		return refuse(wire.GroupMaxSizeReached, "The coordinator's memory is used up.")
	}
	return accepted
}

// checkEpoch judges the epoch that the heartbeat carries: the member's, or the one before.
func (m *shareMember) checkEpoch(received int32) refusal {
	switch {
	case received > m.epoch:
		return refuse(wire.FencedMemberEpoch, "The share group member has a greater member epoch (%d) than the one known by the "+
			"group coordinator (%d). The member must abandon all its partitions and rejoin.", received, m.epoch)
	case received < m.epoch && received != m.previousEpoch:
		return refuse(wire.FencedMemberEpoch, "The share group member has a smaller member epoch (%d) than the one known by the "+
			"group coordinator (%d), and it does not match the previous member epoch (%d). The member must abandon all its "+
			"partitions and rejoin.", received, m.epoch, m.previousEpoch)
	}
	return accepted
}

// takeShareMetadata takes over what a member says of itself, and reports whether it reads other topics by that. What the
// request leaves out stays.
func (c *Coordinator) takeShareMetadata(g *group, m *shareMember, cl Client, req *kmsg.ShareGroupHeartbeatRequest) (changed bool) {
	md := m.shareMetadata
	md.client = cl
	if req.RackID != nil {
		md.rackID = req.RackID
	}
	if req.SubscribedTopicNames != nil {
		md.topics = sortedSet(req.SubscribedTopicNames)
	}
	changed = !slices.Equal(md.topics, m.topics)
	if changed || md.client != m.client || !sameText(md.rackID, m.rackID) {
		c.setShareMetadata(g, m, md)
	}
	return changed
}

// shareAnswer tells the member where it stands; what it reads only if it asked for that or if it changed.
func (c *Coordinator) shareAnswer(g *group, m *shareMember, req *kmsg.ShareGroupHeartbeatRequest, assignedChanged bool) *kmsg.ShareGroupHeartbeatResponse {
	resp := kmsg.NewPtrShareGroupHeartbeatResponse()
	resp.Version, resp.MemberID, resp.MemberEpoch = req.Version, &m.id, m.epoch
	resp.HeartbeatIntervalMillis = c.configOf(g.id).ShareHeartbeatIntervalMS
	if req.MemberEpoch != memberJoins && req.SubscribedTopicNames == nil && !assignedChanged {
		return resp
	}
	resp.Assignment = &kmsg.ShareGroupHeartbeatResponseAssignment{}
	for _, t := range m.assigned {
		resp.Assignment.TopicPartitions = append(resp.Assignment.TopicPartitions,
			kmsg.ShareGroupHeartbeatResponseAssignmentTopicPartition{TopicID: t.Topic, Partitions: t.Partitions})
	}
	return resp
}
