package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// WriteShareGroupState changes the states of share partitions: between nodes, and for administrators.
var writeShareGroupStateRow = row{key: wire.KeyWriteShareGroupState, min: 0, max: 0, handle: on(writeShareGroupState), authorize: inCluster(actForCluster, refusedShareState)}

func writeShareGroupState(b Broker, _ *Request, req *kmsg.WriteShareGroupStateRequest) kmsg.Response {
	return b.ShareState(req)
}
