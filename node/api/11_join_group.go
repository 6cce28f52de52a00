package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var joinGroupRow = row{wire.KeyJoinGroup, 0, 9, on(joinGroup)}

func joinGroup(b Broker, r *Request, req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.JoinGroupResponse)
}
