package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var leaveGroupRow = row{key: wire.KeyLeaveGroup, min: 0, max: 5, handle: on(leaveGroup),
	authorize: ofGroup(readGroup, func(req *kmsg.LeaveGroupRequest) string { return req.Group })}

func leaveGroup(b Broker, r *Request, req *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.LeaveGroupResponse)
}
