package image

import (
	"maps"

	"github.com/ringmill/ringmill/wire"
)

// Topic is one topic as an Image holds it; State gives its partitions. It is never changed once it is published: a change makes a new Topic.
type Topic struct {
	Name       string
	ID         wire.TopicID
	Partitions int32             // partitions 0 to Partitions-1 exist
	Configs    map[string]string // overrides alone; nil if there are none; read-only
	Internal   bool              // one of Kafka's own topics, by name
	// LeaderEpochBase is what the node's leader epoch was when the topic was created.
	LeaderEpochBase int64
	states          states
}

// Names of the topics that Kafka keeps its own state in.
const (
	ConsumerOffsetsTopic  = "__consumer_offsets"
	TransactionStateTopic = "__transaction_state"
	ShareGroupStateTopic  = "__share_group_state"
	// ClusterMetadataTopic is the quorum log of Apache Kafka's own nodes, and in requests about the quorum that of ringmill's; nobody may have a
	// topic of that name.
	ClusterMetadataTopic = "__cluster_metadata"
)

// IsInternal reports whether name is one of the topics that Kafka keeps its own state in
// (org.apache.kafka.common.internals.Topic). Other names that begin with two underscores are ordinary.
func IsInternal(name string) bool {
	switch name {
	case ConsumerOffsetsTopic, TransactionStateTopic, ShareGroupStateTopic:
		return true
	}
	return false
}

// withConfig gives a copy of t with one override set, or removed where value is nil.
func (t *Topic) withConfig(key string, value *string) *Topic {
	c := *t
	c.Configs = withEntry(t.Configs, key, value)
	return &c
}

// withPartitions gives a copy of t with n partitions.
func (t *Topic) withPartitions(n int32) *Topic {
	c := *t
	c.Partitions = n
	return &c
}

// withEntry gives a copy of m with key set to value, or without key where value is nil; nil if nothing is left.
func withEntry(m map[string]string, key string, value *string) map[string]string {
	c := maps.Clone(m)
	if value == nil {
		delete(c, key)
		if len(c) == 0 {
			return nil
		}
		return c
	}
	if c == nil {
		c = make(map[string]string, 1)
	}
	c[key] = *value
	return c
}
