package image

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// Image is one moment of the metadata. It never changes; all methods may be called from anywhere at any time. The zero
// value is the moment before the first record.
type Image struct {
	version uint64
	cluster ClusterRecord

	names  shards[string, *Topic]
	ids    shards[wire.TopicID, *Topic]
	folded shards[string, []string] // names that hold '.' or '_', by foldName
	order  ordered

	partitions     int64 // of all topics
	configs        map[Resource]map[string]string
	quotas         map[QuotaEntity]map[string]float64
	scram          map[SCRAMUser]*SCRAMCredential
	acls           aclTable
	nextProducerID wire.ProducerID
	leaderEpoch    int64
	features       map[string]int16 // levels, by name; replaced whole
	brokers        []*Broker        // by id; replaced whole
}

// Version is the offset that the next record of the metadata log gets: it rises with every record.
func (m *Image) Version() uint64 { return m.version }

// ClusterID names the cluster; "" before the first ClusterRecord.
func (m *Image) ClusterID() string { return m.cluster.ClusterID }

// NodeID is the node that the log belongs to, as the ClusterRecord has it.
func (m *Image) NodeID() wire.NodeID { return m.cluster.NodeID }

// NextProducerID is the first producer id that was never handed out.
func (m *Image) NextProducerID() wire.ProducerID { return m.nextProducerID }

// LeaderEpoch is the node's leader epoch; 0 before the first LeaderEpochRecord. It counts over all topics, and so may pass what a
// partition's can be.
func (m *Image) LeaderEpoch() int64 { return m.leaderEpoch }

// LeaderEpochOf is the leader epoch of a topic's partitions: how far the node's has risen since the topic was created.
func (m *Image) LeaderEpochOf(t *Topic) wire.LeaderEpoch {
	return wire.LeaderEpoch(min(m.leaderEpoch-t.LeaderEpochBase, math.MaxInt32))
}

// FeatureLevel is the level that a feature was finalized at; set is false if no record says so.
func (m *Image) FeatureLevel(name string) (level int16, set bool) {
	level, set = m.features[name]
	return level, set
}

// Features gives the levels of all finalized features by name; read-only.
func (m *Image) Features() map[string]int16 { return m.features }

// ByName gives the topic of that name, nil if there is none.
func (m *Image) ByName(name string) *Topic {
	t, _ := m.names.get(nameShard(name), name)
	return t
}

// ByID gives the topic of that id, nil if there is none.
func (m *Image) ByID(id wire.TopicID) *Topic {
	t, _ := m.ids.get(idShard(id), id)
	return t
}

// idShard takes the last byte: ids are random.
func idShard(id wire.TopicID) uint8 { return id[len(id)-1] }

// Topics yields all topics in the order of their names.
func (m *Image) Topics() iter.Seq[*Topic] { return m.order.from("") }

// TopicsFrom yields the topics whose names are not below name, in order: where a cursor left off.
func (m *Image) TopicsFrom(name string) iter.Seq[*Topic] { return m.order.from(name) }

// TopicCount is the number of topics.
func (m *Image) TopicCount() int { return m.names.count }

// PartitionCount is the number of partitions of all topics.
func (m *Image) PartitionCount() int64 { return m.partitions }

// Configs gives the overrides of a resource, nil if it has none; read-only. A topic's are Topic.Configs, which this finds
// too.
func (m *Image) Configs(r Resource) map[string]string {
	if r.Type == TopicResource {
		if t := m.ByName(r.Name); t != nil {
			return t.Configs
		}
		return nil
	}
	return m.configs[r]
}

// BrokerConfigs gives the dynamic configuration of one broker, "" for the default of the whole cluster; nil if there is
// none; read-only.
func (m *Image) BrokerConfigs(name string) map[string]string {
	return m.configs[Resource{Type: BrokerResource, Name: name}]
}

// GroupOverrides gives what is configured for the group of that id, nil if nothing is; read-only.
func (m *Image) GroupOverrides(id string) map[string]string {
	return m.configs[Resource{Type: GroupResource, Name: id}]
}

// Resources yields the resources other than topics that have overrides, in no order.
func (m *Image) Resources() iter.Seq[Resource] { return maps.Keys(m.configs) }

// ResourceCount is how many resources other than topics have overrides.
func (m *Image) ResourceCount() int { return len(m.configs) }

// Colliding gives the name of a topic whose metrics would share a name with a topic called name: the two differ only in
// '.' against '_'. "" if there is none; name itself does not count.
func (m *Image) Colliding(name string) string {
	others, _ := m.folded.get(nameShard(foldName(name)), foldName(name))
	for _, other := range others {
		if other != name {
			return other
		}
	}
	return ""
}

// CheckNewTopicName is wire.CheckTopicName, and Kafka's rule that a new topic must not collide with one that is there. That a
// topic of that very name exists is not looked at. The error is a *wire.TopicNameError.
func (m *Image) CheckNewTopicName(name string) error {
	if err := wire.CheckTopicName(name); err != nil {
		return err
	}
	if other := m.Colliding(name); other != "" {
		return &wire.TopicNameError{Name: name, Problem: fmt.Sprintf("Topic '%s' collides with existing topic: %s", name, other)}
	}
	return nil
}

// foldName maps names that collide in metrics' names to one string: '.' and '_' are the same there.
func foldName(name string) string { return strings.ReplaceAll(name, ".", "_") }
