package wire

// ProduceResponse is the answer to a ProduceRequest.
//
//	throttle: 1+   log append time: 2+   log start offset: 5+   error message: 8+   flexible: 9+   leader, endpoints: 10+
type ProduceResponse struct {
	Topics        []ProduceTopicResponse
	ThrottleMS    int32
	NodeEndpoints []NodeEndpoint // of the leaders that CurrentLeader names; 10+

	partitions []ProducePartitionResponse // of all topics, if they came by AddTopic and AddPartition
}

// ProduceTopicResponse is one topic of a ProduceResponse; Name below version 13, ID from then on.
type ProduceTopicResponse struct {
	Name       []byte
	ID         TopicID
	Partitions []ProducePartitionResponse
}

// ProducePartitionResponse is the outcome for one partition. An error goes with BaseOffset NoOffset, LogAppendTime
// NoTimestamp and LogStartOffset NoOffset (FailedProduce fills them in).
type ProducePartitionResponse struct {
	Index          PartitionIndex
	ErrorCode      ErrorCode
	BaseOffset     Offset
	LogAppendTime  Timestamp // NoTimestamp unless the topic has LogAppendTime
	LogStartOffset Offset
	RecordErrors   []ProduceRecordError
	ErrorMessage   string        // "" is sent as null
	CurrentLeader  CurrentLeader // sent if set, beside NOT_LEADER_OR_FOLLOWER (KIP-951)
}

// ProduceRecordError says which record caused a batch to be dropped.
type ProduceRecordError struct {
	BatchIndex int32
	Message    string // "" is sent as null
}

// CurrentLeader tells a client that asked the wrong node who leads (KIP-951). The zero value means "not told".
type CurrentLeader struct {
	Set    bool
	Leader NodeID // -1 if unknown
	Epoch  LeaderEpoch
}

// NodeEndpoint is where a node that CurrentLeader names can be reached.
type NodeEndpoint struct {
	Node NodeID
	Host string
	Port int32
	Rack string // "" is sent as null
}

// FailedProduce is the answer for a partition that got no offset.
func FailedProduce(index PartitionIndex, code ErrorCode, message string) ProducePartitionResponse {
	return ProducePartitionResponse{Index: index, ErrorCode: code, ErrorMessage: message,
		BaseOffset: NoOffset, LogAppendTime: NoTimestamp, LogStartOffset: NoOffset}
}

// Reset makes r empty and keeps its room, unless that is more than elementsKept.
func (r *ProduceResponse) Reset() {
	*r = ProduceResponse{Topics: reuse(r.Topics), partitions: reuse(r.partitions)}
}

// AddTopic begins a topic. A response that is filled by AddTopic and AddPartition, and by them alone since Reset, keeps the
// partitions of all topics in one array, so that its room is bounded by the largest response and not by each topic's largest.
func (r *ProduceResponse) AddTopic(name []byte, id TopicID) {
	r.Topics = append(r.Topics, ProduceTopicResponse{Name: name, ID: id})
}

// AddPartition appends a partition to the last topic.
func (r *ProduceResponse) AddPartition(p ProducePartitionResponse) {
	t := &r.Topics[len(r.Topics)-1]
	r.partitions = append(r.partitions, p)
	t.Partitions = since(r.partitions, len(r.partitions)-1-len(t.Partitions))
}

// Refuse makes r the answer that gives every partition of req the same error. With UnsupportedVersion it is the answer to
// versions that are read and not served.
func (r *ProduceResponse) Refuse(req *ProduceRequest, code ErrorCode) {
	r.Reset()
	for i := range req.Topics {
		t := &req.Topics[i]
		r.AddTopic(t.Name, t.ID)
		for j := range t.Partitions {
			r.AddPartition(FailedProduce(t.Partitions[j].Index, code, ""))
		}
	}
}

// AppendTo appends the body of the response, without its header.
func (r *ProduceResponse) AppendTo(dst []byte, v APIVersion) []byte {
	w := writer{dst: dst, flexible: apiTable[KeyProduce].Flexible(v)}
	w.arrayLength(len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		w.topic(t.Name, t.ID, v >= produceByTopicID)
		w.arrayLength(len(t.Partitions))
		for j := range t.Partitions {
			t.Partitions[j].appendTo(&w, v)
		}
		w.noTags()
	}
	if v >= 1 {
		w.int32(r.ThrottleMS)
	}
	if v >= 10 && len(r.NodeEndpoints) > 0 {
		w.uvarint(1)
		w.nodeEndpoints(0, r.NodeEndpoints)
		return w.dst
	}
	w.noTags()
	return w.dst
}

func (p *ProducePartitionResponse) appendTo(w *writer, v APIVersion) {
	w.int32(int32(p.Index))
	w.int16(int16(p.ErrorCode))
	w.int64(int64(p.BaseOffset))
	if v >= 2 {
		w.int64(int64(p.LogAppendTime))
	}
	if v >= 5 {
		w.int64(int64(p.LogStartOffset))
	}
	if v >= 8 {
		p.appendErrors(w)
	}
	if v >= 10 && p.CurrentLeader.Set {
		w.uvarint(1)
		w.currentLeader(0, p.CurrentLeader)
		return
	}
	w.noTags()
}

func (p *ProducePartitionResponse) appendErrors(w *writer) {
	w.arrayLength(len(p.RecordErrors))
	for _, e := range p.RecordErrors {
		w.int32(e.BatchIndex)
		w.nullableText(e.Message)
		w.noTags()
	}
	w.nullableText(p.ErrorMessage)
}

// currentLeader writes the tagged field: leader, epoch, no tags of its own.
func (w *writer) currentLeader(tag uint32, l CurrentLeader) {
	w.uvarint(tag)
	w.uvarint(4 + 4 + 1)
	w.int32(int32(l.Leader))
	w.int32(int32(l.Epoch))
	w.noTags()
}

// nodeEndpoints writes the tagged field, an array.
func (w *writer) nodeEndpoints(tag uint32, nodes []NodeEndpoint) {
	w.uvarint(tag)
	w.uvarint(uint32(nodeEndpointsSize(nodes)))
	w.arrayLength(len(nodes))
	for i := range nodes {
		n := &nodes[i]
		w.int32(int32(n.Node))
		w.text(n.Host)
		w.int32(n.Port)
		w.nullableText(n.Rack)
		w.noTags()
	}
}

// nodeEndpointsSize is what nodeEndpoints writes after the field's length.
func nodeEndpointsSize(nodes []NodeEndpoint) int {
	size := uvarintSize(uint32(len(nodes) + 1))
	for i := range nodes {
		n := &nodes[i]
		size += 4 + uvarintSize(uint32(len(n.Host)+1)) + len(n.Host) + 4 + 1
		size += uvarintSize(uint32(len(n.Rack)+1)) + len(n.Rack)
	}
	return size
}
