package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// InitializeShareGroupState begins the states of share partitions: between nodes, and for administrators.
var initializeShareGroupStateRow = row{key: wire.KeyInitializeShareGroupState, min: 0, max: 0, handle: on(initializeShareGroupState)}

func initializeShareGroupState(b Broker, _ *Request, req *kmsg.InitializeShareGroupStateRequest) kmsg.Response {
	return b.ShareState(req)
}
