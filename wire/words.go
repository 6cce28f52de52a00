package wire

import (
	"encoding/base64"
	"fmt"
)

// The scalars of the protocol. Each is a type of its own so that an Offset cannot be passed where a Position is due.
type (
	// Offset is a record's place in a partition's log, counted in records from 0. -1 means "none".
	Offset int64
	// Position is a byte position in a segment file.
	Position int64
	// Timestamp is milliseconds since the Unix epoch, as records carry it. -1 means "none".
	Timestamp int64
	// LeaderEpoch numbers the reigns of a partition's leaders. -1 means "unknown".
	LeaderEpoch int32
	// PartitionIndex is a partition's number within its topic.
	PartitionIndex int32
	// NodeID names a node of the cluster.
	NodeID int32
	// ProducerID names an idempotent or transactional producer. -1 means "none".
	ProducerID int64
	// ProducerEpoch fences earlier incarnations of a producer. -1 means "none".
	ProducerEpoch int16
	// Sequence numbers an idempotent producer's records within a partition; it wraps from 2³¹-1 to 0. -1 means "none".
	Sequence int32
	// APIKey names a request kind.
	APIKey int16
	// APIVersion is the version of a request kind's schema.
	APIVersion int16
	// CorrelationID ties a response to its request on one connection.
	CorrelationID int32
)

// NoOffset, NoTimestamp, NoLeaderEpoch, NoProducerID, NoProducerEpoch and NoSequence are the protocol's "none" values.
const (
	NoOffset        Offset        = -1
	NoTimestamp     Timestamp     = -1
	NoLeaderEpoch   LeaderEpoch   = -1
	NoProducerID    ProducerID    = -1
	NoProducerEpoch ProducerEpoch = -1
	NoSequence      Sequence      = -1
)

// TopicID is a topic's 128-bit identity (KIP-516). The zero value means "none".
type TopicID [16]byte

// IsZero reports whether id is the "none" value.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// String gives the 22 characters of URL-safe base64 that Kafka's tools and partition.metadata print.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseTopicID reads the form that String writes; ok is false if s is not 16 bytes of URL-safe base64.
func ParseTopicID(s string) (id TopicID, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return TopicID{}, false
	}
	copy(id[:], b)
	return id, true
}

// MarshalText is String, for JSON.
func (id TopicID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseTopicID, for JSON.
func (id *TopicID) UnmarshalText(text []byte) error {
	parsed, ok := ParseTopicID(string(text))
	if !ok {
		return fmt.Errorf("wire: %q is not a topic id", text)
	}
	*id = parsed
	return nil
}

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition PartitionIndex
}
