package wire

// FetchResponse is the answer to a FetchRequest without its records: they stay in their files, and the caller sends each
// range between two pieces of what AppendTo writes.
//
//	throttle: 1+   last stable offset, aborted: 4+   log start offset: 5+   error, session: 7+   preferred replica: 11+
//	flexible, diverging epoch, leader, snapshot: 12+   topic id instead of name: 13+   endpoints: 16+
type FetchResponse struct {
	ThrottleMS    int32
	ErrorCode     ErrorCode
	SessionID     int32
	Topics        []FetchTopicResponse
	NodeEndpoints []NodeEndpoint // of the leaders that CurrentLeader names; 16+

	partitions []FetchPartitionResponse // of all topics, if they came by AddTopic and AddPartition
}

// FetchTopicResponse is one topic of a FetchResponse; Name below version 13, ID from then on.
type FetchTopicResponse struct {
	Name       []byte
	ID         TopicID
	Partitions []FetchPartitionResponse
}

// FetchPartitionResponse is what one partition gives. A zero PreferredReadReplica is node 0: set it to -1 for "none"
// (FailedFetch does).
type FetchPartitionResponse struct {
	Index                PartitionIndex
	ErrorCode            ErrorCode
	HighWatermark        Offset
	LastStableOffset     Offset
	LogStartOffset       Offset
	Aborted              []AbortedTransaction // nil is sent as null, as Kafka does for read_uncommitted
	PreferredReadReplica NodeID
	RecordsLength        int32 // bytes that follow from elsewhere; 0 is sent as an empty field, as Kafka does
	DivergingEpoch       EpochEndOffset
	CurrentLeader        CurrentLeader
	SnapshotID           EpochEndOffset
}

// AbortedTransaction tells a read_committed consumer from which offset on to skip a producer's records.
type AbortedTransaction struct {
	ProducerID  ProducerID
	FirstOffset Offset
}

// EpochEndOffset is an epoch and where it ends. The zero value means "not told".
type EpochEndOffset struct {
	Set       bool
	Epoch     LeaderEpoch
	EndOffset Offset
}

// FetchPiece is a place in AppendTo's output where record bytes go: dst[:HeaderEnd] is sent, from where the last piece
// ended, then RecordsLength bytes from elsewhere, then the next piece or the rest of dst.
type FetchPiece struct {
	HeaderEnd     int
	RecordsLength int32
}

// FailedFetch is the answer for a partition that cannot be read.
func FailedFetch(index PartitionIndex, code ErrorCode) FetchPartitionResponse {
	return FetchPartitionResponse{Index: index, ErrorCode: code, HighWatermark: NoOffset, LastStableOffset: NoOffset,
		LogStartOffset: NoOffset, PreferredReadReplica: -1}
}

// Reset makes r empty and keeps its room, unless that is more than elementsKept.
func (r *FetchResponse) Reset() {
	*r = FetchResponse{Topics: reuse(r.Topics), partitions: reuse(r.partitions)}
}

// AddTopic begins a topic; see ProduceResponse.AddTopic.
func (r *FetchResponse) AddTopic(name []byte, id TopicID) {
	r.Topics = append(r.Topics, FetchTopicResponse{Name: name, ID: id})
}

// AddPartition appends a partition to the last topic.
func (r *FetchResponse) AddPartition(p FetchPartitionResponse) {
	t := &r.Topics[len(r.Topics)-1]
	r.partitions = append(r.partitions, p)
	t.Partitions = since(r.partitions, len(r.partitions)-1-len(t.Partitions))
}

// Refuse makes r the answer that gives every partition of req the same error.
func (r *FetchResponse) Refuse(req *FetchRequest, code ErrorCode) {
	r.Reset()
	for i := range req.Topics {
		t := &req.Topics[i]
		r.AddTopic(t.Name, t.ID)
		for j := range t.Partitions {
			r.AddPartition(FailedFetch(t.Partitions[j].Index, code))
		}
	}
}

