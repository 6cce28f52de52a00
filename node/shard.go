package node

import (
	"math"

	"github.com/ringmill/ringmill/wire"
)

// shard is a coordinator with the partition of an internal topic that holds its records; its service's goroutine owns it.
//
//	made ─▶ loading ─▶ loaded
//	           └─────▶ failed
//
// It is made with the topic, or when the node starts, with an empty coordinator, which refuses with
// COORDINATOR_LOAD_IN_PROGRESS; clients try that again. Meanwhile its partition is replayed into another coordinator, in the
// background. When that is done the shard has that one, and serves until the node stops. If the partition cannot be read it
// keeps the empty one, and refuses until the node starts again.
type shard[C any] struct {
	index       wire.PartitionIndex
	coordinator C
	// nextTickMS is when the coordinator's Tick is due.
	nextTickMS int64
	// loaded says that the partition has been replayed; early are the events that wait for it, in order.
	loaded bool
	early  []func()
}

func newShard[C any](i int, empty C) *shard[C] {
	return &shard[C]{index: wire.PartitionIndex(i), coordinator: empty, nextTickMS: math.MaxInt64}
}

// whenLoaded runs f at once, or after the replay that may have seen the cause of it already.
func (s *shard[C]) whenLoaded(f func()) {
	if s.loaded {
		f()
		return
	}
	s.early = append(s.early, f)
}

// endLoading runs what waited for the replay.
func (s *shard[C]) endLoading() {
	s.loaded = true
	for _, f := range s.early {
		f()
	}
	s.early = nil
}
