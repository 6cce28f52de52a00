package controller

import (
	"time"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// Tick does what is due at now: it fences nodes whose session is over, elects uncleanly where topics allow it, brings partitions back
// to their preferred leaders, and goes on with drains. It is called some times a second.
func (c *Controller) Tick(m *image.Image, now time.Duration) []image.Record {
	s := c.begin(m)
	for b := c.staleBroker(s.m, now); b != nil; b = c.staleBroker(s.m, now) {
		s.fence(b) // one at a time, so that each sees what the one before it did
	}
	s.electUncleanly(now)
	s.preferLeaders(now)
	s.drain(now)
	return s.records
}

// Lost fences a node at once whose process is known to be gone: its host answers that nobody listens where the node did. A node that lives
// all the same comes back with its next heartbeat.
func (c *Controller) Lost(m *image.Image, id wire.NodeID) []image.Record {
	s := c.begin(m)
	if b := m.Broker(id); b != nil && !b.Fenced {
		s.fence(b)
	}
	return s.records
}

// electUncleanly gives leaderless partitions a leader where the topic prefers that to none, at times and when a configuration changed.
func (s *step) electUncleanly(now time.Duration) {
	due := now >= s.c.uncleanAt
	if changed := s.c.index.takeConfigsChanged(); !due && !changed {
		return
	}
	s.c.uncleanAt = now + s.c.config.UncleanCheck
	s.electLeaderless()
}

// preferLeaders elects preferred leaders, a bounded number in a step; what is left is due at once.
func (s *step) preferLeaders(now time.Duration) {
	if s.c.config.LeaderRebalance == 0 || now < s.c.rebalanceAt {
		return
	}
	var records []image.Record
	for p := range s.c.index.partitions(s.c.index.imbalanced, notPreferred) {
		change := s.change(p)
		change.Election = elect.Preferred
		if after, changed := change.State(); changed {
			records = append(records, p.record(after))
		}
		if len(records) == movesMax {
			s.add(records...)
			return
		}
	}
	s.c.rebalanceAt = now + s.c.config.LeaderRebalance
	s.add(records...)
}

func notPreferred(s *image.PartitionState) bool { return s.Leader != s.Replicas[0] }

func leads(id wire.NodeID) func(*image.PartitionState) bool {
	return func(s *image.PartitionState) bool { return s.Leader == id }
}
