package cluster

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// machine is a coordinator of either kind (node/coordinators.go).
type machine[E any] interface {
	comparable
	Tick(nowMS int64, wall wire.Timestamp) E
}

// shards are the coordinators of one kind on a node, by place: those whose partitions it leads.
type shards[C machine[E], E any] struct {
	node   *Node
	kind   shardKind[C, E]
	byIdx  []*shard[C, E]
	handle uint64 // the newest
}

// shardKind is what the coordinators of one kind have of their own.
type shardKind[C machine[E], E any] struct {
	empty  func(r *replica) C
	replay func(c C, batch wire.RecordBatch, rec wire.Record) error
	begin  func(c C) E
	apply  func(s *shard[C, E], fx E)
}

// shard is a coordinator with the partition that has its records, for as long as the node leads that under one epoch. It refuses until
// it has read the partition (node/shard.go).
type shard[C machine[E], E any] struct {
	owner       *shards[C, E]
	replica     *replica
	epoch       wire.LeaderEpoch
	coordinator C
	loaded      bool
	ended       bool
	early       []earlyEvent
	asked       map[uint64]waitingAnswer
	dueMS       int64  // when a Tick is due
	timer       int64  // when the earliest timer that is set goes off
	hasRead     func() // called once the partition is read: a fault may be aimed at that
}

// earlyEvent waits for the partition to be read; lost runs instead if that never ends.
type earlyEvent struct{ run, lost func() }

// waitingAnswer is a request that the coordinator has under way.
type waitingAnswer struct {
	answer func(kmsg.Response)
	refuse func()
}

// inboxDelay is how long an event takes to a node's coordinators, which run beside its partitions: in order.
const inboxDelay = 200 * time.Microsecond

// later runs fn on the node's coordinators, behind what they were given before.
func (n *Node) later(fn func()) { n.process.After(inboxDelay, fn) }

// nowMS is the node's monotonic clock as coordinators have it.
func (n *Node) nowMS() int64 { return int64(n.now() / time.Millisecond) }

func newShards[C machine[E], E any](n *Node, kind shardKind[C, E]) *shards[C, E] {
	return &shards[C, E]{node: n, kind: kind, byIdx: make([]*shard[C, E], len(n.cluster.places))}
}

// lead makes the coordinator of a partition that the node leads from now on, and has it read its records.
func (s *shards[C, E]) lead(r *replica, epoch wire.LeaderEpoch) {
	c := s.node.cluster
	fresh := &shard[C, E]{
		owner: s, replica: r, epoch: epoch, coordinator: s.kind.empty(r), asked: map[uint64]waitingAnswer{}, dueMS: math.MaxInt64, timer: math.MaxInt64,
		hasRead: r.hasComeToLead(),
	}
	s.node.later(func() {
		s.giveUp(r.index)
		s.byIdx[r.index] = fresh
	})
	longest := 20 * time.Millisecond
	if !c.calm && world.Chance(c.world.Coordinators, 0.2) {
		longest = 600 * time.Millisecond
	}
	s.node.process.After(world.Between(c.world.Coordinators, 2*inboxDelay, longest), fresh.load)
}

// resign gives up the coordinator of a partition that the node leads no more.
func (s *shards[C, E]) resign(index int) { s.node.later(func() { s.giveUp(index) }) }

func (s *shards[C, E]) giveUp(index int) {
	old := s.byIdx[index]
	if old == nil {
		return
	}
	s.byIdx[index] = nil
	old.ended = true
	for _, h := range slices.Sorted(maps.Keys(old.asked)) {
		old.asked[h].refuse()
	}
	for _, e := range old.early {
		e.lost()
	}
	old.asked, old.early = nil, nil
}

