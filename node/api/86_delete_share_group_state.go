package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// DeleteShareGroupState forgets the states of share partitions: between nodes, and for administrators.
var deleteShareGroupStateRow = row{key: wire.KeyDeleteShareGroupState, min: 0, max: 0, handle: on(deleteShareGroupState), authorize: inCluster(actForCluster, refusedShareState)}

func deleteShareGroupState(b Broker, _ *Request, req *kmsg.DeleteShareGroupStateRequest) kmsg.Response {
	return b.ShareState(req)
}
