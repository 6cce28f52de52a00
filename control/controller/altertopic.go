package controller

import (
	"fmt"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// CreatePartitions raises a topic's partition count to count. assignment has the replicas of each new partition; nil lets the
// controller place them, as many as partition 0 has.
func (c *Controller) CreatePartitions(m *image.Image, topic string, count int32, assignment [][]wire.NodeID) ([]image.Record, Refusal) {
	t := m.ByName(topic)
	switch {
	case t == nil:
		return nil, Refusal{Code: wire.UnknownTopicOrPartition}
	case count == t.Partitions:
		return nil, Refusal{wire.InvalidPartitions, fmt.Sprintf("Topic already has %d partition(s).", t.Partitions)}
	case count < t.Partitions:
		return nil, Refusal{wire.InvalidPartitions, fmt.Sprintf("The topic %s currently has %d partition(s); %d would not be an increase.", topic, t.Partitions, count)}
	case assignment != nil && len(assignment) != int(count-t.Partitions):
		return nil, Refusal{wire.InvalidReplicaAssignment, fmt.Sprintf("Attempted to add %d additional partition(s), but only %d assignment(s) were specified.",
			count-t.Partitions, len(assignment))}
	}
	if count-t.Partitions > partitionsMax {
		return nil, tooManyPartitions()
	}
	first := t.State(0)
	if first == nil {
		return nil, Refusal{wire.UnknownServerError, fmt.Sprintf("Invalid state: topic %s appears to have no partitions.", topic)}
	}
	s, factor := c.begin(m), len(first.Replicas)
	place := func() ([]image.PartitionState, Refusal) { return s.place(count-t.Partitions, int16(factor), "") }
	if assignment != nil {
		place = func() ([]image.PartitionState, Refusal) { return s.assign(t.Partitions, assignment, factor) }
	}
	states, why := place()
	if why.Code != wire.None {
		return nil, why
	}
	s.add(appendStates([]image.Record{image.PartitionsRecord{ID: t.ID, Partitions: count}}, t.ID, t.Partitions, states)...)
	return s.records, Refusal{}
}

// DeleteTopic removes a topic with all that it has.
func (c *Controller) DeleteTopic(m *image.Image, id wire.TopicID) ([]image.Record, Refusal) {
	if m.ByID(id) == nil {
		return nil, Refusal{Code: wire.UnknownTopicID}
	}
	s := c.begin(m)
	s.add(image.RemoveTopicRecord{ID: id})
	return s.records, Refusal{}
}
