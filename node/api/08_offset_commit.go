package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var offsetCommitRow = row{wire.KeyOffsetCommit, 2, 9, on(offsetCommit)}

// offsetCommit lets the coordinator see only partitions that exist, and answers for the others. What is asked for in the
// same topic entry is answered in one.
func offsetCommit(b Broker, r *Request, req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	known := *req
	known.Topics = nil
	var from []int // the index in req.Topics of each of known.Topics
	for i := range req.Topics {
		t := &req.Topics[i]
		resp.Topics[i].Topic = t.Topic
		exist := *t
		exist.Partitions = nil
		count := partitionCount(b, t.Topic)
		for _, p := range t.Partitions {
			if p.Partition >= 0 && p.Partition < count {
				exist.Partitions = append(exist.Partitions, p)
				continue
			}
			resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, refusedCommit(p.Partition, wire.UnknownTopicOrPartition))
		}
		if len(exist.Partitions) > 0 {
			known.Topics = append(known.Topics, exist)
			from = append(from, i)
		}
	}
	if len(known.Topics) == 0 && len(req.Topics) > 0 {
		return resp
	}
	answered := b.Coordinate(req.Group, r.Client, &known).(*kmsg.OffsetCommitResponse)
	resp.ThrottleMillis = answered.ThrottleMillis
	for k := range answered.Topics {
		t := &resp.Topics[from[k]]
		t.Partitions = append(t.Partitions, answered.Topics[k].Partitions...)
	}
	return resp
}

func refusedCommit(partition int32, code wire.ErrorCode) kmsg.OffsetCommitResponseTopicPartition {
	p := kmsg.NewOffsetCommitResponseTopicPartition()
	p.Partition, p.ErrorCode = partition, int16(code)
	return p
}

// partitionCount is 0 for a topic that does not exist.
func partitionCount(b Broker, topic string) int32 {
	if t := b.Image().ByName(topic); t != nil {
		return t.Partitions
	}
	return 0
}
