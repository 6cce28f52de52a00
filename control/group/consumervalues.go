package group

import (
	"encoding/binary"
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// flexibleReader reads the primitives of Kafka's flexible encoding. After the first that is damaged all are empty, and
// failed is set: the caller looks once, at the end.
type flexibleReader struct {
	rest   []byte
	failed bool
}

func (r *flexibleReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.failed = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *flexibleReader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *flexibleReader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *flexibleReader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *flexibleReader) uvarint() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<31-1 {
		r.rest, r.failed = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// length reads the count of things that take at least each bytes; -1 if there is nothing.
func (r *flexibleReader) length(each int) int {
	n := r.uvarint() - 1
	if n > len(r.rest)/each {
		r.rest, r.failed = nil, true
		return 0
	}
	return n
}

func (r *flexibleReader) bytes() []byte { return slices.Clone(r.take(max(r.length(1), 0))) }

func (r *flexibleReader) nullableText() *string {
	n := r.length(1)
	if n < 0 {
		return nil
	}
	s := string(r.take(n))
	return &s
}

// text reads a string; a null is "".
func (r *flexibleReader) text() string { return string(r.take(max(r.length(1), 0))) }

func (r *flexibleReader) texts() []string {
	list := make([]string, 0, max(r.length(1), 0))
	for range cap(list) {
		list = append(list, r.text())
	}
	return list
}

// topicPartitionsBytesMin is the least that a topic takes in an assignment: its id, a length, the end of tagged fields.
const topicPartitionsBytesMin = 18

func (r *flexibleReader) assignment() assignor.Assignment {
	n := r.length(topicPartitionsBytesMin)
	var lists []assignor.TopicPartitions
	for range n {
		var t assignor.TopicPartitions
		t.Topic, t.Partitions = r.topicID(), r.partitions()
		r.tags(nil)
		lists = append(lists, t)
	}
	return assignor.Normal(lists)
}

func (r *flexibleReader) topicID() (id wire.TopicID) {
	copy(id[:], r.take(len(id)))
	return id
}

func (r *flexibleReader) partitions() (list []int32) {
	for range r.length(4) {
		p := r.int32()
		r.failed = r.failed || p < 0
		list = append(list, p)
	}
	return list
}

// tags reads tagged fields: known gets tag 0, if there is one and if it is not nil; others are passed over.
func (r *flexibleReader) tags(known func(*flexibleReader)) {
	for range r.uvarint() {
		if r.failed {
			return
		}
		tag := r.uvarint()
		field := flexibleReader{rest: r.take(r.uvarint())}
		if tag == 0 && known != nil {
			known(&field)
			r.failed = r.failed || field.failed
		}
	}
}

// readGroup reads ConsumerGroupMetadataValue.
func readGroup(r *flexibleReader) (epoch int32, hash uint64) {
	epoch = r.int32()
	r.tags(func(field *flexibleReader) { hash = uint64(field.int64()) })
	return epoch, hash
}

// readMemberMetadata reads ConsumerGroupMemberMetadataValue.
func readMemberMetadata(r *flexibleReader) memberMetadata {
	md := memberMetadata{instanceID: r.nullableText(), rackID: r.nullableText()}
	md.client = Client{ID: r.text(), Host: r.text()}
	md.topics, md.regex = sortedSet(r.texts()), r.text()
	md.rebalanceTimeoutMS, md.assignor = r.int32(), r.nullableText()
	r.tags(func(field *flexibleReader) {
		if field.int8() == 0 {
			return // null
		}
		side := &classicSide{sessionTimeoutMS: field.int32()}
		for range field.length(3) {
			side.protocols = append(side.protocols, protocol{name: field.text(), metadata: field.bytes()})
			field.tags(nil)
		}
		field.tags(nil)
		field.failed = field.failed || len(side.protocols) == 0
		md.classic = side
	})
	return md
}

// readMemberCurrent reads ConsumerGroupCurrentMemberAssignmentValue. A state that is not known is memberUnknown.
func readMemberCurrent(r *flexibleReader) memberCurrent {
	a := memberCurrent{epoch: r.int32(), previousEpoch: r.int32(), state: memberState(r.int8())}
	if a.state < memberStable || a.state > memberUnreleased {
		a.state = memberUnknown
	}
	a.assigned, a.revoking = r.assignment(), r.assignment()
	a.revoking = a.revoking.Minus(a.assigned)
	r.tags(nil)
	return a
}

// readRegex reads ConsumerGroupRegularExpressionValue. The version counts another log's records, so that it is not kept.
func readRegex(r *flexibleReader) regexSubscription {
	out := regexSubscription{topics: sortedSet(r.texts()), resolved: true}
	r.int64()
	out.resolvedAt = wire.Timestamp(r.int64())
	r.tags(nil)
	return out
}
