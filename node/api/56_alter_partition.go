package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var alterPartitionRow = row{key: wire.KeyAlterPartition, min: 2, max: 3, hidden: true, handle: on(alterPartition), authorize: inCluster(actForCluster, refusedWhole)}

// alterPartition: a leader asks for a change of its in-sync set (KIP-497). The controller answers.
func alterPartition(b Broker, _ *Request, req *kmsg.AlterPartitionRequest) kmsg.Response {
	return b.Control(req)
}
