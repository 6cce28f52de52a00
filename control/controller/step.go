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

	minISROf *image.Topic // that minISR is of, in the image m: configurations are layered, and topics have many partitions
	minISR   int
}

// begin brings the index up to m.
func (c *Controller) begin(m *image.Image) *step {
	c.index.follow(m)
	return &step{c: c, m: m}
}

// add appends records that the controller made, and goes on from what they lead to.
func (s *step) add(records ...image.Record) {
	if err := s.try(records...); err != nil {
		panic("BUG: the controller made a record that does not fit: " + err.Error())
	}
}

// try is add for records with texts of a request's in them. The error is a *image.RecordError; nothing was appended then.
func (s *step) try(records ...image.Record) error {
	if len(records) == 0 {
		return nil
	}
	next, err := s.m.With(records...)
	if err != nil {
		return err
	}
	s.records, s.m, s.minISROf = append(s.records, records...), next, nil
	s.c.index.follow(next)
	return nil
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
	if s.minISROf != p.topic {
		s.minISROf, s.minISR = p.topic, s.c.config.MinISR(s.m, p.topic)
	}
	return elect.NewChange(p.state, s.minISR, s.canLead)
}

// state is what becomes of p by edit. If that leaves nobody to lead it is tried once more, uncleanly, where the topic allows it.
func (s *step) state(p partition, edit func(*elect.Change)) (after image.PartitionState, changed bool) {
	change := s.change(p)
	edit(change)
	after, changed = change.State()
	if after.Leader != wire.NoNode || !s.c.config.UncleanElection(s.m, p.topic) {
		return after, changed
	}
	change = s.change(p)
	edit(change)
	change.Election = elect.Unclean
	return change.State()
}

// settle appends what becomes of the partitions of topics that match: leave nodes' places, and find leaders
// (generateLeaderAndIsrUpdates). All of it is one batch on the image as it is.
func (s *step) settle(topics topicCounts, match func(*image.PartitionState) bool, edit func(*elect.Change)) {
	var records []image.Record
	for p := range s.c.index.partitions(topics, match) {
		if after, changed := s.state(p, edit); changed {
			records = append(records, p.record(after))
		}
	}
	s.add(records...)
}

func (p partition) record(after image.PartitionState) image.PartitionRecord {
	return image.PartitionRecord{Topic: p.topic.ID, Partition: p.index, State: after}
}
