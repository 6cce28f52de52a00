package controller

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/reassign"
	"github.com/ringmill/ringmill/wire"
)

// AlterPartitionReassignments answers an AlterPartitionReassignments (45, KIP-455): replicas are added beside the ones there are, and
// those that are to go leave when all of the new ones are in sync, by a leader's AlterPartition; at once if they are already. Null replicas
// cancel a reassignment.
func (c *Controller) AlterPartitionReassignments(m *image.Image, req *kmsg.AlterPartitionAssignmentsRequest) ([]image.Record, *kmsg.AlterPartitionAssignmentsResponse) {
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.Version, resp.AllowReplicationFactorChange = req.Version, req.AllowReplicationFactorChange
	s := c.begin(m)
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = t.Topic
		for j := range t.Partitions {
			why := s.reassign(t.Topic, &t.Partitions[j], req.Version < 1 || req.AllowReplicationFactorChange)
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition, p.ErrorCode = t.Partitions[j].Partition, int16(why.Code)
			if why.Message != "" {
				p.ErrorMessage = &why.Message
			}
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return s.records, resp
}

func (s *step) reassign(topic string, asked *kmsg.AlterPartitionAssignmentsRequestTopicPartition, anyReplicationFactor bool) Refusal {
	t := s.m.ByName(topic)
	if t == nil {
		return Refusal{wire.UnknownTopicOrPartition, fmt.Sprintf("Unable to find a topic named %s.", topic)}
	}
	p := partition{t, wire.PartitionIndex(asked.Partition), t.State(wire.PartitionIndex(asked.Partition))}
	switch {
	case p.state == nil:
		return Refusal{wire.UnknownTopicOrPartition, fmt.Sprintf("Unable to find partition %s:%d.", topic, asked.Partition)}
	case asked.Replicas == nil:
		return s.cancelReassignment(p)
	}
	replicas := wire.NodeIDs(asked.Replicas)
	if why := s.checkAssignment(replicas, anyFactor); why.Code != wire.None {
		return why
	}
	if now := len(p.state.Replicas) - len(p.state.Removing); !anyReplicationFactor && now != len(replicas) {
		return Refusal{wire.InvalidReplicationFactor, fmt.Sprintf("The replication factor is changed from %d to %d", now, len(replicas))}
	}
	s.moveTo(p, replicas)
	return Refusal{}
}

// moveTo begins to move a partition to replicas; if all of them are in sync it is done at once.
func (s *step) moveTo(p partition, replicas []wire.NodeID) {
	if after, changed := s.reassigned(p, replicas).State(); changed {
		s.add(p.record(after))
	}
}

// reassigned is the change that moves a partition to replicas.
func (s *step) reassigned(p partition, replicas []wire.NodeID) *elect.Change {
	change := s.change(p)
	target := reassign.TargetOf(p.state, replicas)
	change.Replicas, change.Adding, change.Removing = target.Replicas, target.Adding, target.Removing
	return change
}

// cancelReassignment takes away what a reassignment added, in sync or not.
func (s *step) cancelReassignment(p partition) Refusal {
	if !p.state.Reassigning() {
		return Refusal{Code: wire.NoReassignmentInProgress}
	}
	replicas, isr, unclean := reassign.Revert(p.state)
	if unclean && !s.c.config.UncleanElection(s.m, p.topic) {
		return Refusal{wire.InvalidReplicaAssignment, fmt.Sprintf("Unable to revert partition assignment for %s:%d because it would require an unclean leader election.",
			p.topic.Name, p.index)}
	}
	after, changed := s.state(p, func(change *elect.Change) {
		change.Replicas, change.ISR, change.Adding, change.Removing = replicas, isr, nil, nil
	})
	if changed {
		s.add(p.record(after))
	}
	return Refusal{}
}

// ListPartitionReassignments answers a ListPartitionReassignments (46). No topics (null) means all.
func (c *Controller) ListPartitionReassignments(m *image.Image, req *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	c.index.follow(m)
	resp := kmsg.NewPtrListPartitionReassignmentsResponse()
	resp.Version = req.Version
	if req.Topics == nil {
		for p := range c.index.partitions(c.index.reassigning, (*image.PartitionState).Reassigning) {
			resp.Topics = appendReassignment(resp.Topics, p)
		}
		return resp
	}
	for i := range req.Topics {
		t := m.ByName(req.Topics[i].Topic)
		if t == nil {
			continue
		}
		for _, n := range req.Topics[i].Partitions {
			p := partition{t, wire.PartitionIndex(n), t.State(wire.PartitionIndex(n))}
			if p.state != nil && p.state.Reassigning() {
				resp.Topics = appendReassignment(resp.Topics, p)
			}
		}
	}
	return resp
}

// appendReassignment adds a partition to the last topic if it is its own, or to a new one.
func appendReassignment(topics []kmsg.ListPartitionReassignmentsResponseTopic, p partition) []kmsg.ListPartitionReassignmentsResponseTopic {
	if len(topics) == 0 || topics[len(topics)-1].Topic != p.topic.Name {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		out.Topic = p.topic.Name
		topics = append(topics, out)
	}
	out := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
	out.Partition = int32(p.index)
	out.Replicas, out.AddingReplicas, out.RemovingReplicas = wire.NodeNumbers(p.state.Replicas), wire.NodeNumbers(p.state.Adding), wire.NodeNumbers(p.state.Removing)
	last := &topics[len(topics)-1]
	last.Partitions = append(last.Partitions, out)
	return topics
}
