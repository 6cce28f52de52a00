package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The versions of keys and values that Apache Kafka 4.1.1 writes. The version of a key says what kind of record it is.
const (
	keyOffsetCommitOld = 0 // as 1; written by very old brokers
	keyOffsetCommit    = 1
	keyGroupMetadata   = 2

	valueOffsetCommit       = 4
	valueOffsetCommitExpire = 1 // the one version that has an expiry time, for commits that ask for one
	valueGroupMetadata      = 3
)

func groupKey(id string) []byte {
	key := kmsg.NewGroupMetadataKey()
	key.Version, key.Group = keyGroupMetadata, id
	return key.AppendTo(nil)
}

// emptyGroupRecord is the first record of a group, written before it has a generation.
func emptyGroupRecord(g *group) wire.Record {
	value := kmsg.NewGroupMetadataValue()
	value.Version = valueGroupMetadata
	value.CurrentStateTimestamp = int64(g.stateSince)
	return wire.Record{Key: groupKey(g.id), Value: value.AppendTo(nil)}
}

// groupRecord is the group as it stands, with the members' assignments from assignmentOf.
func groupRecord(g *group, assignmentOf func(*member) []byte) wire.Record {
	value := kmsg.NewGroupMetadataValue()
	value.Version = valueGroupMetadata
	value.ProtocolType, value.Generation, value.Protocol = g.protocolType, g.generation, g.protocol
	value.CurrentStateTimestamp = int64(g.stateSince)
	if g.leader != "" {
		value.Leader = &g.leader
	}
	value.Members = make([]kmsg.GroupMetadataValueMember, 0, len(g.members))
	for m := g.first; m != nil; m = m.next {
		value.Members = append(value.Members, m.record(*g.protocol, assignmentOf(m)))
	}
	return wire.Record{Key: groupKey(g.id), Value: value.AppendTo(nil)}
}

func currentAssignment(m *member) []byte { return m.assignment }

func (m *member) record(protocol string, assignment []byte) kmsg.GroupMetadataValueMember {
	r := kmsg.NewGroupMetadataValueMember()
	r.MemberID, r.InstanceID, r.ClientID, r.ClientHost = m.id, m.instanceID, m.client.ID, m.client.Host
	r.RebalanceTimeoutMillis, r.SessionTimeoutMillis = m.rebalanceTimeoutMS, m.sessionTimeoutMS
	r.Subscription, r.Assignment = m.metadata(protocol), assignment
	return r
}

func groupTombstone(id string) wire.Record { return wire.Record{Key: groupKey(id)} }

func offsetKey(group, topic string, partition int32) []byte {
	key := kmsg.NewOffsetCommitKey()
	key.Version, key.Group, key.Topic, key.Partition = keyOffsetCommit, group, topic, partition
	return key.AppendTo(make([]byte, 0, 2+2+len(group)+2+len(topic)+4))
}

func offsetRecord(group, topic string, partition int32, o committedOffset) wire.Record {
	value := kmsg.NewOffsetCommitValue()
	value.Version = valueOffsetCommit
	if o.expiresAt != wire.NoTimestamp {
		value.Version = valueOffsetCommitExpire
	}
	value.Offset, value.LeaderEpoch, value.Metadata = o.offset, o.leaderEpoch, o.metadata
	value.CommitTimestamp, value.ExpireTimestamp = int64(o.committedAt), int64(o.expiresAt)
	return wire.Record{Key: offsetKey(group, topic, partition), Value: value.AppendTo(make([]byte, 0, 32+len(o.metadata)))}
}

func offsetTombstone(group, topic string, partition int32) wire.Record {
	return wire.Record{Key: offsetKey(group, topic, partition)}
}
