package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeProducersRow = row{key: wire.KeyDescribeProducers, min: 0, max: 0, handle: on(describeProducers)}

func describeProducers(b Broker, r *Request, req *kmsg.DescribeProducersRequest) *kmsg.DescribeProducersResponse {
	resp := kmsg.NewPtrDescribeProducersResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewDescribeProducersResponseTopic()
		topic.Topic = t.Topic
		allowed := r.may(b, readTopic, t.Topic)
		for _, p := range t.Partitions {
			if !allowed {
				refused := kmsg.NewDescribeProducersResponseTopicPartition()
				refused.Partition, refused.ErrorCode, refused.ErrorMessage = p, int16(unauthorizedTopic.code), unauthorizedTopic.text()
				topic.Partitions = append(topic.Partitions, refused)
				continue
			}
			topic.Partitions = append(topic.Partitions, describePartitionProducers(b, t.Topic, p))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// describableTopic refuses names that no topic has or may have, in Kafka's words.
func describableTopic(b Broker, topic string) refusal {
	if err := wire.CheckTopicName(topic); err != nil {
		return refusal{wire.InvalidTopicException, err.Error()}
	}
	if b.Image().ByName(topic) == nil {
		return refuse(wire.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	return refusal{}
}

func describePartitionProducers(b Broker, topic string, index int32) kmsg.DescribeProducersResponseTopicPartition {
	out := kmsg.NewDescribeProducersResponseTopicPartition()
	out.Partition = index
	if problem := describableTopic(b, topic); problem.code != wire.None {
		out.ErrorCode, out.ErrorMessage = int16(problem.code), problem.text()
		return out
	}
	p, code := b.Replica(topic, wire.PartitionIndex(index))
	if out.ErrorCode = int16(code); code != wire.None {
		return out
	}
	for _, producer := range p.Producers() {
		active := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		active.ProducerID, active.ProducerEpoch = int64(producer.ID), int32(producer.Epoch)
		active.LastSequence, active.LastTimestamp = int32(producer.LastSequence), int64(producer.LastTimestamp)
		active.CoordinatorEpoch, active.CurrentTxnStartOffset = producer.CoordinatorEpoch, int64(producer.TxnStartOffset)
		out.ActiveProducers = append(out.ActiveProducers, active)
	}
	return out
}
