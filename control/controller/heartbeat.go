package controller

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// brokerState is where a node stands (Kafka's BrokerControlState).
type brokerState int8

const (
	fenced brokerState = iota
	unfenced
	controlledShutdown
	shutdownNow
)

// Heartbeat answers a BrokerHeartbeat (63): it keeps the node's session alive, and moves the node on in its life. A stale broker epoch
// is answered STALE_BROKER_EPOCH: the node must register again. lacking are replicas that it cannot be counted on for; before it is let
// into service they are given up.
func (c *Controller) Heartbeat(m *image.Image, now time.Duration, req *kmsg.BrokerHeartbeatRequest, lacking ...LackingReplica) ([]image.Record, *kmsg.BrokerHeartbeatResponse) {
	resp := kmsg.NewPtrBrokerHeartbeatResponse()
	resp.Version, resp.IsFenced = req.Version, true
	b, code := checkBrokerEpoch(m, wire.NodeID(req.BrokerID), wire.BrokerEpoch(req.BrokerEpoch))
	if code != wire.None {
		resp.ErrorCode = int16(code)
		return nil, resp
	}
	s := c.begin(m)
	s.giveUp(b, lacking)
	session := c.session(b.ID, now)
	current := c.brokerState(b, session)
	next := s.nextState(b, session, current, req, now)
	if next != current {
		s.enter(b, next)
	}
	session.lastContact, session.offset = now, req.CurrentMetadataOffset
	if next == controlledShutdown && session.shutdownOffset < 0 {
		session.shutdownOffset = int64(s.m.Version()) - 1
	}
	resp.IsCaughtUp = req.CurrentMetadataOffset >= int64(b.Epoch)
	resp.IsFenced = next == fenced || next == shutdownNow
	resp.ShouldShutdown = next == shutdownNow
	return s.records, resp
}

// brokerState: a shutdown is known to the controller that granted it; its successor is asked again.
func (c *Controller) brokerState(b *image.Broker, session *session) brokerState {
	switch {
	case b.Fenced:
		return fenced
	case session.shutdownOffset >= 0:
		return controlledShutdown
	}
	return unfenced
}

// nextState is BrokerHeartbeatManager.calculateNextBrokerState.
func (s *step) nextState(b *image.Broker, session *session, current brokerState, req *kmsg.BrokerHeartbeatRequest, now time.Duration) brokerState {
	leads := s.c.index.leads[b.ID] > 0
	switch {
	case current == fenced && req.WantShutdown:
		return shutdownNow
	case current == fenced && !req.WantFence && req.CurrentMetadataOffset >= int64(b.Epoch):
		return unfenced
	case current == fenced:
		return fenced
	case current == controlledShutdown && !leads && session.shutdownOffset <= s.c.lowestActiveOffset(s.m, now):
		return shutdownNow
	case current == controlledShutdown:
		return controlledShutdown
	case req.WantFence && !req.WantShutdown:
		return fenced
	case req.WantFence, req.WantShutdown && !leads:
		return shutdownNow
	case req.WantShutdown:
		return controlledShutdown
	}
	return unfenced
}

func (s *step) enter(b *image.Broker, next brokerState) {
	switch next {
	case fenced, shutdownNow:
		if !b.Fenced {
			s.fence(b)
		}
	case unfenced:
		s.unfence(b)
	case controlledShutdown:
		s.beginShutdown(b)
	}
}
