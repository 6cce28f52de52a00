package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var listPartitionReassignmentsRow = row{key: wire.KeyListPartitionReassignments, min: 0, max: 0, handle: on(listPartitionReassignments)}

// listPartitionReassignments: one node has none under way. Topics that do not exist are no error, as in Kafka.
func listPartitionReassignments(Broker, *Request, *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	return kmsg.NewPtrListPartitionReassignmentsResponse()
}
