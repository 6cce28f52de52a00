package protocol

import "github.com/twmb/franz-go/pkg/kmsg"

// logSweeps are the calls on a partition's records.
var logSweeps = []sweep{
	{0, []exchange{
		{name: "a batch", request: func(s *scene) kmsg.Request {
			return s.produce(s.topic(), newBatch(record("d")).bytes())
		}},
		{name: "a batch that is damaged", request: func(s *scene) kmsg.Request {
			return s.produce(s.records(), corrupt(newBatch(record("d")).bytes(), 61))
		}, trim: withoutMessage},
		{name: "records without a key on a compacted topic", request: func(s *scene) kmsg.Request {
			return s.produce(s.topic("cleanup.policy=compact"), newBatch(record("d"), keyed("k", "e"), record("f"), record("g"), record("h")).bytes())
		}},
		{name: "records of a time to come", request: func(s *scene) kmsg.Request {
			later := nowMS() + 1<<40
			return s.produce(s.records(), newBatch(record("d"), record("e"), record("f")).timestamps(later, nowMS(), later).bytes())
		}, trim: withoutBounds},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request {
			return s.produce(s.name("missing"), newBatch(record("d")).bytes())
		}},
	}},
	{1, []exchange{
		{name: "records", request: func(s *scene) kmsg.Request { return s.fetch(s.records(), 0, 0) }},
		{name: "the end", request: func(s *scene) kmsg.Request { return s.fetch(s.records(), 0, 3) }},
		{name: "beyond the end", request: func(s *scene) kmsg.Request { return s.fetch(s.records(), 0, 4) }},
		{name: "a partition that is not there", request: func(s *scene) kmsg.Request { return s.fetch(s.records(), 7, 0) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return s.fetch(s.name("missing"), 0, 0) }},
		{name: "an aborted transaction", request: func(s *scene) kmsg.Request {
			p := s.openTransaction()
			s.endTransaction(p, false)
			req := s.fetch(p.topic, 0, 3)
			req.IsolationLevel = 1
			return req
		}},
	}},
	{2, []exchange{
		{name: "latest", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.records(), -1) }},
		{name: "earliest", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.records(), -2) }},
		{name: "of the highest timestamp", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.records(), -3) }},
		{name: "earliest on disk", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.records(), -4) }},
		{name: "latest in remote storage", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.records(), -5) }},
		{name: "by time", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.records(), sceneTime+1) }},
		{name: "after the last", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.records(), sceneTime+3) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return listOffsetsRequest(s.name("missing"), -1) }},
	}},
	{21, []exchange{
		{name: "up to an offset", request: func(s *scene) kmsg.Request { return deleteRecordsRequest(s.topic(), 2) }},
		{name: "up to the end", request: func(s *scene) kmsg.Request { return deleteRecordsRequest(s.topic(), -1) }},
		{name: "beyond the end", request: func(s *scene) kmsg.Request { return deleteRecordsRequest(s.records(), 4) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return deleteRecordsRequest(s.name("missing"), 0) }},
	}},
	{23, []exchange{
		{name: "the epoch at hand", request: func(s *scene) kmsg.Request { return epochRequest(s.records(), -1, 0) }},
		{name: "an epoch to come", request: func(s *scene) kmsg.Request { return epochRequest(s.records(), -1, 5) }},
		{name: "asked with an epoch to come", request: func(s *scene) kmsg.Request { return epochRequest(s.records(), 5, 0) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return epochRequest(s.name("missing"), -1, 0) }},
	}},
}

// produce names the topic by its id as well, which v13 has instead.
func (s *scene) produce(topic string, records []byte) *kmsg.ProduceRequest {
	req := produceRequest(topic, 0, records)
	req.Topics[0].TopicID = s.idOf(topic)
	return req
}

// withoutMessage: ringmill says what is wrong with a batch where Apache Kafka says nothing.
func withoutMessage(_ *scene, answer kmsg.Response) {
	answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorMessage = nil
}

// withoutBounds: the messages name the time of day.
func withoutBounds(_ *scene, answer kmsg.Response) {
	for i := range answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorRecords {
		answer.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorRecords[i].ErrorMessage = ptr("<bounds>")
	}
}

func (s *scene) fetch(topic string, partition int32, offset int64) *kmsg.FetchRequest {
	req := fetchRequest(topic, partition, offset)
	req.Topics[0].TopicID = s.idOf(topic)
	return req
}

// idOf is the topic's id, or one that no topic has.
func (s *scene) idOf(topic string) [16]byte {
	s.t.Helper()
	if s.names[topic] != "<topic>" {
		return [16]byte{1, 2, 3}
	}
	return s.conn.topicID(topic)
}

func listOffsetsRequest(topic string, timestamp int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.TimeoutMillis = -1, 10000
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = timestamp
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return req
}

func deleteRecordsRequest(topic string, offset int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10000
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: offset}}}}
	return req
}

func epochRequest(topic string, current, epoch int32) *kmsg.OffsetForLeaderEpochRequest {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LeaderEpoch = current, epoch
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
	return req
}
