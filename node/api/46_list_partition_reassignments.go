package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var listPartitionReassignmentsRow = row{key: wire.KeyListPartitionReassignments, min: 0, max: 0, handle: on(listPartitionReassignments),
	authorize: inCluster(describeClusterNeed, refusedReassignmentList)}

// listPartitionReassignments: a node of its own has none under way. Topics that do not exist are no error, as in Kafka.
func listPartitionReassignments(b Broker, _ *Request, req *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	if b.Clustered() {
		return b.Control(req).(*kmsg.ListPartitionReassignmentsResponse)
	}
	return kmsg.NewPtrListPartitionReassignmentsResponse()
}

func refusedReassignmentList(req *kmsg.ListPartitionReassignmentsRequest, why refusal) kmsg.Response {
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	resp.ErrorCode, resp.ErrorMessage = int16(why.code), why.text()
	for i := range req.Topics {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		out.Topic = req.Topics[i].Topic
		for _, index := range req.Topics[i].Partitions {
			p := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			p.Partition = index
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
