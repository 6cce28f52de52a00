package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/wire"
)

var txnOffsetCommitRow = row{key: wire.KeyTxnOffsetCommit, min: 0, max: 5, handle: on(txnOffsetCommit)}

// txnOffsetCommit lets the group's coordinator see the partitions that exist, and answers for the others itself, as
// offsetCommit does.
func txnOffsetCommit(b Broker, r *Request, req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	switch {
	case !r.may(b, writeTransaction, req.TransactionalID):
		return group.Refuse(req, unauthorizedTransaction.code).(*kmsg.TxnOffsetCommitResponse)
	case !r.may(b, readGroup, req.Group):
		return group.Refuse(req, unauthorizedGroup.code).(*kmsg.TxnOffsetCommitResponse)
	}
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(req.Topics))
	known := *req
	known.Topics = nil
	var places []int // where in resp.Topics each of known.Topics is answered
	for i := range req.Topics {
		if !r.may(b, readTopic, req.Topics[i].Topic) {
			resp.Topics[i] = refusedTxnCommits(&req.Topics[i], unauthorizedTopic.code)
			continue
		}
		exist, answer := existingTxnCommits(b, &req.Topics[i])
		resp.Topics[i] = answer
		if len(exist.Partitions) > 0 {
			known.Topics, places = append(known.Topics, exist), append(places, i)
		}
	}
	if len(known.Topics) == 0 {
		return resp
	}
	for k, t := range b.Coordinate(req.Group, r.Client, &known).(*kmsg.TxnOffsetCommitResponse).Topics {
		place := &resp.Topics[places[k]]
		place.Partitions = append(place.Partitions, t.Partitions...)
	}
	return resp
}

// existingTxnCommits splits a topic's partitions into those that exist and the answer to the others.
func existingTxnCommits(b Broker, t *kmsg.TxnOffsetCommitRequestTopic) (exist kmsg.TxnOffsetCommitRequestTopic, answer kmsg.TxnOffsetCommitResponseTopic) {
	exist, answer = *t, kmsg.NewTxnOffsetCommitResponseTopic()
	answer.Topic = t.Topic
	var missing []int32
	exist.Partitions, missing = splitExisting(b, t.Topic, t.Partitions, func(p kmsg.TxnOffsetCommitRequestTopicPartition) int32 { return p.Partition })
	for _, p := range missing {
		answer.Partitions = append(answer.Partitions, refusedTxnCommit(p, wire.UnknownTopicOrPartition))
	}
	return exist, answer
}

func refusedTxnCommit(partition int32, code wire.ErrorCode) kmsg.TxnOffsetCommitResponseTopicPartition {
	p := kmsg.NewTxnOffsetCommitResponseTopicPartition()
	p.Partition, p.ErrorCode = partition, int16(code)
	return p
}

func refusedTxnCommits(t *kmsg.TxnOffsetCommitRequestTopic, code wire.ErrorCode) kmsg.TxnOffsetCommitResponseTopic {
	answer := kmsg.NewTxnOffsetCommitResponseTopic()
	answer.Topic = t.Topic
	for i := range t.Partitions {
		answer.Partitions = append(answer.Partitions, refusedTxnCommit(t.Partitions[i].Partition, code))
	}
	return answer
}
