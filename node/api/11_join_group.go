package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var joinGroupRow = row{key: wire.KeyJoinGroup, min: 0, max: 9, handle: on(joinGroup),
	authorize: ofGroup(readGroup, func(req *kmsg.JoinGroupRequest) string { return req.Group })}

func joinGroup(b Broker, r *Request, req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.JoinGroupResponse)
}
