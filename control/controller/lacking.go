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
}

// giveUp takes a node's lacking replicas out of the ISR and the ELR, under another leader epoch, so that no fetch of theirs that is still
// on its way counts. A replica stays what it is as long as nobody else has all that was acknowledged, and a leader as long as nobody else
// who has it can lead.
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
		if p.state == nil || !s.mayGiveUp(b.ID, p.state, l.Since) {
			continue
		}
		after, changed := s.state(p, func(change *elect.Change) {
			change.ISR, change.Lost, change.Lacking = wire.WithoutNodes(change.ISR, b.ID), b.ID, true
		})
		if changed {
			records, taken[name] = append(records, p.record(after)), true
		}
	}
	s.add(records...)
}

// mayGiveUp says whether there is something to give up, and enough without it.
func (s *step) mayGiveUp(id wire.NodeID, p *image.PartitionState, since wire.LeaderEpoch) bool {
	others := wire.WithoutNodes(slices.Concat(p.ISR, p.ELR), id)
	switch {
	case !p.HasReplica(id), len(others) == 0, !p.Counted(id) && p.LeaderEpoch > since:
		return false
	}
	return p.Leader != id || slices.ContainsFunc(others, s.canJoin)
}
