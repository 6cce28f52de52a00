package controller

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/reassign"
	"github.com/ringmill/ringmill/wire"
)

// drainKey is the property of a node by which an operator drains it, and its values; any other is that of a node that serves. It lasts over
// restarts of the node and the controller.
const (
	drainKey      = "ringmill.drain"
	drainLeaders  = "leaders"  // it leads nothing that another can lead, and gets no new replica
	drainReplicas = "replicas" // and its replicas move to other nodes, some at a time
)

// configuredDrain is what a node's configuration says of its image.Broker's Draining and Emptying.
func configuredDrain(m *image.Image, id wire.NodeID) (draining, emptying bool) {
	switch m.BrokerConfigs(strconv.Itoa(int(id)))[drainKey] {
	case drainLeaders:
		return true, false
	case drainReplicas:
		return true, true
	}
	return false, false
}

// drainAsConfigured begins or ends the drain of a node by its configuration, where it is registered; one that is not is drained when it
// registers. Leaders move at once, replicas with the Ticks that follow.
func (s *step) drainAsConfigured(name string) {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return
	}
	b := s.m.Broker(wire.NodeID(id))
	if b == nil {
		return
	}
	if draining, emptying := configuredDrain(s.m, b.ID); b.Draining != draining || b.Emptying != emptying {
		s.addBroker(b, func(b *image.Broker) { b.Draining, b.Emptying = draining, emptying })
	}
	s.moveLeaders(b)
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
