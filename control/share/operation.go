package share

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OperationKind is what an Operation does to the state of a key.
type OperationKind uint8

// The kinds of operations, each an API of its own.
const (
	Initialize  OperationKind = iota // InitializeShareGroupState: begin anew at StartOffset under StateEpoch
	Read                             // ReadShareGroupState: by a leader, whose LeaderEpoch is noted
	Write                            // WriteShareGroupState: Batches have changed, StartOffset has moved
	Delete                           // DeleteShareGroupState: forget the key
	ReadSummary                      // ReadShareGroupStateSummary: without batches, by anybody
)

// Operation is what a request asks of the share coordinator for one key. An epoch of -1, and a start offset of -1 in a Write,
// mean "as it is". A start offset of -1 in an Initialize means that the group has none yet.
type Operation struct {
	Kind                    OperationKind
	Key                     Key
	StateEpoch, LeaderEpoch int32
	StartOffset             wire.Offset
	Batches                 []StateBatch
}

// Result is the answer to one Operation. The offsets, epochs and batches are those of a Read or, without the batches, of a
// ReadSummary.
type Result struct {
	Code                    wire.ErrorCode
	Message                 string
	StateEpoch, LeaderEpoch int32
	StartOffset             wire.Offset
	Batches                 []StateBatch
}

// Operations gives what a request of API keys 83 to 87 asks for, in its order. As in Kafka, a request without a group, or with
// a topic without partitions, asks for nothing.
func Operations(req kmsg.Request) []Operation {
	var list operations
	switch r := req.(type) {
	case *kmsg.InitializeShareGroupStateRequest:
		list.group = r.GroupID
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				list.add(Operation{Kind: Initialize, StateEpoch: p.StateEpoch, StartOffset: wire.Offset(p.StartOffset)}, t.TopicID, p.Partition)
			}
		}
		return list.all // a topic without partitions is no reason to refuse the others, here alone
	case *kmsg.ReadShareGroupStateRequest:
		list.group = r.GroupID
		for _, t := range r.Topics {
			list.topic(len(t.Partitions))
			for _, p := range t.Partitions {
				list.add(Operation{Kind: Read, LeaderEpoch: p.LeaderEpoch}, t.TopicID, p.Partition)
			}
		}
	case *kmsg.WriteShareGroupStateRequest:
		list.group = r.GroupID
		for _, t := range r.Topics {
			list.topic(len(t.Partitions))
			for _, p := range t.Partitions {
				list.add(Operation{
					Kind: Write, StateEpoch: p.StateEpoch, LeaderEpoch: p.LeaderEpoch, StartOffset: wire.Offset(p.StartOffset),
					Batches: requestBatches(p.StateBatches),
				}, t.TopicID, p.Partition)
			}
		}
	case *kmsg.DeleteShareGroupStateRequest:
		list.group = r.GroupID
		for _, t := range r.Topics {
			list.topic(len(t.Partitions))
			for _, p := range t.Partitions {
				list.add(Operation{Kind: Delete}, t.TopicID, p.Partition)
			}
		}
	case *kmsg.ReadShareGroupStateSummaryRequest:
		list.group = r.GroupID
		for _, t := range r.Topics {
			list.topic(len(t.Partitions))
			for _, p := range t.Partitions {
				list.add(Operation{Kind: ReadSummary, LeaderEpoch: p.LeaderEpoch}, t.TopicID, p.Partition)
			}
		}
	default:
		panic(fmt.Sprintf("BUG: the share coordinator does not serve %T", req))
	}
	if list.bare {
		return nil
	}
	return list.all
}

// operations gathers the operations of one request.
type operations struct {
	group string
	bare  bool // a topic has no partitions
	all   []Operation
}

func (l *operations) topic(partitions int) { l.bare = l.bare || partitions == 0 }

func (l *operations) add(op Operation, topic wire.TopicID, partition int32) {
	if l.group == "" {
		return
	}
	op.Key = Key{Group: l.group, Topic: topic, Partition: wire.PartitionIndex(partition)}
	l.all = append(l.all, op)
}

func requestBatches(in []kmsg.WriteShareGroupStateRequestTopicPartitionStateBatch) []StateBatch {
	out := make([]StateBatch, len(in))
	for i, b := range in {
		out[i] = StateBatch{wire.Offset(b.FirstOffset), wire.Offset(b.LastOffset), RecordState(b.DeliveryState), b.DeliveryCount}
	}
	return out
}
