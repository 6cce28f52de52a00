package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var alterPartitionReassignmentsRow = row{key: wire.KeyAlterPartitionReassignments, min: 0, max: 1, handle: on(alterPartitionReassignments),
	authorize: inCluster(alterCluster, refusedReassignments)}

// alterPartitionReassignments: what is assigned to a node of its own is there already, and there is no other node.
func alterPartitionReassignments(b Broker, _ *Request, req *kmsg.AlterPartitionAssignmentsRequest) *kmsg.AlterPartitionAssignmentsResponse {
	if b.Clustered() {
		return b.Control(req).(*kmsg.AlterPartitionAssignmentsResponse)
	}
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = t.Topic
		for j := range t.Partitions {
			why := reassign(b, t.Topic, &t.Partitions[j])
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = t.Partitions[j].Partition, int16(why.code), nullable(why.message)
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// reassign judges one partition's new replicas; none (null) mean that a reassignment under way is to end.
func reassign(b Broker, topic string, asked *kmsg.AlterPartitionAssignmentsRequestTopicPartition) refusal {
	t := b.Image().ByName(topic)
	switch {
	case t == nil:
		return refuse(wire.UnknownTopicOrPartition, "Unable to find a topic named %s.", topic)
	case asked.Partition < 0 || asked.Partition >= t.Partitions:
		return refuse(wire.UnknownTopicOrPartition, "Unable to find partition %s:%d.", topic, asked.Partition)
	case asked.Replicas == nil:
		return refusal{code: wire.NoReassignmentInProgress}
	}
	return checkReplicas(b, asked.Replicas)
}

func refusedReassignments(req *kmsg.AlterPartitionAssignmentsRequest, why refusal) kmsg.Response {
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.ErrorCode, resp.ErrorMessage = int16(why.code), why.text()
	for i := range req.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = req.Topics[i].Topic
		for _, asked := range req.Topics[i].Partitions {
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = asked.Partition, int16(why.code), why.text()
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
