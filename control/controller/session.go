package controller

import (
	"math"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// session is what the controller knows of a node from its heartbeats (Kafka's BrokerHeartbeatState).
type session struct {
	lastContact time.Duration
	offset      int64 // of the last record that the node applied; -1: not yet known
	// shutdownOffset is the offset that everybody must have applied before the node may stop; -1: it is in no controlled shutdown.
	shutdownOffset int64
}

func newSession(now time.Duration) *session {
	return &session{lastContact: now, offset: -1, shutdownOffset: -1}
}

// session gives the session of a registered node.
func (c *Controller) session(id wire.NodeID, now time.Duration) *session {
	s := c.sessions[id]
	if s == nil {
		s = newSession(now)
		c.sessions[id] = s
	}
	return s
}

// hasValidSession: nobody else may take the node's id.
func (c *Controller) hasValidSession(b *image.Broker, now time.Duration) bool {
	return !b.Fenced && c.session(b.ID, now).lastContact+c.config.SessionTimeout >= now
}

// staleBroker gives the node that was silent for longest among those whose session is over, nil if there is none.
func (c *Controller) staleBroker(m *image.Image, now time.Duration) (stale *image.Broker) {
	for b := range m.Brokers() {
		if b.Fenced || c.hasValidSession(b, now) {
			continue
		}
		if stale == nil || c.session(b.ID, now).lastContact < c.session(stale.ID, now).lastContact {
			stale = b
		}
	}
	return stale
}

// lowestActiveOffset is what all active nodes have applied; the highest number if there is none.
func (c *Controller) lowestActiveOffset(m *image.Image, now time.Duration) int64 {
	lowest := int64(math.MaxInt64)
	for b := range m.Brokers() {
		if s := c.session(b.ID, now); !b.Fenced && s.shutdownOffset < 0 {
			lowest = min(lowest, s.offset)
		}
	}
	return lowest
}
