package cluster

import (
	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// topicName is that of the clients' topic.
const topicName = "t"

// topicIDs are the topics that a run may have.
var topicIDs = map[string]wire.TopicID{
	topicName: {0: 0x70, 15: 1}, image.TransactionStateTopic: {0: 0x70, 15: 2}, image.ConsumerOffsetsTopic: {0: 0x70, 15: 3},
}

// places are the partitions that a run has, of all topics: by their indexes in this list nodes and ledgers know them.
func (o *Options) places() (all []wire.TopicPartition) {
	add := func(topic string, partitions int) {
		for i := range partitions {
			all = append(all, wire.TopicPartition{Topic: topic, Partition: wire.PartitionIndex(i)})
		}
	}
	add(topicName, o.Partitions)
	add(image.TransactionStateTopic, o.Coordinators.TxnPartitions)
	add(image.ConsumerOffsetsTopic, o.Coordinators.GroupPartitions)
	return all
}

// at is the replica's partition in its topic.
func (r *replica) at() wire.PartitionIndex { return r.node.cluster.places[r.index].Partition }

// topic is the name of the replica's topic.
func (r *replica) topic() string { return r.node.cluster.places[r.index].Topic }

// stateOf is what an image says of a place; nil if it is not there.
func (c *Cluster) stateOf(m *image.Image, index int) (*image.Topic, *image.PartitionState) {
	topic := m.ByName(c.places[index].Topic)
	if topic == nil {
		return nil, nil
	}
	return topic, topic.State(c.places[index].Partition)
}

// placeOf finds a partition; -1 if the run has none of that name.
func (c *Cluster) placeOf(tp wire.TopicPartition) int {
	for i, at := range c.places {
		if at == tp {
			return i
		}
	}
	return -1
}

// coordinatorPlace is the place of the internal topic's partition that a key hashes to.
func (c *Cluster) coordinatorPlace(topic, key string) int {
	partitions := c.opt.Coordinators.TxnPartitions
	if topic == image.ConsumerOffsetsTopic {
		partitions = c.opt.Coordinators.GroupPartitions
	}
	index := wire.PartitionIndex(group.PartitionFor(key, int32(partitions)))
	return c.placeOf(wire.TopicPartition{Topic: topic, Partition: index})
}
