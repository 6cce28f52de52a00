package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var allocateProducerIDsRow = row{key: wire.KeyAllocateProducerIDs, min: 0, max: 0, hidden: true, handle: on(allocateProducerIDs), authorize: inCluster(actForCluster, refusedWhole)}

// allocateProducerIDs: a node asks for a block of producer ids (KIP-730). The controller answers.
func allocateProducerIDs(b Broker, _ *Request, req *kmsg.AllocateProducerIDsRequest) kmsg.Response {
	return b.Control(req)
}
