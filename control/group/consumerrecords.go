package group

import (
	"encoding/binary"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// consumerRecord makes the record of that name from what the group is now: a tombstone if there is nothing of that name.
func (g *group) consumerRecord(name recordName) wire.Record {
	if name.kind == recordClassicGroup {
		if g.consumer != nil {
			return groupTombstone(g.id)
		}
		return groupRecord(g, currentAssignment)
	}
	return wire.Record{Key: consumerKey(g.id, name), Value: g.consumerValue(name)}
}

// consumerKey is the version of the key, the group, and for some kinds a member id or a regular expression: strings with
// their lengths in two bytes.
func consumerKey(group string, name recordName) []byte {
	key := make([]byte, 0, 6+len(group)+len(name.of))
	key = binary.BigEndian.AppendUint16(key, uint16(name.kind))
	key = appendText(key, group)
	if name.kind.namesMore() {
		key = appendText(key, name.of)
	}
	return key
}

// namesMore reports whether the key has a second string.
func (k recordKind) namesMore() bool {
	switch k {
	case recordMember, recordTarget, recordCurrent, recordRegex, recordShareMember, recordShareTarget, recordShareCurrent:
		return true
	}
	return false
}

func appendText(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

func (g *group) consumerValue(name recordName) []byte {
	if name.kind.isShare() {
		return g.shareValue(name)
	}
	cg := g.consumer
	if cg == nil || g.state == Dead {
		return nil
	}
	switch name.kind {
	case recordGroup:
		return cg.appendGroup(nil)
	case recordTargetEpoch:
		return append(flexible(nil).version().int32(cg.targetEpoch), noTags)
	case recordRegex:
		if r := cg.regexes[name.of]; r != nil && r.resolved {
			return r.appendTo(nil)
		}
		return nil
	}
	m := cg.members[name.of]
	switch {
	case m == nil:
		return nil
	case name.kind == recordMember:
		return m.memberMetadata.appendTo(nil)
	case name.kind == recordTarget && m.hasTarget:
		return append(flexible(nil).version().assignment(m.target), noTags)
	case name.kind == recordCurrent:
		return m.memberCurrent.appendTo(nil)
	}
	return nil
}

// noTags ends a structure that has no tagged fields.
const noTags = 0

// appendGroup writes ConsumerGroupMetadataValue: version, int32 epoch, and as tag 0 the int64 hash of the topics, left out
// if it is 0.
func (cg *consumerGroup) appendGroup(dst []byte) []byte {
	f := flexible(dst).version().int32(cg.epoch)
	if cg.metadataHash == 0 {
		return append(f, noTags)
	}
	return append(f, 1, 0, 8).int64(int64(cg.metadataHash))
}

// appendTo writes ConsumerGroupMemberMetadataValue. A member of the classic protocol has its session timeout and protocols
// as tag 0, which others have as a null: a byte that says whether there is something.
func (a *memberMetadata) appendTo(dst []byte) []byte {
	f := flexible(dst).version().nullableText(a.instanceID).nullableText(a.rackID).text(a.client.ID).text(a.client.Host)
	f = f.texts(a.topics).text(a.regex).int32(a.rebalanceTimeoutMS).nullableText(a.assignor)
	if a.classic == nil {
		return append(f, 1, 0, 1, 0)
	}
	side := append(flexible(nil), 1).int32(a.classic.sessionTimeoutMS).length(len(a.classic.protocols))
	for i := range a.classic.protocols {
		side = append(side.text(a.classic.protocols[i].name).bytes(a.classic.protocols[i].metadata), noTags)
	}
	side = append(side, noTags)
	return append(binary.AppendUvarint(append(f, 1, 0), uint64(len(side))), side...)
}

// appendTo writes ConsumerGroupCurrentMemberAssignmentValue.
func (a *memberCurrent) appendTo(dst []byte) []byte {
	f := append(flexible(dst).version().int32(a.epoch).int32(a.previousEpoch), byte(a.state))
	return append(f.assignment(a.assigned).assignment(a.revoking), noTags)
}

// appendTo writes ConsumerGroupRegularExpressionValue.
func (r *regexSubscription) appendTo(dst []byte) []byte {
	return append(flexible(dst).version().texts(r.topics).int64(int64(r.topicsVersion)).int64(int64(r.resolvedAt)), noTags)
}

// flexible appends the primitives of Kafka's flexible encoding (KIP-482): lengths are varints, one more than they are, and
// 0 where there is nothing.
type flexible []byte

// version begins a value: two bytes, always 0 here.
func (f flexible) version() flexible { return append(f, 0, 0) }

func (f flexible) int32(v int32) flexible { return binary.BigEndian.AppendUint32(f, uint32(v)) }

func (f flexible) int64(v int64) flexible { return binary.BigEndian.AppendUint64(f, uint64(v)) }

func (f flexible) length(n int) flexible { return binary.AppendUvarint(f, uint64(n)+1) }

func (f flexible) text(s string) flexible { return append(f.length(len(s)), s...) }

func (f flexible) bytes(b []byte) flexible { return append(f.length(len(b)), b...) }

func (f flexible) nullableText(s *string) flexible {
	if s == nil {
		return append(f, 0)
	}
	return f.text(*s)
}

func (f flexible) texts(list []string) flexible {
	f = f.length(len(list))
	for _, s := range list {
		f = f.text(s)
	}
	return f
}

func (f flexible) assignment(a assignor.Assignment) flexible {
	f = f.length(len(a))
	for i := range a {
		f = append(f, a[i].Topic[:]...).length(len(a[i].Partitions))
		for _, p := range a[i].Partitions {
			f = f.int32(p)
		}
		f = append(f, noTags)
	}
	return f
}
