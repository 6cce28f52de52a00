package wire

// FetchResponseView is a view over a Fetch response's body, records included: what a follower reads of its leader's answer. Its slices
// are reused as ProduceRequest's are. Aborted transactions, which a reader of uncommitted records is not told, and the endpoints of
// nodes are passed over.
type FetchResponseView struct {
	ThrottleMS int32
	ErrorCode  ErrorCode
	SessionID  int32
	Topics     []FetchTopicView

	partitions []FetchPartitionView // of all topics; Topics' Partitions are parts of it
}

// FetchTopicView is one topic of a FetchResponseView; Name below version 13, ID from then on.
type FetchTopicView struct {
	Name       []byte
	ID         TopicID
	Partitions []FetchPartitionView
}

// FetchPartitionView is what one partition gave: record batches, the last of which may be cut short.
type FetchPartitionView struct {
	FetchPartitionResponse
	Records []byte
}

// Read lays r over body, the response without its header; fields that v has not get Kafka's defaults. After an error r's contents
// are meaningless. The error is a *DecodeError.
func (r *FetchResponseView) Read(body []byte, v APIVersion) error {
	in := reader{src: body, flexible: apiTable[KeyFetch].Flexible(v)}
	*r = FetchResponseView{Topics: reuse(r.Topics), partitions: reuse(r.partitions)}
	if v >= 1 {
		r.ThrottleMS = in.int32()
	}
	if v >= 7 {
		r.ErrorCode = ErrorCode(in.int16())
		r.SessionID = in.int32()
	}
	for n := in.arrayLength(3); n > 0 && in.takeElement(); n-- {
		r.readTopic(&in, v)
	}
	in.skipTags()
	return in.err("FetchResponse", v)
}

func (r *FetchResponseView) readTopic(in *reader, v APIVersion) {
	var t FetchTopicView
	t.Name, t.ID = in.topic(v >= fetchByTopicID)
	first := len(r.partitions)
	// The shortest partition: index, error, high watermark and null records.
	for n := in.arrayLength(15); n > 0 && in.takeElement(); n-- {
		r.partitions = append(r.partitions, FetchPartitionView{})
		r.partitions[len(r.partitions)-1].read(in, v)
	}
	t.Partitions = since(r.partitions, first)
	in.skipTags()
	r.Topics = append(r.Topics, t)
}

func (p *FetchPartitionView) read(in *reader, v APIVersion) {
	p.LastStableOffset, p.LogStartOffset, p.PreferredReadReplica = NoOffset, NoOffset, NoNode
	p.Index = PartitionIndex(in.int32())
	p.ErrorCode = ErrorCode(in.int16())
	p.HighWatermark = Offset(in.int64())
	if v >= 4 {
		p.LastStableOffset = Offset(in.int64())
	}
	if v >= 5 {
		p.LogStartOffset = Offset(in.int64())
	}
	if v >= 4 {
		for n := in.arrayLength(8 + 8); n > 0 && !in.failed(); n-- {
			in.take(8 + 8)
			in.skipTags()
		}
	}
	if v >= 11 {
		p.PreferredReadReplica = NodeID(in.int32())
	}
	p.Records = in.nullableBytes()
	p.RecordsLength = int32(len(p.Records))
	p.readTags(in)
}

// readTags reads the tagged fields that FetchPartitionResponse.appendTags writes.
func (p *FetchPartitionView) readTags(in *reader) {
	for n := in.tagCount(); n > 0 && !in.failed(); n-- {
		tag, end := in.openTag()
		switch tag {
		case 0:
			p.DivergingEpoch = EpochEndOffset{Set: true, Epoch: LeaderEpoch(in.int32()), EndOffset: Offset(in.int64())}
			in.skipTags()
		case 1:
			p.CurrentLeader = CurrentLeader{Set: true, Leader: NodeID(in.int32()), Epoch: LeaderEpoch(in.int32())}
			in.skipTags()
		case 2:
			p.SnapshotID = EpochEndOffset{Set: true, EndOffset: Offset(in.int64()), Epoch: LeaderEpoch(in.int32())}
			in.skipTags()
		}
		in.closeTag(end)
	}
}
