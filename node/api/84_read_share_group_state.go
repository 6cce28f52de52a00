package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// ReadShareGroupState reads the states of share partitions, as the leader of theirs: between nodes, and for administrators.
var readShareGroupStateRow = row{key: wire.KeyReadShareGroupState, min: 0, max: 0, handle: on(readShareGroupState), authorize: inCluster(actForCluster, refusedShareState)}

func readShareGroupState(b Broker, _ *Request, req *kmsg.ReadShareGroupStateRequest) kmsg.Response {
	return b.ShareState(req)
}
