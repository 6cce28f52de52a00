package controller

import (
	"slices"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// LackingReplica is a replica that may lack what it has promised to keep: its log is damaged, was lost, or lies in a log directory that
// has failed. Its node names it with every heartbeat until nobody counts on it.
type LackingReplica struct {
	Topic     wire.TopicID
	Partition wire.PartitionIndex
	// Since is the newest leader epoch in which it may have promised something.
	Since wire.LeaderEpoch
	// Gone: nothing is left of it, and the node goes on without (ringmill.missing.data). Whoever has a part of it is better, for an operator to elect.
	Gone bool
}

// giveUp takes a node's lacking replicas out of the ISR and the ELR, under another leader epoch, so that no fetch of theirs that is still
// on its way counts; nor is it fallen back on as the last known leader. A replica stays what it is as long as nobody else has all that was
// acknowledged, and a leader as long as nobody else who has it can lead; but one of which nothing is left leads only where there is no other.
func (s *step) giveUp(b *image.Broker, lacking []LackingReplica) {
	var records []image.Record
	taken := make(map[partitionName]bool) // a heartbeat may name a replica twice
	for _, l := range lacking {
		name := partitionName{l.Topic, int32(l.Partition)}
		t := s.m.ByID(l.Topic)
		if t == nil || taken[name] {
			continue
		}
		p := partition{t, l.Partition, t.State(l.Partition)}
		if p.state == nil || !s.mayGiveUp(b.ID, p.state, l) {
			continue
		}
		after, changed := s.state(p, func(change *elect.Change) {
			change.ISR, change.Lost, change.Lacking, change.Wiped = wire.WithoutNodes(change.ISR, b.ID), b.ID, true, true
		})
		if changed {
			records, taken[name] = append(records, p.record(after)), true
		}
	}
	s.add(records...)
}

// mayGiveUp says whether there is something to give up, and enough without it.
func (s *step) mayGiveUp(id wire.NodeID, p *image.PartitionState, l LackingReplica) bool {
	others := wire.WithoutNodes(slices.Concat(p.ISR, p.ELR), id)
	switch {
	case !p.HasReplica(id), !p.Counted(id) && !slices.Contains(p.LastKnownELR, id) && p.LeaderEpoch > l.Since:
		return false
	case l.Gone && p.Leader != id:
		return len(p.Replicas) > 1
	case len(others) == 0:
		return false
	}
	return p.Leader != id || slices.ContainsFunc(others, s.canJoin)
}
