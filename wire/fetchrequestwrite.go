package wire

import "math"

// Reset makes r an empty request with every field at its default, and keeps its room, unless that is more than elementsKept.
func (r *FetchRequest) Reset() { r.reset() }

// AddTopic begins a topic of a request to be sent; by id from version 13 on, by name below.
func (r *FetchRequest) AddTopic(name []byte, id TopicID) {
	r.Topics = append(r.Topics, FetchTopic{Name: name, ID: id})
}

// AddPartition appends a partition to the last topic.
func (r *FetchRequest) AddPartition(p FetchPartition) {
	t := &r.Topics[len(r.Topics)-1]
	r.partitions = append(r.partitions, p)
	t.Partitions = since(r.partitions, len(r.partitions)-1-len(t.Partitions))
}

// ForgetTopic begins a topic of which partitions leave the fetch session.
func (r *FetchRequest) ForgetTopic(name []byte, id TopicID) {
	r.Forgotten = append(r.Forgotten, ForgottenTopic{Name: name, ID: id})
}

// ForgetPartition appends a partition to the last topic of ForgetTopic.
func (r *FetchRequest) ForgetPartition(index PartitionIndex) {
	t := &r.Forgotten[len(r.Forgotten)-1]
	r.forgotten = append(r.forgotten, index)
	t.Partitions = since(r.forgotten, len(r.forgotten)-1-len(t.Partitions))
}

// AppendTo appends the request's body, as Read reads it. Fields that v has not are left out.
func (r *FetchRequest) AppendTo(dst []byte, v APIVersion) []byte {
	w := writer{dst: dst, flexible: apiTable[KeyFetch].Flexible(v)}
	r.appendLimits(&w, v)
	w.arrayLength(len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		w.topic(t.Name, t.ID, v >= fetchByTopicID)
		w.arrayLength(len(t.Partitions))
		for j := range t.Partitions {
			t.Partitions[j].appendTo(&w, v)
		}
		w.noTags()
	}
	if v >= 7 {
		r.appendForgotten(&w, v)
	}
	if v >= 11 {
		w.string(r.RackID)
	}
	r.appendTags(&w, v)
	return w.dst
}

func (r *FetchRequest) appendLimits(w *writer, v APIVersion) {
	if v <= 14 {
		w.int32(int32(r.ReplicaID))
	}
	w.int32(r.MaxWaitMS)
	w.int32(r.MinBytes)
	if v >= 3 {
		w.int32(r.MaxBytes)
	}
	if v >= 4 {
		w.dst = append(w.dst, byte(r.IsolationLevel))
	}
	if v >= 7 {
		w.int32(r.SessionID)
		w.int32(r.SessionEpoch)
	}
}

func (r *FetchRequest) appendForgotten(w *writer, v APIVersion) {
	w.arrayLength(len(r.Forgotten))
	for i := range r.Forgotten {
		t := &r.Forgotten[i]
		w.topic(t.Name, t.ID, v >= fetchByTopicID)
		w.arrayLength(len(t.Partitions))
		for _, index := range t.Partitions {
			w.int32(int32(index))
		}
		w.noTags()
	}
}

// appendTags writes the request's tagged fields: 0 cluster id, 1 replica state.
func (r *FetchRequest) appendTags(w *writer, v APIVersion) {
	if !w.flexible {
		return
	}
	replica := v >= 15 && (r.ReplicaID != NoNode || r.ReplicaEpoch != NoBrokerEpoch)
	w.uvarint(countTrue(r.ClusterID != nil, replica))
	if r.ClusterID != nil {
		w.uvarint(0)
		w.uvarint(uint32(uvarintSize(uint32(len(r.ClusterID)+1)) + len(r.ClusterID)))
		w.string(r.ClusterID)
	}
	if replica {
		w.uvarint(1)
		w.uvarint(4 + 8 + 1)
		w.int32(int32(r.ReplicaID))
		w.int64(int64(r.ReplicaEpoch))
		w.noTags()
	}
}

func (p *FetchPartition) appendTo(w *writer, v APIVersion) {
	w.int32(int32(p.Index))
	if v >= 9 {
		w.int32(int32(p.CurrentLeaderEpoch))
	}
	w.int64(int64(p.FetchOffset))
	if v >= 12 {
		w.int32(int32(p.LastFetchedEpoch))
	}
	if v >= 5 {
		w.int64(int64(p.LogStartOffset))
	}
	w.int32(p.MaxBytes)
	p.appendTags(w, v)
}

// appendTags writes a partition's tagged fields: 0 directory id, 1 high watermark.
func (p *FetchPartition) appendTags(w *writer, v APIVersion) {
	if !w.flexible {
		return
	}
	directory, watermark := v >= 17 && !p.ReplicaDirectoryID.IsZero(), v >= 18 && p.HighWatermark != math.MaxInt64
	w.uvarint(countTrue(directory, watermark))
	if directory {
		w.uvarint(0)
		w.uvarint(uint32(len(p.ReplicaDirectoryID)))
		w.dst = append(w.dst, p.ReplicaDirectoryID[:]...)
	}
	if watermark {
		w.uvarint(1)
		w.uvarint(8)
		w.int64(int64(p.HighWatermark))
	}
}
