package group

import (
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// The records of share groups, as Apache Kafka 4.1.1 writes them; all values are of version 0.
const (
	recordShareMember      recordKind = 10 // what a member says of itself
	recordShareGroup       recordKind = 11 // group epoch and hash of topics
	recordShareTargetEpoch recordKind = 12
	recordShareTarget      recordKind = 13 // what a member shall read
	recordShareCurrent     recordKind = 14 // where a member stands
	recordShareState       recordKind = 15 // partitions whose state is initialized, and is not yet
)

// isShare reports whether the record is one of a share group.
func (k recordKind) isShare() bool { return k >= recordShareMember && k <= recordShareState }

// shareValue is the value of a record from what the group is now; nil if there is nothing of that name.
func (g *group) shareValue(name recordName) []byte {
	sg := g.share
	if sg == nil || g.state == Dead {
		return nil
	}
	switch name.kind {
	case recordShareGroup:
		return append(flexible(nil).version().int32(sg.epoch).int64(int64(sg.metadataHash)), noTags)
	case recordShareTargetEpoch:
		return append(flexible(nil).version().int32(sg.targetEpoch), noTags)
	case recordShareState:
		return sg.topics.appendTo(nil)
	}
	m := sg.members[name.of]
	switch {
	case m == nil:
		return nil
	case name.kind == recordShareMember:
		return m.shareMetadata.appendTo(nil)
	case name.kind == recordShareTarget && m.hasTarget:
		return append(flexible(nil).version().assignment(m.target), noTags)
	case name.kind == recordShareCurrent:
		return m.shareCurrent.appendTo(nil)
	}
	return nil
}

// appendTo writes ShareGroupMemberMetadataValue.
func (a *shareMetadata) appendTo(dst []byte) []byte {
	return append(flexible(dst).version().nullableText(a.rackID).text(a.client.ID).text(a.client.Host).texts(a.topics), noTags)
}

// appendTo writes ShareGroupCurrentMemberAssignmentValue. The state is always Stable.
func (a *shareCurrent) appendTo(dst []byte) []byte {
	f := append(flexible(dst).version().int32(a.epoch).int32(a.previousEpoch), byte(memberStable))
	return append(f.assignment(a.assigned), noTags)
}

// appendTo writes ShareGroupStatePartitionMetadataValue: topics that are being initialized, those that are, and those that
// are being deleted.
func (t *shareTopics) appendTo(dst []byte) []byte {
	f := t.appendPartitions(flexible(dst).version(), t.initializing)
	f = t.appendPartitions(f, t.initialized).length(len(t.deleting))
	for _, id := range t.deleting {
		f = append(append(f, id[:]...).text(t.nameOf(id)), noTags)
	}
	return append(f, noTags)
}

func (t *shareTopics) appendPartitions(f flexible, a assignor.Assignment) flexible {
	f = f.length(len(a))
	for _, of := range a {
		f = append(f, of.Topic[:]...).text(t.nameOf(of.Topic)).length(len(of.Partitions))
		for _, p := range of.Partitions {
			f = f.int32(p)
		}
		f = append(f, noTags)
	}
	return f
}

// nameOf is the name of a topic. Kafka writes this word too where it has none.
func (t *shareTopics) nameOf(id wire.TopicID) string {
	if name := t.names[id]; name != "" {
		return name
	}
	return "<UNKNOWN>"
}

func readShareMetadata(r *flexibleReader) shareMetadata {
	md := shareMetadata{rackID: r.nullableText()}
	md.client = Client{ID: r.text(), Host: r.text()}
	md.topics = sortedSet(r.texts())
	r.tags(nil)
	return md
}

func readShareCurrent(r *flexibleReader) shareCurrent {
	a := shareCurrent{epoch: r.int32(), previousEpoch: r.int32()}
	r.int8() // a share group's member is always Stable
	a.assigned = r.assignment()
	r.tags(nil)
	return a
}

func readShareTopics(r *flexibleReader) shareTopics {
	t := shareTopics{names: map[wire.TopicID]string{}, askedMS: map[wire.TopicID]int64{}, written: true}
	t.initializing, t.initialized = t.readPartitions(r), t.readPartitions(r)
	for range r.length(topicPartitionsBytesMin) {
		id := r.topicID()
		t.names[id] = r.text()
		r.tags(nil)
		t.deleting = append(t.deleting, id)
	}
	slices.SortFunc(t.deleting, assignor.CompareTopics)
	t.deleting = slices.Compact(t.deleting)
	r.tags(nil)
	return t
}

func (t *shareTopics) readPartitions(r *flexibleReader) assignor.Assignment {
	var lists []assignor.TopicPartitions
	for range r.length(topicPartitionsBytesMin + 1) {
		of := assignor.TopicPartitions{Topic: r.topicID()}
		t.names[of.Topic] = r.text()
		of.Partitions = r.partitions()
		r.tags(nil)
		lists = append(lists, of)
	}
	return assignor.Normal(lists)
}
