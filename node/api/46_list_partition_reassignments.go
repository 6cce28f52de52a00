package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var listPartitionReassignmentsRow = row{key: wire.KeyListPartitionReassignments, min: 0, max: 0, handle: on(listPartitionReassignments)}

// listPartitionReassignments: a node of its own has none under way. Topics that do not exist are no error, as in Kafka.
func listPartitionReassignments(b Broker, _ *Request, req *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	if b.Clustered() {
		return b.Control(req).(*kmsg.ListPartitionReassignmentsResponse)
	}
	return kmsg.NewPtrListPartitionReassignmentsResponse()
}
