package controller

import (
	"maps"
	"slices"
	"time"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/reassign"
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

// drainEvery is how often a drain looks at what a node still has.
const drainEvery = time.Second

// drain goes on with what draining nodes still have.
func (s *step) drain(now time.Duration) {
	if now < s.c.drainAt {
		return
	}
	s.c.drainAt = now + drainEvery
	for b := range s.m.Brokers() {
		if b.Draining {
			s.moveLeaders(b)
		}
		if b.Emptying {
			s.moveReplicas(b)
		}
	}
}

// moveReplicas begins to move replicas away from b, as many as may be under way. What no other node can take stays.
func (s *step) moveReplicas(b *image.Broker) {
	free := movesMax - s.c.index.reassigning.total()
	if free <= 0 {
		return
	}
	nodes, load := placeable(s.m), maps.Clone(s.c.index.replicas)
	var records []image.Record
	stays := func(p *image.PartitionState) bool { return p.HasReplica(b.ID) && !p.Reassigning() }
	for p := range s.c.index.partitions(s.c.index.holds[b.ID], stays) {
		if len(records) == free {
			break
		}
		to, ok := reassign.Replacement(nodes, func(id wire.NodeID) int { return load[id] }, p.state.Replicas, b.ID)
		if !ok {
			continue
		}
		load[to]++
		replicas := slices.Clone(p.state.Replicas)
		replicas[slices.Index(replicas, b.ID)] = to
		if after, changed := s.reassigned(p, replicas).State(); changed {
			records = append(records, p.record(after))
		}
	}
	s.add(records...)
}
