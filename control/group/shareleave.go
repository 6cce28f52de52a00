package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shareGroupLeave serves a member that leaves.
func (c *Coordinator) shareGroupLeave(h Handle, req *kmsg.ShareGroupHeartbeatRequest) refusal {
	g := c.lookup(req.GroupID)
	switch {
	case g == nil:
		return refuse(wire.GroupIDNotFound, "Group %s not found.", req.GroupID)
	case g.state == Dead:
		return refusal{code: wire.CoordinatorNotAvailable}
	case g.share == nil:
		return refuse(wire.GroupIDNotFound, "Group %s is not a share group.", req.GroupID)
	case g.share.members[req.MemberID] == nil:
		return unknownSharer(req)
	}
	resp := kmsg.NewPtrShareGroupHeartbeatResponse()
	resp.Version, resp.MemberID, resp.MemberEpoch = req.Version, &req.MemberID, memberLeaves
	c.fenceSharer(g, g.share.members[req.MemberID], delayedReply{handle: h, req: req, resp: resp})
	return accepted
}

// fenceSharer removes a member, which begins a new epoch. The others learn of it at their next heartbeats.
func (c *Coordinator) fenceSharer(g *group, m *shareMember, replies ...delayedReply) {
	c.deleteShareMember(g, m)
	g.share.uncovered = true
	c.bumpShareEpoch(g)
	c.settle(g, replies...)
}
