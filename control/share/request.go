package share

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is what asks a share coordinator of another node for one operation: Operations reads it.
func Request(op Operation) kmsg.Request {
	group, topic, partition := op.Key.Group, op.Key.Topic, int32(op.Key.Partition)
	switch op.Kind {
	case Initialize:
		return &kmsg.InitializeShareGroupStateRequest{GroupID: group, Topics: []kmsg.InitializeShareGroupStateRequestTopic{{
			TopicID: topic, Partitions: []kmsg.InitializeShareGroupStateRequestTopicPartition{{
				Partition: partition, StateEpoch: op.StateEpoch, StartOffset: int64(op.StartOffset),
			}},
		}}}
	case Read:
		return &kmsg.ReadShareGroupStateRequest{GroupID: group, Topics: []kmsg.ReadShareGroupStateRequestTopic{{
			TopicID: topic, Partitions: []kmsg.ReadShareGroupStateRequestTopicPartition{{Partition: partition, LeaderEpoch: op.LeaderEpoch}},
		}}}
	case Write:
		return &kmsg.WriteShareGroupStateRequest{GroupID: group, Topics: []kmsg.WriteShareGroupStateRequestTopic{{
			TopicID: topic, Partitions: []kmsg.WriteShareGroupStateRequestTopicPartition{{
				Partition: partition, StateEpoch: op.StateEpoch, LeaderEpoch: op.LeaderEpoch, StartOffset: int64(op.StartOffset),
				StateBatches: writeBatches(op.Batches),
			}},
		}}}
	case Delete:
		return &kmsg.DeleteShareGroupStateRequest{GroupID: group, Topics: []kmsg.DeleteShareGroupStateRequestTopic{{
			TopicID: topic, Partitions: []kmsg.DeleteShareGroupStateRequestTopicPartition{{Partition: partition}},
		}}}
	case ReadSummary:
		return &kmsg.ReadShareGroupStateSummaryRequest{GroupID: group, Topics: []kmsg.ReadShareGroupStateSummaryRequestTopic{{
			TopicID: topic, Partitions: []kmsg.ReadShareGroupStateSummaryRequestTopicPartition{{Partition: partition, LeaderEpoch: op.LeaderEpoch}},
		}}}
	}
	panic(fmt.Sprintf("BUG: operation of kind %d", op.Kind))
}

func writeBatches(in []StateBatch) []kmsg.WriteShareGroupStateRequestTopicPartitionStateBatch {
	out := make([]kmsg.WriteShareGroupStateRequestTopicPartitionStateBatch, len(in))
	for i, b := range in {
		out[i].FirstOffset, out[i].LastOffset = int64(b.First), int64(b.Last)
		out[i].DeliveryState, out[i].DeliveryCount = int8(b.State), b.Deliveries
	}
	return out
}

// ResultOf reads the answer to a Request; one that says nothing is UNKNOWN_SERVER_ERROR.
func ResultOf(resp kmsg.Response) Result {
	none := refuse(wire.UnknownServerError, "the share coordinator's answer is empty")
	switch all := resp.(type) {
	case *kmsg.InitializeShareGroupStateResponse:
		if len(all.Topics) == 1 && len(all.Topics[0].Partitions) == 1 {
			p := &all.Topics[0].Partitions[0]
			return outcome(p.ErrorCode, p.ErrorMessage)
		}
	case *kmsg.ReadShareGroupStateResponse:
		if len(all.Topics) == 1 && len(all.Topics[0].Partitions) == 1 {
			p := &all.Topics[0].Partitions[0]
			r := outcome(p.ErrorCode, p.ErrorMessage)
			r.StateEpoch, r.StartOffset, r.Batches = p.StateEpoch, wire.Offset(p.StartOffset), readBatches(p.StateBatches)
			return r
		}
	case *kmsg.WriteShareGroupStateResponse:
		if len(all.Topics) == 1 && len(all.Topics[0].Partitions) == 1 {
			p := &all.Topics[0].Partitions[0]
			return outcome(p.ErrorCode, p.ErrorMessage)
		}
	case *kmsg.DeleteShareGroupStateResponse:
		if len(all.Topics) == 1 && len(all.Topics[0].Partitions) == 1 {
			p := &all.Topics[0].Partitions[0]
			return outcome(p.ErrorCode, p.ErrorMessage)
		}
	case *kmsg.ReadShareGroupStateSummaryResponse:
		if len(all.Topics) == 1 && len(all.Topics[0].Partitions) == 1 {
			p := &all.Topics[0].Partitions[0]
			r := outcome(p.ErrorCode, p.ErrorMessage)
			r.StateEpoch, r.LeaderEpoch, r.StartOffset = p.StateEpoch, p.LeaderEpoch, wire.Offset(p.StartOffset)
			return r
		}
	}
	return none
}

func outcome(code int16, message *string) Result {
	r := Result{Code: wire.ErrorCode(code)}
	if message != nil {
		r.Message = *message
	}
	return r
}

func readBatches(in []kmsg.ReadShareGroupStateResponseTopicPartitionStateBatch) (out []StateBatch) {
	for _, b := range in {
		out = append(out, StateBatch{wire.Offset(b.FirstOffset), wire.Offset(b.LastOffset), RecordState(b.DeliveryState), b.DeliveryCount})
	}
	return out
}
