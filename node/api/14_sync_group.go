package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var syncGroupRow = row{wire.KeySyncGroup, 0, 5, on(syncGroup)}

func syncGroup(b Broker, r *Request, req *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.SyncGroupResponse)
}