// load reads the records that the partition has now, and serves with what they say once none of them can be lost any more.
func (s *shard[C, E]) load() {
	n := s.owner.node
	if s.ended || s.replica.gone {
		return
	}
	fresh, end := s.owner.kind.empty(s.replica), s.replica.log.LogEndOffset()
	err := s.replica.read(0, end, math.MaxInt, func(batches []byte) error {
		return recordsOf(batches, func(b wire.RecordBatch, rec wire.Record) error { return s.owner.kind.replay(fresh, b, rec) })
	})
	if err != nil {
		n.cluster.world.Fail("I12", "%s cannot load partition %d: %v", n.process.Name(), s.replica.index, err)
		return
	}
	s.hasRead()
	n.process.After(world.Between(n.cluster.world.Coordinators, inboxDelay, 20*time.Millisecond), func() { s.serve(fresh, end) })
}

// safeEvery is how often a coordinator that has read its log looks whether all of that is below the high watermark.
const safeEvery = 5 * time.Millisecond

func (s *shard[C, E]) serve(fresh C, end wire.Offset) {
	if s.ended {
		return
	}
	if s.replica.partition.HighWatermark() < end {
		s.owner.node.process.After(safeEvery, func() { s.serve(fresh, end) })
		return
	}
	s.coordinator = fresh
	s.owner.kind.apply(s, s.owner.kind.begin(fresh))
	s.loaded = true
	early := s.early
	s.early = nil
	for _, e := range early {
		e.run()
	}
}

// whenLoaded runs f at once, or after the partition was read.
func (s *shard[C, E]) whenLoaded(f, lost func()) {
	if s.loaded {
		f()
		return
	}
	s.early = append(s.early, earlyEvent{f, lost})
}

// take notes a request; the handle leads to whom its answer goes.
func (s *shard[C, E]) take(answer func(kmsg.Response), refuse func()) uint64 {
	s.owner.handle++
	s.asked[s.owner.handle] = waitingAnswer{answer, refuse}
	return s.owner.handle
}

// answer hands a reply to who waits for it.
func (s *shard[C, E]) answer(handle uint64, resp kmsg.Response) {
	w := s.asked[handle]
	delete(s.asked, handle)
	w.answer(resp)
}

// append sends records to the shard's partition; then is told what came of it, unless the shard is over by then.
func (s *shard[C, E]) append(b internalBatch, then func(c C, code wire.ErrorCode) E) {
	c := s.coordinator
	b.epoch = &s.epoch
	s.owner.node.appendInternal(s.replica.index, b, func(code wire.ErrorCode) {
		s.report(c, func() E { return then(c, code) })
	})
}

// report tells the coordinator c how something ended that it asked for.
func (s *shard[C, E]) report(c C, what func() E) {
	s.owner.node.later(func() {
		if s.coordinator == c && !s.ended {
			s.owner.kind.apply(s, what())
		}
	})
}

// due sets when the coordinator's Tick is due.
func (s *shard[C, E]) due(atMS int64) {
	s.dueMS = atMS
	if atMS >= s.timer {
		return
	}
	n := s.owner.node
	s.timer = atMS
	n.process.After(time.Duration(float64(max(atMS-n.nowMS(), 1)*int64(time.Millisecond))/n.pace), func() {
		if s.ended || s.timer != atMS {
			return
		}
		s.timer = math.MaxInt64
		if s.dueMS <= n.nowMS() {
			s.owner.kind.apply(s, s.coordinator.Tick(n.nowMS(), n.wallClock()))
		} else {
			s.due(s.dueMS)
		}
	})
}

// recordsOf gives each record of batches, and a control batch once.
func recordsOf(batches []byte, each func(wire.RecordBatch, wire.Record) error) error {
	for len(batches) > 0 {
		b, tail, err := wire.ReadRecordBatch(batches)
		if err != nil {
			return err
		}
		batches = tail
		if b.IsControl() {
			if err := each(b, wire.Record{}); err != nil {
				return err
			}
			continue
		}
		it, err := b.Records(nil)
		if err != nil {
			return err
		}
		for r, ok := it.Next(); ok; r, ok = it.Next() {
			if err := each(b, r); err != nil {
				return err
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}
