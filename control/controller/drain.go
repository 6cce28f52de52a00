package controller

import (
	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// DrainKind is what a drain takes from a node.
type DrainKind int8

// The kinds of drains.
const (
	DrainNothing  DrainKind = iota // the node serves as any other again
	DrainLeaders                   // it leads nothing that another can lead, and gets no new replica
	DrainReplicas                  // and its replicas move to other nodes, some at a time
)

// Drain begins or ends a drain of a node; it lasts over restarts of the node and the controller. Leaders move at once, replicas with
// the Ticks that follow. BROKER_ID_NOT_REGISTERED for a node that there is not.
func (c *Controller) Drain(m *image.Image, node wire.NodeID, kind DrainKind) ([]image.Record, Refusal) {
	b := m.Broker(node)
	if b == nil {
		return nil, notRegistered(node)
	}
	s := c.begin(m)
	draining, emptying := kind != DrainNothing, kind == DrainReplicas
	if b.Draining != draining || b.Emptying != emptying {
		s.addBroker(b, func(b *image.Broker) { b.Draining, b.Emptying = draining, emptying })
	}
	s.moveLeaders(b)
	return s.records, Refusal{}
}

// moveLeaders moves what a draining node leads to those who can lead it.
func (s *step) moveLeaders(b *image.Broker) {
	if s.c.index.leads[b.ID] > 0 && s.canLead(b.ID) == elect.Reluctant {
		s.settle(s.c.index.holds[b.ID], leads(b.ID), func(*elect.Change) {})
	}
}

// drain goes on with what draining nodes still have.
func (s *step) drain() {
	for b := range s.m.Brokers() {
		if b.Draining {
			s.moveLeaders(b)
		}
	}
}
