package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var leaveGroupRow = row{wire.KeyLeaveGroup, 0, 5, on(leaveGroup)}

func leaveGroup(b Broker, r *Request, req *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.LeaveGroupResponse)
}
