package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var offsetCommitRow = row{key: wire.KeyOffsetCommit, min: 2, max: 9, handle: on(offsetCommit),
	authorize: ofGroup(readGroup, func(req *kmsg.OffsetCommitRequest) string { return req.Group })}

// offsetCommit lets the coordinator see the partitions that exist, and answers for the others itself. The coordinator
// answers topic by topic, in the request's order.
func offsetCommit(b Broker, r *Request, req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	known := *req
	known.Topics = nil
	var places []int // where in resp.Topics each of known.Topics is answered
	for i := range req.Topics {
		if !r.may(b, readTopic, req.Topics[i].Topic) {
			resp.Topics[i] = refusedCommits(&req.Topics[i], unauthorizedTopic.code)
			continue
		}
		exist, answer := existingCommits(b, &req.Topics[i])
		resp.Topics[i] = answer
		if len(exist.Partitions) > 0 {
			known.Topics, places = append(known.Topics, exist), append(places, i)
		}
	}
	if len(known.Topics) == 0 {
		return resp // as Kafka, which does not look at the group either
	}
	for k, t := range b.Coordinate(req.Group, r.Client, &known).(*kmsg.OffsetCommitResponse).Topics {
		place := &resp.Topics[places[k]]
		place.Partitions = append(place.Partitions, t.Partitions...)
	}
	return resp
}

// existingCommits splits a topic's partitions into those that exist and the answer to the others.
func existingCommits(b Broker, t *kmsg.OffsetCommitRequestTopic) (exist kmsg.OffsetCommitRequestTopic, answer kmsg.OffsetCommitResponseTopic) {
	exist, answer = *t, kmsg.NewOffsetCommitResponseTopic()
	answer.Topic = t.Topic
	var missing []int32
	exist.Partitions, missing = splitExisting(b, t.Topic, t.Partitions, func(p kmsg.OffsetCommitRequestTopicPartition) int32 { return p.Partition })
	for _, p := range missing {
		answer.Partitions = append(answer.Partitions, refusedCommit(p, wire.UnknownTopicOrPartition))
	}
	return exist, answer
}

func refusedCommits(t *kmsg.OffsetCommitRequestTopic, code wire.ErrorCode) kmsg.OffsetCommitResponseTopic {
	answer := kmsg.NewOffsetCommitResponseTopic()
	answer.Topic, answer.TopicID = t.Topic, t.TopicID
	for j := range t.Partitions {
		answer.Partitions = append(answer.Partitions, refusedCommit(t.Partitions[j].Partition, code))
	}
	return answer
}

func refusedCommit(partition int32, code wire.ErrorCode) kmsg.OffsetCommitResponseTopicPartition {
	p := kmsg.NewOffsetCommitResponseTopicPartition()
	p.Partition, p.ErrorCode = partition, int16(code)
	return p
}
