package image

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// stateChunk splits a topic's partitions so that changing one copies 2 KiB and a spine of 24 bytes a chunk: 10 KiB for a topic
// of 100,000 partitions.
const stateChunk = 256

// states is an immutable sequence of partition states in chunks of stateChunk, the last one shorter. The zero value is empty.
type states [][]*PartitionState

func (s states) get(i wire.PartitionIndex) *PartitionState {
	chunk, at := int(i)/stateChunk, int(i)%stateChunk
	if i < 0 || chunk >= len(s) || at >= len(s[chunk]) {
		return nil
	}
	return s[chunk][at]
}

// statesEdit is a topic that an edit made for itself, and which of its chunks are the edit's own.
type statesEdit struct {
	topic  *Topic
	chunks []bool
}

// ownStates gives the edit's own copy of t, in all of the edit's views.
func (e *editor) ownStates(t *Topic) *statesEdit {
	if owned := e.states[t.ID]; owned != nil && owned.topic == t {
		return owned
	}
	c := *t
	chunks := (int(c.Partitions) + stateChunk - 1) / stateChunk
	c.states = make(states, chunks)
	copy(c.states, t.states)
	owned := &statesEdit{topic: &c, chunks: make([]bool, chunks)}
	if e.states == nil {
		e.states = make(map[wire.TopicID]*statesEdit)
	}
	e.states[t.ID] = owned
	e.put(&c)
	return owned
}

func (o *statesEdit) set(i wire.PartitionIndex, s *PartitionState) {
	chunk, at := int(i)/stateChunk, int(i)%stateChunk
	if !o.chunks[chunk] {
		o.chunks[chunk] = true
		size := min(stateChunk, int(o.topic.Partitions)-chunk*stateChunk)
		old := o.topic.states[chunk]
		o.topic.states[chunk] = append(slices.Grow([]*PartitionState(nil), size), old...)[:size]
	}
	o.topic.states[chunk][at] = s
}
