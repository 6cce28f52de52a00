package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/reassign"
	"github.com/ringmill/ringmill/wire"
)

// TopicSpec is a topic that is to be made. Its configuration was judged before.
type TopicSpec struct {
	Name              string
	ID                wire.TopicID
	Partitions        int32           // -1: the default; -1 with an Assignment
	ReplicationFactor int16           // -1: the default; -1 with an Assignment
	Assignment        [][]wire.NodeID // by partition, the preferred leader first; empty: the controller places the replicas
	Configs           map[string]string
}

// CreateTopic makes a topic with its partitions. The records are its TopicRecord, its configuration and one PartitionRecord each.
func (c *Controller) CreateTopic(m *image.Image, spec TopicSpec) ([]image.Record, Refusal) {
	if m.ByName(spec.Name) != nil {
		return nil, Refusal{wire.TopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", spec.Name)}
	}
	if err := m.CheckNewTopicName(spec.Name); err != nil {
		return nil, Refusal{wire.InvalidTopicException, err.Error()}
	}
	s := c.begin(m)
	states, why := s.newTopicStates(spec)
	if why.Code != wire.None {
		return nil, why
	}
	records := []image.Record{image.TopicRecord{Name: spec.Name, ID: spec.ID, Partitions: int32(len(states))}}
	for _, key := range slices.Sorted(maps.Keys(spec.Configs)) {
		value := spec.Configs[key]
		records = append(records, image.ConfigRecord{Resource: image.Resource{Type: image.TopicResource, Name: spec.Name}, Key: key, Value: &value})
	}
	if err := s.try(appendStates(records, spec.ID, 0, states)...); err != nil {
		return nil, Refusal{wire.InvalidConfig, err.Error()} // all else is ours
	}
	return s.records, Refusal{}
}

// partitionsMax is how many partitions one call makes at most (ReplicationControlManager.MAX_PARTITIONS_PER_BATCH).
const partitionsMax = 10_000

func tooManyPartitions() Refusal {
	return Refusal{wire.PolicyViolation, "Excessively large number of partitions per request."}
}

func (s *step) newTopicStates(spec TopicSpec) ([]image.PartitionState, Refusal) {
	if len(spec.Assignment) > 0 {
		return s.assignedStates(spec)
	}
	switch {
	case spec.ReplicationFactor < -1 || spec.ReplicationFactor == 0:
		return nil, Refusal{wire.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value."}
	case spec.Partitions < -1 || spec.Partitions == 0:
		return nil, Refusal{wire.InvalidPartitions, "Number of partitions was set to an invalid non-positive value."}
	}
	partitions, factor := spec.Partitions, spec.ReplicationFactor
	if partitions == -1 {
		partitions = s.c.config.NumPartitions
	}
	if factor == -1 {
		factor = s.c.config.DefaultReplicationFactor
	}
	if partitions > partitionsMax {
		return nil, tooManyPartitions()
	}
	return s.place(partitions, factor, fmt.Sprintf("Unable to replicate the partition %d time(s): ", factor))
}

// assignedStates takes the replicas that the request names.
func (s *step) assignedStates(spec TopicSpec) ([]image.PartitionState, Refusal) {
	switch {
	case spec.ReplicationFactor != -1:
		return nil, Refusal{wire.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1."}
	case spec.Partitions != -1:
		return nil, Refusal{wire.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1."}
	}
	return s.assign(0, spec.Assignment, len(spec.Assignment[0]))
}

// place lets the placer choose. Its refusal is told behind prefix, which Kafka has for new topics alone. A partition whose replicas are
// all on their way out cannot be made.
func (s *step) place(partitions int32, factor int16, prefix string) ([]image.PartitionState, Refusal) {
	placed, err := reassign.Place(placeable(s.m), partitions, factor, s.c.config.Random)
	var problem *reassign.PlacementError
	if errors.As(err, &problem) {
		return nil, Refusal{wire.InvalidReplicationFactor, prefix + problem.Problem}
	}
	states := make([]image.PartitionState, len(placed))
	for i, replicas := range placed {
		state, ok := s.newState(replicas)
		if !ok {
			return nil, Refusal{wire.InvalidReplicationFactor,
				fmt.Sprintf("Unable to replicate the partition %d time(s): All brokers are currently fenced or in controlled shutdown.", factor)}
		}
		states[i] = state
	}
	return states, Refusal{}
}

// placeable are the nodes that new replicas may be placed on.
func placeable(m *image.Image) (nodes []reassign.Node) {
	for b := range m.Brokers() {
		if !b.Draining && (b.Fenced || !b.ShuttingDown) {
			nodes = append(nodes, reassign.Node{ID: b.ID, Rack: b.Rack, Fenced: b.Fenced})
		}
	}
	return nodes
}

// assign makes partitions from first on with the replicas that are named; all have factor of them.
func (s *step) assign(first int32, assignment [][]wire.NodeID, factor int) ([]image.PartitionState, Refusal) {
	states := make([]image.PartitionState, len(assignment))
	for i, replicas := range assignment {
		if why := s.checkAssignment(replicas, factor); why.Code != wire.None {
			return nil, why
		}
		state, ok := s.newState(slices.Clone(replicas))
		if !ok {
			return nil, Refusal{wire.InvalidReplicaAssignment,
				fmt.Sprintf("All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", int(first)+i)}
		}
		states[i] = state
	}
	return states, Refusal{}
}

// anyFactor lets a manual assignment have as many replicas as it wants.
const anyFactor = -1

// checkAssignment is ReplicationControlManager.validateManualPartitionAssignment.
func (s *step) checkAssignment(replicas []wire.NodeID, factor int) Refusal {
	if len(replicas) == 0 {
		return Refusal{wire.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list."}
	}
	ids := slices.Sorted(slices.Values(replicas))
	for i, id := range ids {
		if s.m.Broker(id) == nil {
			return Refusal{wire.InvalidReplicaAssignment, fmt.Sprintf("The manual partition assignment includes broker %d, but no such broker is registered.", id)}
		}
		if i > 0 && ids[i-1] == id {
			return Refusal{wire.InvalidReplicaAssignment, fmt.Sprintf("The manual partition assignment includes the broker %d more than once.", id)}
		}
	}
	if factor != anyFactor && len(ids) != factor {
		return Refusal{wire.InvalidReplicaAssignment, fmt.Sprintf("The manual partition assignment includes a partition with %d replica(s), "+
			"but this is not consistent with previous partitions, which have %d replica(s).", len(ids), factor)}
	}
	return Refusal{}
}

// newState is a new partition's first state: all replicas that are in service are in sync. ok is false if none is.
func (s *step) newState(replicas []wire.NodeID) (state image.PartitionState, ok bool) {
	isr := slices.DeleteFunc(slices.Clone(replicas), func(id wire.NodeID) bool { return !s.canJoin(id) })
	if len(isr) == 0 {
		return state, false
	}
	return image.PartitionState{Replicas: replicas, ISR: isr, Leader: isr[0]}, true
}

func appendStates(records []image.Record, topic wire.TopicID, first int32, states []image.PartitionState) []image.Record {
	for i, state := range states {
		records = append(records, image.PartitionRecord{Topic: topic, Partition: wire.PartitionIndex(int(first) + i), State: state})
	}
	return records
}
