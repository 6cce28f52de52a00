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
// It is made when the node begins to lead the partition under a leader epoch, with an empty coordinator, which refuses with
// COORDINATOR_LOAD_IN_PROGRESS; clients try that again. Meanwhile its partition is replayed into another coordinator, in the
// background. When that is done, and all that was read is below the high watermark, the shard has that one, and serves until
// the node stops or the partition is led under another epoch, by this node or another. If the partition cannot be read it
// keeps the empty one, and refuses until then.
type shard[C any] struct {
	index wire.PartitionIndex
	// leaderEpoch is what this node leads the partition under: its records are appended under that or not at all.
	leaderEpoch wire.LeaderEpoch
	coordinator C
	// nextTickMS is when the coordinator's Tick is due.
	nextTickMS int64
	// loaded says that the partition has been replayed; early are the events that wait for it, in order.
	loaded bool
	early  []earlyEvent
	// failed says that the replay has failed.
	failed bool
	// asked has what refuses each request that is under way, by its handle; ended says that this node leads the partition no more.
	asked map[uint64]func()
	ended bool
}

// earlyEvent is one that waits for a replay; lost is called instead if that never ends.
type earlyEvent struct{ run, lost func() }

func newShard[C any](index wire.PartitionIndex, epoch wire.LeaderEpoch, empty C) *shard[C] {
	return &shard[C]{index: index, leaderEpoch: epoch, coordinator: empty, nextTickMS: math.MaxInt64, asked: make(map[uint64]func())}
}

// asks notes a request that the coordinator has under way: refuse answers it if the shard ends before.
func (s *shard[C]) asks(handle uint64, refuse func()) { s.asked[handle] = refuse }

// answered says that the coordinator has answered a request.
func (s *shard[C]) answered(handle uint64) { delete(s.asked, handle) }

// end refuses what is under way: another node leads the partition.
func (s *shard[C]) end() {
	s.ended, s.nextTickMS = true, math.MaxInt64
	for _, refuse := range s.asked {
		refuse()
	}
	s.asked = nil
	for _, e := range s.early {
		e.lost()
	}
	s.early = nil
}

// whenLoaded runs f at once, or after the replay that may have seen the cause of it already; lost if the shard ends before.
func (s *shard[C]) whenLoaded(f, lost func()) {
	if s.loaded {
		f()
		return
	}
	s.early = append(s.early, earlyEvent{f, lost})
}

// endLoading runs what waited for the replay.
func (s *shard[C]) endLoading() {
	s.loaded = true
	for _, e := range s.early {
		e.run()
	}
	s.early = nil
}
