package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

// addPartitionsRow: version 4 and 5 are those of brokers (KIP-890); a client would have to know its transaction's version.
var addPartitionsRow = row{key: wire.KeyAddPartitionsToTxn, min: 0, max: 5, handle: on(addPartitionsToTxn)}

func addPartitionsToTxn(b Broker, r *Request, req *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	fromNode := req.Version >= addPartitionsOfNodesFrom
	if fromNode && !r.mayInCluster(b, actForCluster) {
		resp := kmsg.NewPtrAddPartitionsToTxnResponse()
		resp.ErrorCode = int16(unauthorizedCluster.code)
		return resp
	}
	parts := txn.Split(req)
	answers := make([]kmsg.Response, len(parts))
	for i, part := range parts {
		asked := part.Request.(*kmsg.AddPartitionsToTxnRequest)
		missing := missingPartitions(b, asked)
		if !fromNode {
			r.addUnwritable(b, asked, missing)
		}
		switch {
		case !fromNode && !r.may(b, writeTransaction, part.ID):
			answers[i] = txn.Refuse(asked, unauthorizedTransaction.code)
		case len(missing) > 0: // all or nothing
			answers[i] = refuseAddition(asked, missing)
		case part.ID == "":
			answers[i] = txn.Refuse(asked, wire.InvalidRequest)
		default:
			answers[i] = b.Transact(part.ID, asked)
		}
	}
	return txn.Merge(req, answers).(*kmsg.AddPartitionsToTxnResponse)
}

// addPartitionsOfNodesFrom is the first version that nodes send each other, for several transactions (KIP-890).
const addPartitionsOfNodesFrom = 4

// addUnwritable adds the partitions of topics that the client may not write to, and of those that are the nodes' own, to those that cannot
// be added.
func (r *Request) addUnwritable(b Broker, req *kmsg.AddPartitionsToTxnRequest, refused map[wire.TopicPartition]wire.ErrorCode) {
	if b.Authorizer() == nil {
		return
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		if !image.IsInternal(t.Topic) && r.may(b, writeTopic, t.Topic) {
			continue
		}
		for _, index := range t.Partitions {
			refused[wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(index)}] = unauthorizedTopic.code
		}
	}
}

// missingPartitions are those of a request for one transaction that do not exist, with the code that says so.
func missingPartitions(b Broker, req *kmsg.AddPartitionsToTxnRequest) map[wire.TopicPartition]wire.ErrorCode {
	missing := map[wire.TopicPartition]wire.ErrorCode{}
	look := func(topic string, partitions []int32) {
		_, absent := splitExisting(b, topic, partitions, func(p int32) int32 { return p })
		for _, p := range absent {
			missing[wire.TopicPartition{Topic: topic, Partition: wire.PartitionIndex(p)}] = wire.UnknownTopicOrPartition
		}
	}
	for i := range req.Topics {
		look(req.Topics[i].Topic, req.Topics[i].Partitions)
	}
	for i := range req.Transactions {
		for _, t := range req.Transactions[i].Topics {
			look(t.Topic, t.Partitions)
		}
	}
	return missing
}

// refuseAddition says which partitions are missing, and of the others that they were not added either.
func refuseAddition(req *kmsg.AddPartitionsToTxnRequest, missing map[wire.TopicPartition]wire.ErrorCode) *kmsg.AddPartitionsToTxnResponse {
	resp := txn.Refuse(req, wire.OperationNotAttempted).(*kmsg.AddPartitionsToTxnResponse)
	set := func(topic string, partition int32, code *int16) {
		if why, refused := missing[wire.TopicPartition{Topic: topic, Partition: wire.PartitionIndex(partition)}]; refused {
			*code = int16(why)
		}
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			set(t.Topic, t.Partitions[j].Partition, &t.Partitions[j].ErrorCode)
		}
	}
	for i := range resp.Transactions {
		for k := range resp.Transactions[i].Topics {
			t := &resp.Transactions[i].Topics[k]
			for j := range t.Partitions {
				set(t.Topic, t.Partitions[j].Partition, &t.Partitions[j].ErrorCode)
			}
		}
	}
	return resp
}
