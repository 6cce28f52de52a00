package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var syncGroupRow = row{key: wire.KeySyncGroup, min: 0, max: 5, handle: on(syncGroup),
	authorize: ofGroup(readGroup, func(req *kmsg.SyncGroupRequest) string { return req.Group })}

func syncGroup(b Broker, r *Request, req *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.SyncGroupResponse)
}
