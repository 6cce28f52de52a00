package share

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Response puts together what a request is answered from the results of its operations, which are in their order.
func Response(req kmsg.Request, ops []Operation, results []Result) kmsg.Response {
	if len(ops) != len(results) {
		panic(fmt.Sprintf("BUG: %d results of %d operations", len(results), len(ops)))
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	for i := range ops {
		first := i == 0 || ops[i].Key.Topic != ops[i-1].Key.Topic
		addResult(resp, first, &ops[i], &results[i])
	}
	return resp
}

// addResult adds one partition to an answer; first begins a topic with it.
func addResult(resp kmsg.Response, first bool, op *Operation, r *Result) {
	code, message, partition := int16(r.Code), r.message(), int32(op.Key.Partition)
	switch all := resp.(type) {
	case *kmsg.InitializeShareGroupStateResponse:
		p := kmsg.NewInitializeShareGroupStateResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = partition, code, message
		t := topicOf(&all.Topics, first, kmsg.InitializeShareGroupStateResponseTopic{TopicID: op.Key.Topic})
		t.Partitions = append(t.Partitions, p)
	case *kmsg.ReadShareGroupStateResponse:
		p := kmsg.NewReadShareGroupStateResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = partition, code, message
		p.StateEpoch, p.StartOffset, p.StateBatches = r.StateEpoch, int64(r.StartOffset), responseBatches(r.Batches)
		t := topicOf(&all.Topics, first, kmsg.ReadShareGroupStateResponseTopic{TopicID: op.Key.Topic})
		t.Partitions = append(t.Partitions, p)
	case *kmsg.WriteShareGroupStateResponse:
		p := kmsg.NewWriteShareGroupStateResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = partition, code, message
		t := topicOf(&all.Topics, first, kmsg.WriteShareGroupStateResponseTopic{TopicID: op.Key.Topic})
		t.Partitions = append(t.Partitions, p)
	case *kmsg.DeleteShareGroupStateResponse:
		p := kmsg.NewDeleteShareGroupStateResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = partition, code, message
		t := topicOf(&all.Topics, first, kmsg.DeleteShareGroupStateResponseTopic{TopicID: op.Key.Topic})
		t.Partitions = append(t.Partitions, p)
	case *kmsg.ReadShareGroupStateSummaryResponse:
		p := kmsg.NewReadShareGroupStateSummaryResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = partition, code, message
		p.StateEpoch, p.LeaderEpoch, p.StartOffset = r.StateEpoch, r.LeaderEpoch, int64(r.StartOffset)
		t := topicOf(&all.Topics, first, kmsg.ReadShareGroupStateSummaryResponseTopic{TopicID: op.Key.Topic})
		t.Partitions = append(t.Partitions, p)
	}
}

// topicOf is the topic that the next partition belongs to: a new one, or the last.
func topicOf[T any](topics *[]T, first bool, topic T) *T {
	if first {
		*topics = append(*topics, topic)
	}
	return &(*topics)[len(*topics)-1]
}

// message is null where there is no fault.
func (r *Result) message() *string {
	if r.Code == wire.None {
		return nil
	}
	return &r.Message
}

func responseBatches(in []StateBatch) []kmsg.ReadShareGroupStateResponseTopicPartitionStateBatch {
	out := make([]kmsg.ReadShareGroupStateResponseTopicPartitionStateBatch, len(in))
	for i, b := range in {
		out[i].FirstOffset, out[i].LastOffset = int64(b.First), int64(b.Last)
		out[i].DeliveryState, out[i].DeliveryCount = int8(b.State), b.Deliveries
	}
	return out
}

// refuse is the result of an operation that is turned down.
func refuse(code wire.ErrorCode, message string) Result {
	return Result{Code: code, Message: message}
}

// Refuse is the answer that turns every operation of a request down with code: for a caller that has no coordinator for
// them.
func Refuse(req kmsg.Request, code wire.ErrorCode, message string) kmsg.Response {
	ops := Operations(req)
	results := make([]Result, len(ops))
	for i := range results {
		results[i] = refuse(code, message)
	}
	return Response(req, ops, results)
}
