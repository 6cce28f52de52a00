package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var listPartitionReassignmentsRow = row{wire.KeyListPartitionReassignments, 0, 0, on(listPartitionReassignments)}

// listPartitionReassignments: one node has none under way. Topics that do not exist are no error, as in Kafka.
func listPartitionReassignments(Broker, *Request, *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	return kmsg.NewPtrListPartitionReassignmentsResponse()
}
