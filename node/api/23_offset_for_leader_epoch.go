package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var offsetForLeaderEpochRow = row{key: wire.KeyOffsetForLeaderEpoch, min: 2, max: 4, handle: on(offsetForLeaderEpoch)}

// offsetForLeaderEpoch tells where an epoch ended, so that a consumer finds out whether what it read was truncated
// (KIP-320).
func offsetForLeaderEpoch(b Broker, r *Request, req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	node := r.allowsInCluster(b, actForCluster)
	resp.Topics = make([]kmsg.OffsetForLeaderEpochResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		resp.Topics[i].Topic = t.Topic
		resp.Topics[i].Partitions = make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, len(t.Partitions))
		allowed := node || r.may(b, describeTopic, t.Topic)
		for j := range t.Partitions {
			if allowed {
				resp.Topics[i].Partitions[j] = epochEnd(b, t.Topic, &t.Partitions[j])
			} else {
				resp.Topics[i].Partitions[j] = noEpochEnd(t.Partitions[j].Partition, unauthorizedTopic.code)
			}
		}
	}
	return resp
}

func epochEnd(b Broker, topic string, q *kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	p, code := leaderOf(b, topic, wire.PartitionIndex(q.Partition), wire.LeaderEpoch(q.CurrentLeaderEpoch))
	out := noEpochEnd(q.Partition, code)
	if code == wire.None && q.LeaderEpoch >= 0 {
		epoch, end := p.EndOffsetForEpoch(wire.LeaderEpoch(q.LeaderEpoch))
		out.LeaderEpoch, out.EndOffset = int32(epoch), int64(end)
	}
	return out
}

func noEpochEnd(partition int32, code wire.ErrorCode) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	out.Partition, out.ErrorCode, out.LeaderEpoch, out.EndOffset = partition, int16(code), int32(wire.NoLeaderEpoch), int64(wire.NoOffset)
	return out
}
