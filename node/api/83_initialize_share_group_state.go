package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/wire"
)

// InitializeShareGroupState begins the states of share partitions: between nodes, and for administrators.
var initializeShareGroupStateRow = row{key: wire.KeyInitializeShareGroupState, min: 0, max: 0, handle: on(initializeShareGroupState), authorize: inCluster(actForCluster, refusedShareState)}

// refusedShareState says of each partition of a request of keys 83 to 87 that it was refused.
func refusedShareState(req kmsg.Request, why refusal) kmsg.Response {
	return share.Refuse(req, why.code, why.message)
}

func initializeShareGroupState(b Broker, _ *Request, req *kmsg.InitializeShareGroupStateRequest) kmsg.Response {
	return b.ShareState(req)
}
