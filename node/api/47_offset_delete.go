package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var offsetDeleteRow = row{key: wire.KeyOffsetDelete, min: 0, max: 0, handle: on(offsetDelete),
	authorize: ofGroup(deleteGroup, func(req *kmsg.OffsetDeleteRequest) string { return req.Group })}

// offsetDelete is offsetCommit's counterpart, but that the coordinator is always asked: a group that is not there is
// told of first.
func offsetDelete(b Broker, r *Request, req *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	known := *req
	known.Topics = nil
	topics := make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	var places []int // where in topics each of known.Topics is answered
	for i := range req.Topics {
		exist, answer := existingDeletes(b, &req.Topics[i])
		if !r.may(b, readTopic, req.Topics[i].Topic) {
			exist.Partitions, answer = nil, refusedDeletes(&req.Topics[i], unauthorizedTopic.code)
		}
		topics[i] = answer
		if len(exist.Partitions) > 0 {
			known.Topics, places = append(known.Topics, exist), append(places, i)
		}
	}
	resp := b.Coordinate(req.Group, r.Client, &known).(*kmsg.OffsetDeleteResponse)
	if resp.ErrorCode != 0 {
		return resp
	}
	for k, t := range resp.Topics {
		topics[places[k]].Partitions = append(topics[places[k]].Partitions, t.Partitions...)
	}
	resp.Topics = topics
	return resp
}

// existingDeletes splits a topic's partitions into those that exist and the answer to the others.
func existingDeletes(b Broker, t *kmsg.OffsetDeleteRequestTopic) (exist kmsg.OffsetDeleteRequestTopic, answer kmsg.OffsetDeleteResponseTopic) {
	exist.Topic, answer.Topic = t.Topic, t.Topic
	var missing []int32
	exist.Partitions, missing = splitExisting(b, t.Topic, t.Partitions, func(p kmsg.OffsetDeleteRequestTopicPartition) int32 { return p.Partition })
	for _, p := range missing {
		refused := kmsg.NewOffsetDeleteResponseTopicPartition()
		refused.Partition, refused.ErrorCode = p, int16(wire.UnknownTopicOrPartition)
		answer.Partitions = append(answer.Partitions, refused)
	}
	return exist, answer
}

func refusedDeletes(t *kmsg.OffsetDeleteRequestTopic, code wire.ErrorCode) kmsg.OffsetDeleteResponseTopic {
	answer := kmsg.NewOffsetDeleteResponseTopic()
	answer.Topic = t.Topic
	for i := range t.Partitions {
		p := kmsg.NewOffsetDeleteResponseTopicPartition()
		p.Partition, p.ErrorCode = t.Partitions[i].Partition, int16(code)
		answer.Partitions = append(answer.Partitions, p)
	}
	return answer
}
