package controller

import (
	"slices"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// leaveISR takes a node out of every in-sync set, and moves what it leads. The image must know already that it may not lead.
func (s *step) leaveISR(id wire.NodeID) {
	s.settle(s.c.index.holds[id], func(p *image.PartitionState) bool { return p.InSync(id) }, func(change *elect.Change) {
		change.ISR = wire.WithoutNodes(change.ISR, id)
	})
}

// lose is leaveISR for a node that no longer has all that it had: it leaves every ELR as well. wiped: it has nothing.
func (s *step) lose(id wire.NodeID, wiped bool) {
	counts := func(p *image.PartitionState) bool {
		return p.InSync(id) || slices.Contains(p.ELR, id) || wiped && slices.Contains(p.LastKnownELR, id)
	}
	s.settle(s.c.index.holds[id], counts, func(change *elect.Change) {
		change.ISR, change.Lost, change.Wiped = wire.WithoutNodes(change.ISR, id), id, wiped
	})
}

// fence takes a node out of service.
func (s *step) fence(b *image.Broker) {
	s.addBroker(b, func(b *image.Broker) { b.Fenced = true })
	s.leaveISR(b.ID)
	if session := s.c.sessions[b.ID]; session != nil {
		session.shutdownOffset = -1 // its next heartbeat makes it stop at once
	}
}

// unfence takes a node into service: leaderless partitions that it can lead get a leader.
func (s *step) unfence(b *image.Broker) {
	s.addBroker(b, func(b *image.Broker) { b.Fenced, b.ShuttingDown = false, false })
	s.electLeaderless()
}

// electLeaderless tries an election in every partition without a leader.
func (s *step) electLeaderless() {
	s.settle(s.c.index.leaderless, func(p *image.PartitionState) bool { return p.Leader == wire.NoNode }, func(*elect.Change) {})
}

// beginShutdown moves away what a node leads before it stops.
func (s *step) beginShutdown(b *image.Broker) {
	if !b.ShuttingDown {
		s.addBroker(b, func(b *image.Broker) { b.ShuttingDown = true })
	}
	s.leaveISR(b.ID)
}

// addBroker changes what is registered of b.
func (s *step) addBroker(b *image.Broker, change func(*image.Broker)) {
	next := *b
	change(&next)
	s.add(image.BrokerRecord{Broker: next})
}

// checkBrokerEpoch refuses a node that is not registered, or that speaks for an earlier run.
func checkBrokerEpoch(m *image.Image, id wire.NodeID, epoch wire.BrokerEpoch) (*image.Broker, wire.ErrorCode) {
	b := m.Broker(id)
	if b == nil || b.Epoch != epoch {
		return nil, wire.StaleBrokerEpoch
	}
	return b, wire.None
}
