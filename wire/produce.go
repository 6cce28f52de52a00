package wire

// ProduceRequest is a view over a Produce request's body. The same value is read into again and again: its slices are
// reused, so a steady reader allocates nothing. Everything in it aliases the body, and is valid until the next Read.
//
//	acks, timeout, topics: all versions     transactional id: 3+     flexible: 9+     topic id instead of name: 13+
//
// Versions 0 to 2 carry message sets of magic 0 and 1, which no node stores; they are read so that the node can answer
// each partition with error 35 in a layout that an old client decodes (ProduceResponse.Refuse).
type ProduceRequest struct {
	TransactionalID []byte // nil if null
	Acks            int16  // 0, 1 or -1
	TimeoutMS       int32
	Topics          []ProduceTopic

	partitions []ProducePartition // of all topics; Topics' Partitions are parts of it
}

// ProduceTopic is one topic of a ProduceRequest; Name below version 13, ID from then on.
type ProduceTopic struct {
	Name       []byte
	ID         TopicID
	Partitions []ProducePartition
}

// ProducePartition is one partition's records as they came: by Kafka's rule one RecordBatch, unchecked. Nil if null.
type ProducePartition struct {
	Index   PartitionIndex
	Records []byte
}

// produceByTopicID is the first version that names topics by id (KIP-516).
const produceByTopicID APIVersion = 13

// Read lays r over body, the request without its header. After an error r's contents are meaningless. The error is a
// *DecodeError.
func (r *ProduceRequest) Read(body []byte, v APIVersion) error {
	in := reader{src: body, flexible: apiTable[KeyProduce].Flexible(v)}
	r.TransactionalID = nil
	if v >= 3 {
		r.TransactionalID = in.nullableString()
	}
	r.Acks = in.int16()
	r.TimeoutMS = in.int32()
	r.Topics, r.partitions = reuse(r.Topics), reuse(r.partitions)
	// The shortest topic: a compact empty name, a compact empty array, no tags.
	for n := in.arrayLength(3); n > 0 && in.takeElement(); n-- {
		r.readTopic(&in, v)
	}
	in.skipTags()
	return in.err("ProduceRequest", v)
}

func (r *ProduceRequest) readTopic(in *reader, v APIVersion) {
	var t ProduceTopic
	t.Name, t.ID = in.topic(v >= produceByTopicID)
	first := len(r.partitions)
	// The shortest partition: an index, a compact length, no tags.
	for n := in.arrayLength(5); n > 0 && in.takeElement(); n-- {
		r.partitions = append(r.partitions, ProducePartition{Index: PartitionIndex(in.int32()), Records: in.nullableBytes()})
		in.skipTags()
	}
	t.Partitions = since(r.partitions, first)
	in.skipTags()
	r.Topics = append(r.Topics, t)
}
