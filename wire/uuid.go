package wire

import (
	"encoding/base64"
	"fmt"
)

// UUID is a 128-bit identity, of a directory, a node's run or a topic. The zero value means "none".
type UUID [16]byte

// TopicID is a topic's identity (KIP-516).
type TopicID = UUID

// IsZero reports whether id is the "none" value.
func (id UUID) IsZero() bool { return id == UUID{} }

// String gives the 22 characters of URL-safe base64 that Kafka's tools, meta.properties and partition.metadata have.
func (id UUID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseUUID reads the form that String writes; ok is false if s is not 16 bytes of URL-safe base64.
func ParseUUID(s string) (id UUID, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return UUID{}, false
	}
	copy(id[:], b)
	return id, true
}

// MarshalText is String, for JSON.
func (id UUID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseUUID, for JSON.
func (id *UUID) UnmarshalText(text []byte) error {
	parsed, ok := ParseUUID(string(text))
	if !ok {
		return fmt.Errorf("wire: %q is not a UUID", text)
	}
	*id = parsed
	return nil
}
