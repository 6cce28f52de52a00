package wire

import "math"

// FetchRequest is a view over a Fetch request's body; its slices are reused as ProduceRequest's are.
//
//	max bytes: 3+   isolation: 4+   log start offset: 5+   session, forgotten: 7+   leader epoch: 9+   rack: 11+
//	flexible, last fetched epoch, cluster id: 12+   topic id instead of name: 13+   replica state instead of id: 15+
//	directory id: 17+   the follower's high watermark: 18+
//
// Apache Kafka 4 serves version 4 and later. Versions 0 to 3 are read here too: clients that detect a batch's magic by
// itself read v2 batches from such an answer.
type FetchRequest struct {
	ReplicaID      NodeID      // -1 for a consumer
	ReplicaEpoch   BrokerEpoch // the follower's, NoBrokerEpoch if not told
	MaxWaitMS      int32
	MinBytes       int32
	MaxBytes       int32 // MaxInt32 if the version has no such field
	IsolationLevel int8  // 0 read_uncommitted, 1 read_committed
	SessionID      int32 // 0: no session
	SessionEpoch   int32 // -1: no session; 0: asks for a new one (KIP-227)
	Topics         []FetchTopic
	Forgotten      []ForgottenTopic
	RackID         []byte // empty if not told
	ClusterID      []byte // nil if null

	partitions []FetchPartition // of all topics; Topics' Partitions are parts of it
	forgotten  []PartitionIndex // likewise
}

// FetchTopic is one topic of a FetchRequest; Name below version 13, ID from then on.
type FetchTopic struct {
	Name       []byte
	ID         TopicID
	Partitions []FetchPartition
}

// FetchPartition says from where to read one partition.
type FetchPartition struct {
	Index              PartitionIndex
	CurrentLeaderEpoch LeaderEpoch // NoLeaderEpoch: not to be checked
	FetchOffset        Offset
	LastFetchedEpoch   LeaderEpoch // of a follower's last record; NoLeaderEpoch: not to be checked
	LogStartOffset     Offset      // a follower's; NoOffset from a consumer
	MaxBytes           int32
	ReplicaDirectoryID TopicID // a follower's log directory; zero if not told
	HighWatermark      Offset  // a follower's; MaxInt64 if not told (KIP-1166)
}

// ForgottenTopic names partitions to drop from a fetch session.
type ForgottenTopic struct {
	Name       []byte
	ID         TopicID
	Partitions []PartitionIndex
}

// fetchByTopicID is the first version that names topics by id (KIP-516).
const fetchByTopicID APIVersion = 13

// Read lays r over body, the request without its header; fields that v has not get Kafka's defaults. After an error r's
// contents are meaningless. The error is a *DecodeError.
func (r *FetchRequest) Read(body []byte, v APIVersion) error {
	in := reader{src: body, flexible: apiTable[KeyFetch].Flexible(v)}
	r.reset()
	r.readLimits(&in, v)
	// The shortest topic: a compact empty name, a compact empty array, no tags.
	for n := in.arrayLength(3); n > 0 && in.takeElement(); n-- {
		r.readTopic(&in, v)
	}
	if v >= 7 {
		r.readForgotten(&in, v)
	}
	if v >= 11 {
		r.RackID = in.string()
	}
	r.readTags(&in)
	return in.err("FetchRequest", v)
}

// reset gives every field its default and keeps the slices' room.
func (r *FetchRequest) reset() {
	*r = FetchRequest{ReplicaID: NoNode, ReplicaEpoch: NoBrokerEpoch, MaxBytes: math.MaxInt32, SessionEpoch: -1,
		Topics: reuse(r.Topics), Forgotten: reuse(r.Forgotten), partitions: reuse(r.partitions), forgotten: reuse(r.forgotten)}
}

func (r *FetchRequest) readLimits(in *reader, v APIVersion) {
	if v <= 14 {
		r.ReplicaID = NodeID(in.int32())
	}
	r.MaxWaitMS = in.int32()
	r.MinBytes = in.int32()
	if v >= 3 {
		r.MaxBytes = in.int32()
	}
	if v >= 4 {
		r.IsolationLevel = in.int8()
	}
	if v >= 7 {
		r.SessionID = in.int32()
		r.SessionEpoch = in.int32()
	}
}

func (r *FetchRequest) readForgotten(in *reader, v APIVersion) {
	for n := in.arrayLength(3); n > 0 && in.takeElement(); n-- {
		var t ForgottenTopic
		t.Name, t.ID = in.topic(v >= fetchByTopicID)
		first := len(r.forgotten)
		for n := in.arrayLength(4); n > 0 && in.takeElement(); n-- {
			r.forgotten = append(r.forgotten, PartitionIndex(in.int32()))
		}
		t.Partitions = since(r.forgotten, first)
		in.skipTags()
		r.Forgotten = append(r.Forgotten, t)
	}
}

// readTags reads the tagged fields of the request itself.
func (r *FetchRequest) readTags(in *reader) {
	for n := in.tagCount(); n > 0 && !in.failed(); n-- {
		tag, end := in.openTag()
		switch tag {
		case 0:
			r.ClusterID = in.nullableString()
		case 1:
			r.ReplicaID = NodeID(in.int32())
			r.ReplicaEpoch = BrokerEpoch(in.int64())
			in.skipTags()
		}
		in.closeTag(end)
	}
}

func (r *FetchRequest) readTopic(in *reader, v APIVersion) {
	var t FetchTopic
	t.Name, t.ID = in.topic(v >= fetchByTopicID)
	first := len(r.partitions)
	// The shortest partition: index, offset and limit.
	for n := in.arrayLength(16); n > 0 && in.takeElement(); n-- {
		r.partitions = append(r.partitions, FetchPartition{})
		r.partitions[len(r.partitions)-1].read(in, v)
	}
	t.Partitions = since(r.partitions, first)
	in.skipTags()
	r.Topics = append(r.Topics, t)
}

func (p *FetchPartition) read(in *reader, v APIVersion) {
	*p = FetchPartition{CurrentLeaderEpoch: NoLeaderEpoch, LastFetchedEpoch: NoLeaderEpoch, LogStartOffset: NoOffset,
		HighWatermark: math.MaxInt64}
	p.Index = PartitionIndex(in.int32())
	if v >= 9 {
		p.CurrentLeaderEpoch = LeaderEpoch(in.int32())
	}
	p.FetchOffset = Offset(in.int64())
	if v >= 12 {
		p.LastFetchedEpoch = LeaderEpoch(in.int32())
	}
	if v >= 5 {
		p.LogStartOffset = Offset(in.int64())
	}
	p.MaxBytes = in.int32()
	p.readTags(in)
}

func (p *FetchPartition) readTags(in *reader) {
	for n := in.tagCount(); n > 0 && !in.failed(); n-- {
		tag, end := in.openTag()
		switch tag {
		case 0:
			p.ReplicaDirectoryID = in.topicID()
		case 1:
			p.HighWatermark = Offset(in.int64())
		}
		in.closeTag(end)
	}
}