// AppendTo appends to dst every byte of the body that is not a record, and to pieces one entry for each partition with
// RecordsLength > 0, in order. Positions in pieces count from the start of dst, what was in it before included. The
// response's size on the wire is SizeWithRecords.
func (r *FetchResponse) AppendTo(dst []byte, v APIVersion, pieces []FetchPiece) ([]byte, []FetchPiece) {
	w := writer{dst: dst, flexible: apiTable[KeyFetch].Flexible(v)}
	if v >= 1 {
		w.int32(r.ThrottleMS)
	}
	if v >= 7 {
		w.int16(int16(r.ErrorCode))
		w.int32(r.SessionID)
	}
	w.arrayLength(len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		w.topic(t.Name, t.ID, v >= fetchByTopicID)
		w.arrayLength(len(t.Partitions))
		for j := range t.Partitions {
			pieces = t.Partitions[j].appendTo(&w, v, pieces)
		}
		w.noTags()
	}
	if v >= 16 && len(r.NodeEndpoints) > 0 {
		w.uvarint(1)
		w.nodeEndpoints(0, r.NodeEndpoints)
		return w.dst, pieces
	}
	w.noTags()
	return w.dst, pieces
}

// SizeWithRecords is the bytes of a response of which AppendTo wrote header bytes, the records of pieces included.
func SizeWithRecords(header int, pieces []FetchPiece) int64 {
	size := int64(header)
	for _, p := range pieces {
		size += int64(p.RecordsLength)
	}
	return size
}

func (p *FetchPartitionResponse) appendTo(w *writer, v APIVersion, pieces []FetchPiece) []FetchPiece {
	w.int32(int32(p.Index))
	w.int16(int16(p.ErrorCode))
	w.int64(int64(p.HighWatermark))
	if v >= 4 {
		w.int64(int64(p.LastStableOffset))
	}
	if v >= 5 {
		w.int64(int64(p.LogStartOffset))
	}
	if v >= 4 {
		p.appendAborted(w)
	}
	if v >= 11 {
		w.int32(int32(p.PreferredReadReplica))
	}
	w.length(int(p.RecordsLength), true)
	if p.RecordsLength > 0 {
		pieces = append(pieces, FetchPiece{HeaderEnd: len(w.dst), RecordsLength: p.RecordsLength})
	}
	p.appendTags(w)
	return pieces
}

func (p *FetchPartitionResponse) appendAborted(w *writer) {
	if p.Aborted == nil {
		w.arrayLength(-1)
		return
	}
	w.arrayLength(len(p.Aborted))
	for _, a := range p.Aborted {
		w.int64(int64(a.ProducerID))
		w.int64(int64(a.FirstOffset))
		w.noTags()
	}
}

// appendTags writes the tagged fields: 0 diverging epoch, 1 leader, 2 snapshot (whose two fields stand the other way
// round).
func (p *FetchPartitionResponse) appendTags(w *writer) {
	if !w.flexible {
		return
	}
	w.uvarint(countTrue(p.DivergingEpoch.Set, p.CurrentLeader.Set, p.SnapshotID.Set))
	if e := p.DivergingEpoch; e.Set {
		w.uvarint(0)
		w.uvarint(4 + 8 + 1)
		w.int32(int32(e.Epoch))
		w.int64(int64(e.EndOffset))
		w.noTags()
	}
	if p.CurrentLeader.Set {
		w.currentLeader(1, p.CurrentLeader)
	}
	if s := p.SnapshotID; s.Set {
		w.uvarint(2)
		w.uvarint(8 + 4 + 1)
		w.int64(int64(s.EndOffset))
		w.int32(int32(s.Epoch))
		w.noTags()
	}
}

func countTrue(set ...bool) (n uint32) {
	for _, s := range set {
		if s {
			n++
		}
	}
	return n
}
