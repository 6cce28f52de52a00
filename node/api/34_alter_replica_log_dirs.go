package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var alterReplicaLogDirsRow = row{key: wire.KeyAlterReplicaLogDirs, min: 1, max: 2, handle: on(alterReplicaLogDirs),
	authorize: inCluster(alterCluster, refusedMoves)}

// alterReplicaLogDirs has logs moved to other log directories; the answer says that the moves have begun. A partition that is named
// more than once is answered once, and the last directory counts, as in Kafka.
func alterReplicaLogDirs(b Broker, _ *Request, req *kmsg.AlterReplicaLogDirsRequest) *kmsg.AlterReplicaLogDirsResponse {
	wanted := make(map[wire.TopicPartition]string)
	var order []wire.TopicPartition
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			for _, index := range t.Partitions {
				tp := wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(index)}
				if _, again := wanted[tp]; !again {
					order = append(order, tp)
				}
				wanted[tp] = d.Dir
			}
		}
	}
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	places := make(map[string]int) // where in resp.Topics a topic is answered
	for _, tp := range order {
		i, known := places[tp.Topic]
		if !known {
			i = len(resp.Topics)
			places[tp.Topic] = i
			topic := kmsg.NewAlterReplicaLogDirsResponseTopic()
			topic.Topic = tp.Topic
			resp.Topics = append(resp.Topics, topic)
		}
		part := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
		part.Partition, part.ErrorCode = int32(tp.Partition), int16(b.MoveLog(tp, wanted[tp]))
		resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, part)
	}
	return resp
}

func refusedMoves(req *kmsg.AlterReplicaLogDirsRequest, why refusal) kmsg.Response {
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			topic := kmsg.NewAlterReplicaLogDirsResponseTopic()
			topic.Topic = t.Topic
			for _, index := range t.Partitions {
				topic.Partitions = append(topic.Partitions, kmsg.AlterReplicaLogDirsResponseTopicPartition{Partition: index, ErrorCode: int16(why.code)})
			}
			resp.Topics = append(resp.Topics, topic)
		}
	}
	return resp
}
