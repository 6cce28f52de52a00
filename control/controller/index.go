package controller

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// index finds the topics that an event touches. It counts partitions by topic, so that it is small, and what it finds costs as
// much as the topics' partitions.
type index struct {
	image *image.Image // that it says

	holds       map[wire.NodeID]topicCounts // replicas
	replicas    map[wire.NodeID]int         // all that a node holds
	leads       map[wire.NodeID]int         // partitions
	leaderless  topicCounts
	eligible    topicCounts // with an ELR
	imbalanced  topicCounts // led by another than the preferred leader
	reassigning topicCounts

	configsChanged bool // since takeConfigsChanged
}

// topicCounts is how many partitions of a topic are of a kind; none is 0.
type topicCounts map[wire.TopicID]int

func (t topicCounts) add(id wire.TopicID, n int) {
	if t[id] += n; t[id] == 0 {
		delete(t, id)
	}
}

// total is how many partitions there are of the kind.
func (t topicCounts) total() (n int) {
	for _, count := range t {
		n += count
	}
	return n
}

// sorted gives the topics, always in the same order.
func (t topicCounts) sorted() []wire.TopicID {
	return slices.SortedFunc(maps.Keys(t), func(a, b wire.TopicID) int { return bytes.Compare(a[:], b[:]) })
}

func newIndex() index {
	return index{image: new(image.Image), holds: make(map[wire.NodeID]topicCounts), replicas: make(map[wire.NodeID]int), leads: make(map[wire.NodeID]int),
		leaderless: make(topicCounts), eligible: make(topicCounts), imbalanced: make(topicCounts), reassigning: make(topicCounts)}
}

// follow makes the index say m, a later Image of the same history, or an earlier one: what was decided on it was not kept.
func (x *index) follow(m *image.Image) {
	switch {
	case m == x.image:
	case m.Version() < x.image.Version():
		x.add(image.Diff(m, x.image), -1)
	default:
		x.add(image.Diff(x.image, m), 1)
	}
	x.image = m
}

// add makes the index say what d leads to, or with n = -1 what it comes from.
func (x *index) add(d image.Delta, n int) {
	for _, t := range d.Removed {
		x.countAll(t, -n)
	}
	for _, t := range d.Created {
		x.countAll(t, n)
	}
	for _, change := range d.Changed {
		x.configsChanged = x.configsChanged || change.ConfigsChanged()
		for _, s := range change.Partitions() {
			x.count(change.Old.ID, s[0], -n)
			x.count(change.New.ID, s[1], n)
		}
	}
	x.configsChanged = x.configsChanged || len(d.Resources) > 0
}

func (x *index) countAll(t *image.Topic, n int) {
	for _, s := range t.States() {
		x.count(t.ID, s, n)
	}
}

func (x *index) count(id wire.TopicID, s *image.PartitionState, n int) {
	if s == nil {
		return
	}
	for _, node := range s.Replicas {
		if x.holds[node] == nil {
			x.holds[node] = make(topicCounts)
		}
		x.holds[node].add(id, n)
		x.replicas[node] += n
	}
	if s.Leader == wire.NoNode {
		x.leaderless.add(id, n)
	} else {
		x.leads[s.Leader] += n
	}
	if s.Leader != s.Replicas[0] {
		x.imbalanced.add(id, n)
	}
	if len(s.ELR) > 0 {
		x.eligible.add(id, n)
	}
	if s.Reassigning() {
		x.reassigning.add(id, n)
	}
}

func (x *index) takeConfigsChanged() bool {
	changed := x.configsChanged
	x.configsChanged = false
	return changed
}

// partition is one partition of an Image.
type partition struct {
	topic *image.Topic
	index wire.PartitionIndex
	state *image.PartitionState
}

// partitions yields the partitions of topics that match, always in the same order.
func (x *index) partitions(topics topicCounts, match func(*image.PartitionState) bool) iter.Seq[partition] {
	m := x.image
	return func(yield func(partition) bool) {
		for _, id := range topics.sorted() {
			t := m.ByID(id)
			for i, s := range t.States() {
				if match(s) && !yield(partition{t, i, s}) {
					return
				}
			}
		}
	}
}
