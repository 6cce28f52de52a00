package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var offsetForLeaderEpochRow = row{key: wire.KeyOffsetForLeaderEpoch, min: 2, max: 4, handle: on(offsetForLeaderEpoch)}

// offsetForLeaderEpoch tells where an epoch ended, so that a consumer finds out whether what it read was truncated
// (KIP-320).
func offsetForLeaderEpoch(b Broker, _ *Request, req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	resp.Topics = make([]kmsg.OffsetForLeaderEpochResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		resp.Topics[i].Topic = t.Topic
		resp.Topics[i].Partitions = make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			resp.Topics[i].Partitions[j] = epochEnd(b, t.Topic, &t.Partitions[j])
		}
	}
	return resp
}

func epochEnd(b Broker, topic string, q *kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	out.Partition, out.LeaderEpoch, out.EndOffset = q.Partition, int32(wire.NoLeaderEpoch), int64(wire.NoOffset)
	p, code := leaderOf(b, topic, wire.PartitionIndex(q.Partition), wire.LeaderEpoch(q.CurrentLeaderEpoch))
	out.ErrorCode = int16(code)
	if code == wire.None && q.LeaderEpoch >= 0 {
		epoch, end := p.EndOffsetForEpoch(wire.LeaderEpoch(q.LeaderEpoch))
		out.LeaderEpoch, out.EndOffset = int32(epoch), int64(end)
	}
	return out
}
