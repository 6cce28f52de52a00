package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var heartbeatRow = row{key: wire.KeyHeartbeat, min: 0, max: 4, handle: on(heartbeat),
	authorize: ofGroup(readGroup, func(req *kmsg.HeartbeatRequest) string { return req.Group })}

func heartbeat(b Broker, r *Request, req *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.HeartbeatResponse)
}
