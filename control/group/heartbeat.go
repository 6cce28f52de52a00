package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeatAnswer keeps a heartbeat's answer and the slice that carries it in one allocation. Heartbeats are most of what
// a coordinator sees.
type heartbeatAnswer struct {
	response kmsg.HeartbeatResponse
	replies  [1]Reply
}

// heartbeat takes a Heartbeat of version 0 to 4.
func (c *Coordinator) heartbeat(h Handle, req *kmsg.HeartbeatRequest) Effects {
	a := &heartbeatAnswer{}
	a.response.Version = req.Version
	a.response.ErrorCode = int16(c.heartbeatCode(req))
	a.replies[0] = Reply{Handle: h, Response: &a.response}
	c.fx.Replies = a.replies[:]
	return c.end()
}

func (c *Coordinator) heartbeatCode(req *kmsg.HeartbeatRequest) wire.ErrorCode {
	if req.Group == "" {
		return wire.InvalidGroupID
	}
	g := c.lookup(req.Group)
	if g == nil {
		return wire.UnknownMemberID
	}
	if g.state == Dead {
		return wire.CoordinatorNotAvailable
	}
	if g.consumer != nil {
		return c.heartbeatConsumerGroup(g, req)
	}
	if code := g.validateMember(req.MemberID, req.InstanceID); code != wire.None {
		return code
	}
	if req.Generation != g.generation {
		return wire.IllegalGeneration
	}
	m := g.members[req.MemberID]
	c.extendSession(m, m.sessionTimeoutMS)
	if g.state == PreparingRebalance {
		return wire.RebalanceInProgress
	}
	return wire.None
}
