package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leaveGroup takes a LeaveGroup of version 0 to 5: one member, from version 3 on several. If the group is empty by that,
// the answer waits for its record.
func (c *Coordinator) leaveGroup(h Handle, req *kmsg.LeaveGroupRequest) {
	if req.Version < 3 {
		one := kmsg.NewLeaveGroupRequestMember()
		one.MemberID = req.MemberID
		req.Members = []kmsg.LeaveGroupRequestMember{one}
	}
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Version = req.Version
	g, code := c.checkLeave(req)
	if code != wire.None {
		c.reply(h, refuseLeave(resp, req, code))
		return
	}
	if g.consumer != nil {
		c.leaveConsumerGroup(h, g, req, resp)
		return
	}
	left := 0
	resp.Members = make([]kmsg.LeaveGroupResponseMember, len(req.Members))
	for i := range req.Members {
		code := c.leaveMember(g, &req.Members[i])
		resp.Members[i] = leaveMemberResponse(&req.Members[i], code)
		if code == wire.None {
			left++
		}
	}
	before := c.lastAppend
	if left > 0 {
		c.membersLeft(g)
	}
	if c.lastAppend != before { // the group is empty, and its record is under way
		c.appends[c.lastAppend] = leaveAppend{groupAppend{g}, h, req, resp}
		return
	}
	c.reply(h, foldLeave(resp))
}

func (c *Coordinator) checkLeave(req *kmsg.LeaveGroupRequest) (*group, wire.ErrorCode) {
	if req.Group == "" {
		return nil, wire.InvalidGroupID
	}
	g := c.lookup(req.Group)
	if g == nil {
		return nil, wire.UnknownMemberID
	}
	if g.state == Dead {
		return nil, wire.CoordinatorNotAvailable
	}
	return g, wire.None
}

// leaveMember removes one member, which is named by its id, or if that is empty by its instance id.
func (c *Coordinator) leaveMember(g *group, who *kmsg.LeaveGroupRequestMember) wire.ErrorCode {
	if who.MemberID == "" {
		if who.InstanceID == nil || g.static[*who.InstanceID] == nil {
			return wire.UnknownMemberID
		}
		c.removeMember(g, g.static[*who.InstanceID])
		return wire.None
	}
	if g.pending[who.MemberID] != nil {
		c.removePending(g, who.MemberID)
		return wire.None
	}
	if code := g.validateMember(who.MemberID, who.InstanceID); code != wire.None {
		return code
	}
	c.removeMember(g, g.members[who.MemberID])
	return wire.None
}

// membersLeft has the rest of the group rebalance.
func (c *Coordinator) membersLeft(g *group) {
	switch g.state {
	case Stable, CompletingRebalance:
		c.rebalanceOrComplete(g)
	case PreparingRebalance:
		c.maybeCompleteJoin(g)
	}
}

// leaveAppend is the record of a group that its last member left.
type leaveAppend struct {
	groupAppend
	handle Handle
	req    *kmsg.LeaveGroupRequest
	resp   *kmsg.LeaveGroupResponse
}

func (a leaveAppend) appended(c *Coordinator, code wire.ErrorCode) {
	a.groupAppend.appended(c, code)
	if code != wire.None {
		c.reply(a.handle, refuseLeave(a.resp, a.req, code))
		return
	}
	c.reply(a.handle, foldLeave(a.resp))
}

func leaveMemberResponse(who *kmsg.LeaveGroupRequestMember, code wire.ErrorCode) kmsg.LeaveGroupResponseMember {
	m := kmsg.NewLeaveGroupResponseMember()
	m.MemberID, m.InstanceID, m.ErrorCode = who.MemberID, who.InstanceID, int16(code)
	return m
}

// refuseLeave turns the whole request down. That the group is not known is said of each member.
func refuseLeave(resp *kmsg.LeaveGroupResponse, req *kmsg.LeaveGroupRequest, code wire.ErrorCode) *kmsg.LeaveGroupResponse {
	resp.Members = nil
	if code != wire.UnknownMemberID {
		resp.ErrorCode = int16(code)
		return resp
	}
	for i := range req.Members {
		resp.Members = append(resp.Members, leaveMemberResponse(&req.Members[i], code))
	}
	return foldLeave(resp)
}

// foldLeave makes the one member's code that of the answer where the version has no members.
func foldLeave(resp *kmsg.LeaveGroupResponse) *kmsg.LeaveGroupResponse {
	if resp.Version < 3 && len(resp.Members) == 1 {
		resp.ErrorCode, resp.Members = resp.Members[0].ErrorCode, nil
	}
	return resp
}
