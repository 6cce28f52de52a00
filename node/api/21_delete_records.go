package api

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var deleteRecordsRow = row{key: wire.KeyDeleteRecords, min: 0, max: 2, handle: on(deleteRecords)}

// deleteRecords raises log start offsets. A partition that is named more than once is answered once, and the last offset
// counts, as in Kafka.
func deleteRecords(b Broker, r *Request, req *kmsg.DeleteRecordsRequest) *kmsg.DeleteRecordsResponse {
	upTo := make(map[wire.TopicPartition]wire.Offset)
	refused := make(map[wire.TopicPartition]DeletedRecords)
	for _, t := range req.Topics {
		allowed := r.may(b, deleteTopicNeed, t.Topic)
		for _, p := range t.Partitions {
			tp := wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(p.Partition)}
			if allowed {
				upTo[tp] = wire.Offset(p.Offset)
			} else {
				refused[tp] = DeletedRecords{unauthorizedTopic.code, wire.NoOffset}
			}
		}
	}
	deleted := b.DeleteRecords(upTo)
	maps.Copy(deleted, refused)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	places := make(map[string]int) // where in resp.Topics a topic is answered
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			tp := wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(p.Partition)}
			if d, due := deleted[tp]; due {
				delete(deleted, tp)
				answerDeletedRecords(resp, places, tp, d)
			}
		}
	}
	return resp
}

func answerDeletedRecords(resp *kmsg.DeleteRecordsResponse, places map[string]int, tp wire.TopicPartition, d DeletedRecords) {
	i, known := places[tp.Topic]
	if !known {
		i = len(resp.Topics)
		places[tp.Topic] = i
		topic := kmsg.NewDeleteRecordsResponseTopic()
		topic.Topic = tp.Topic
		resp.Topics = append(resp.Topics, topic)
	}
	part := kmsg.NewDeleteRecordsResponseTopicPartition()
	part.Partition, part.LowWatermark, part.ErrorCode = int32(tp.Partition), int64(d.LowWatermark), int16(d.Code)
	resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, part)
}
