package controller

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// AlterPartition answers a leader's AlterPartition (56) of version 2 or 3: the in-sync sets that it asks for, if it still leads and
// all members may join (KIP-497, KIP-841, KIP-903). Where the new set completes a reassignment and so moves the leader, the answer is
// NEW_LEADER_ELECTED although the set was taken.
func (c *Controller) AlterPartition(m *image.Image, req *kmsg.AlterPartitionRequest) ([]image.Record, *kmsg.AlterPartitionResponse) {
	resp := kmsg.NewPtrAlterPartitionResponse()
	resp.Version = req.Version
	b, code := checkBrokerEpoch(m, wire.NodeID(req.BrokerID), wire.BrokerEpoch(req.BrokerEpoch))
	if code != wire.None {
		resp.ErrorCode = int16(code)
		return nil, resp
	}
	s := c.begin(m)
	var records []image.Record
	taken := make(map[partitionName]bool) // a request may name a partition twice
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewAlterPartitionResponseTopic()
		out.TopidID = t.TopicID
		for j := range t.Partitions {
			name := partitionName{t.TopicID, t.Partitions[j].Partition}
			p, record := s.alterISR(b, m.ByID(t.TopicID), isrRequest(req.Version, &t.Partitions[j]))
			if record != nil && taken[name] {
				p, record = refusedISR(t.Partitions[j].Partition, wire.InvalidUpdateVersion), nil
			}
			if record != nil {
				records, taken[name] = append(records, record), true
			}
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	s.add(records...)
	return s.records, resp
}

// partitionName is a partition as a request names it.
type partitionName struct {
	topic wire.TopicID
	index int32
}

func refusedISR(partition int32, code wire.ErrorCode) kmsg.AlterPartitionResponseTopicPartition {
	out := kmsg.NewAlterPartitionResponseTopicPartition()
	out.Partition, out.ErrorCode = partition, int16(code)
	return out
}

// isrAsked is one partition of an AlterPartition, as all versions have it.
type isrAsked struct {
	*kmsg.AlterPartitionRequestTopicPartition
	isr    []wire.NodeID
	epochs []wire.BrokerEpoch // of the ISR's members; wire.NoBrokerEpoch: not checked
}

func isrRequest(version int16, p *kmsg.AlterPartitionRequestTopicPartition) isrAsked {
	asked := isrAsked{AlterPartitionRequestTopicPartition: p}
	if version < 3 {
		for _, id := range p.NewISR {
			asked.isr, asked.epochs = append(asked.isr, wire.NodeID(id)), append(asked.epochs, wire.NoBrokerEpoch)
		}
		return asked
	}
	for _, member := range p.NewEpochISR {
		asked.isr, asked.epochs = append(asked.isr, wire.NodeID(member.BrokerID)), append(asked.epochs, wire.BrokerEpoch(member.BrokerEpoch))
	}
	return asked
}

// recovering is the leader recovery state of a leader that was elected uncleanly and is not done (KIP-704).
const recovering int8 = 1

// alterISR answers for one partition. The record is nil if nothing changes.
func (s *step) alterISR(b *image.Broker, t *image.Topic, asked isrAsked) (out kmsg.AlterPartitionResponseTopicPartition, record image.Record) {
	if t == nil {
		return refusedISR(asked.Partition, wire.UnknownTopicID), nil
	}
	out = kmsg.NewAlterPartitionResponseTopicPartition()
	out.Partition = asked.Partition
	p := partition{t, wire.PartitionIndex(asked.Partition), t.State(wire.PartitionIndex(asked.Partition))}
	if code := s.checkISR(b, p.state, asked); code != wire.None {
		out.ErrorCode = int16(code)
		return out, nil
	}
	after, changed := s.state(p, func(change *elect.Change) {
		change.ISR, change.Recovering = asked.isr, asked.LeaderRecoveryState == recovering
	})
	if !changed {
		describeISR(&out, p.state)
		return out, nil
	}
	if after.Leader != b.ID {
		out.ErrorCode = int16(wire.NewLeaderElected)
	} else {
		describeISR(&out, &after)
	}
	return out, p.record(after)
}

func describeISR(out *kmsg.AlterPartitionResponseTopicPartition, s *image.PartitionState) {
	out.LeaderID, out.LeaderEpoch, out.PartitionEpoch, out.ISR = int32(s.Leader), int32(s.LeaderEpoch), int32(s.PartitionEpoch), wire.NodeNumbers(s.ISR)
	if s.Recovering {
		out.LeaderRecoveryState = recovering
	}
}

// checkISR is ReplicationControlManager.validateAlterPartitionData.
func (s *step) checkISR(b *image.Broker, p *image.PartitionState, asked isrAsked) wire.ErrorCode {
	if p == nil {
		return wire.UnknownTopicOrPartition
	}
	leaderEpoch, partitionEpoch := wire.LeaderEpoch(asked.LeaderEpoch), wire.PartitionEpoch(asked.PartitionEpoch)
	recovers := asked.LeaderRecoveryState == recovering
	switch {
	case leaderEpoch > p.LeaderEpoch, partitionEpoch > p.PartitionEpoch:
		return wire.NotController // the leader knows more than this controller: there must be another
	case leaderEpoch < p.LeaderEpoch:
		return wire.FencedLeaderEpoch
	case b.ID != p.Leader:
		return wire.InvalidRequest
	case partitionEpoch < p.PartitionEpoch:
		return wire.InvalidUpdateVersion
	case !validISR(p.Replicas, asked.isr), !slices.Contains(asked.isr, b.ID), recovers && len(asked.isr) > 1, recovers && !p.Recovering:
		return wire.InvalidRequest
	case !s.eligible(asked):
		return wire.IneligibleReplica
	}
	return wire.None
}

// validISR: each member is a replica, and none is there twice.
func validISR(replicas, isr []wire.NodeID) bool {
	for i, id := range isr {
		if !slices.Contains(replicas, id) || slices.Contains(isr[:i], id) {
			return false
		}
	}
	return true
}

// eligible: every member is in service, and the run of it that the leader speaks of is the registered one (KIP-903).
func (s *step) eligible(asked isrAsked) bool {
	for i, id := range asked.isr {
		if s.canLead(id) == elect.Unfit {
			return false
		}
		if epoch := asked.epochs[i]; epoch != wire.NoBrokerEpoch && epoch != s.m.Broker(id).Epoch {
			return false
		}
	}
	return true
}
