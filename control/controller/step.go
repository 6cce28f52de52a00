package controller

import (
	"github.com/ringmill/ringmill/control/elect"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// step is what one event changes: records, and the image that they lead to, on which later parts of the step are computed.
type step struct {
	c       *Controller
	m       *image.Image
	records []image.Record
}

// begin brings the index up to m.
func (c *Controller) begin(m *image.Image) *step {
	c.index.follow(m)
	return &step{c: c, m: m}
}

// add appends records and goes on from what they lead to.
func (s *step) add(records ...image.Record) {
	if len(records) == 0 {
		return
	}
	next, err := s.m.With(records...)
	if err != nil {
		panic("BUG: the controller made a record that does not fit: " + err.Error())
	}
	s.records, s.m = append(s.records, records...), next
	s.c.index.follow(next)
}

// canLead judges nodes by the step's image.
func (s *step) canLead(id wire.NodeID) elect.Fitness {
	b := s.m.Broker(id)
	switch {
	case b == nil || b.Fenced || b.ShuttingDown:
		return elect.Unfit
	case b.Draining:
		return elect.Reluctant
	}
	return elect.Fit
}

// canJoin: neither fenced nor in a controlled shutdown (Kafka's ClusterControlManager.isActive).
func (s *step) canJoin(id wire.NodeID) bool { return s.canLead(id) != elect.Unfit }

// change begins a change of p under the topic's configuration.
func (s *step) change(p partition) *elect.Change {
	return elect.NewChange(p.state, s.c.config.MinISR(s.m, p.topic), s.canLead)
}

// allowUnclean lets a change elect a leader that may lack something, if the topic's configuration does.
func (s *step) allowUnclean(t *image.Topic, change *elect.Change) {
	if s.c.config.UncleanElection(s.m, t) {
		change.Election = elect.Unclean
	}
}

// settle appends what becomes of the partitions of topics that match: leave nodes' places, and find leaders
// (generateLeaderAndIsrUpdates). All of it is one batch on the image as it is.
func (s *step) settle(topics topicCounts, match func(*image.PartitionState) bool, edit func(*elect.Change)) {
	var records []image.Record
	for p := range s.c.index.partitions(topics, match) {
		change := s.change(p)
		s.allowUnclean(p.topic, change)
		edit(change)
		if after, changed := change.State(); changed {
			records = append(records, p.record(after))
		}
	}
	s.add(records...)
}

func (p partition) record(after image.PartitionState) image.PartitionRecord {
	return image.PartitionRecord{Topic: p.topic.ID, Partition: p.index, State: after}
}
