package node

import (
	"log/slog"
	"math"
	"time"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// coordinatorService runs the coordinators of one kind, of type C with effects E: one goroutine owns them all, takes requests
// and reports from an inbox, and sends their records to the partitions of their topic like any producer.
//
//	request ─▶ inbox ─▶ coordinator ─▶ apply ─▶ replies
//	             ▲                       └▶ records ─▶ the shard's partition ─┐
//	             └────────────────────────────────── report ◀─────────────────┘
type coordinatorService[C machine[E], E any] struct {
	node  *Node
	kind  coordinatorKind[C, E]
	inbox serviceInbox
	// shards are by partition of the topic, nil for those that another node leads; none while there is no topic. The
	// goroutine's alone.
	shards []*shard[C]
	logs   coordinatorLogs
}

// machine is a coordinator: one shard's state, which is driven by calls and says what is to be done for it.
type machine[E any] interface {
	comparable
	Tick(nowMS int64, wall wire.Timestamp) E
	// GiveUp gives back what it takes of the memory of all; it is not called again.
	GiveUp()
}

// coordinatorKind is what the coordinators of one kind have of their own.
type coordinatorKind[C machine[E], E any] struct {
	// name is the kind's in metrics and on /readyz; the others are its words in log lines.
	name, coordinator, record, keeps string
	// topic is the internal topic that keeps their records, created what it is made with.
	topic   string
	created func() (partitions int32, configs map[string]string)
	// prepare is called in the background before the first partition is replayed; nil if there is nothing to do.
	prepare func()
	// empty makes the coordinator of a partition, on any goroutine.
	empty func(p *partition) C
	// replay takes one record, or a control batch with its first record, into a coordinator that no one else knows yet.
	replay func(c C, batch wire.RecordBatch, rec wire.Record) error
	// begin ends the replay of the coordinator that a shard has now.
	begin func(s *shard[C]) E
	// apply does what the coordinator of a shard asks for.
	apply func(s *shard[C], fx E)
	// resigned is told of a shard that is given up; nil if there is nothing to do.
	resigned func(s *shard[C])
}

func newCoordinatorService[C machine[E], E any](n *Node, kind coordinatorKind[C, E]) *coordinatorService[C, E] {
	return &coordinatorService[C, E]{node: n, kind: kind, inbox: newServiceInbox(), logs: coordinatorLogs{kind: kind.name}}
}

// run is the goroutine; it ends when the node stops.
func (s *coordinatorService[C, E]) run() { s.inbox.run(s.node.quit, s.tick) }

// tick runs the timers that are due and says how long until the next.
func (s *coordinatorService[C, E]) tick() time.Duration {
	now := s.node.nowMS()
	next := int64(math.MaxInt64)
	for _, shard := range s.shards {
		if shard == nil {
			continue
		}
		if shard.nextTickMS <= now {
			s.kind.apply(shard, shard.coordinator.Tick(now, wallNow()))
		}
		next = min(next, shard.nextTickMS)
	}
	return tickIn(next - now)
}

// start makes the shards of the topic, if there is one.
func (s *coordinatorService[C, E]) start() {
	if t := s.node.topics.named([]byte(s.kind.topic)); t != nil {
		s.lead(t, t.led())
	}
}

// topicReady makes the topic if it is not there yet; false while that is not possible. It waits for other changes of the
// metadata, such as a topic of thousands of partitions in the making, only if there is something to make.
func (s *coordinatorService[C, E]) topicReady() bool {
	n := s.node
	made := func() bool { return n.topics.named([]byte(s.kind.topic)) != nil }
	if made() {
		return true
	}
	if n.cluster != nil {
		return n.cluster.makeInternalTopic(s.kind.topic, s.kind.created)
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	if made() {
		return true
	}
	partitions, configs := s.kind.created()
	t, err := n.createTopic(s.kind.topic, partitions, configs)
	if err != nil {
		n.log.throttled(s.kind.topic+" cannot be made", "error", err)
		return false
	}
	s.lead(t, t.led())
	return true
}

// lead makes a shard for each of these partitions of the topic, which this node leads from now on, and loads them in the
// background, a few side by side. Any goroutine may call, and a loop too.
func (s *coordinatorService[C, E]) lead(t *topic, led []wire.PartitionIndex) {
	shards := make([]*shard[C], len(led))
	for i, index := range led {
		p := t.parts[index]
		shards[i] = newShard(index, wire.LeaderEpoch(p.published.leaderEpoch.Load()), s.kind.empty(p))
	}
	s.logs.begin(len(shards))
	s.inbox.put(func() { s.take(shards, len(t.parts)) })
	go func() {
		switch {
		case s.kind.prepare == nil:
		case s.node.cluster != nil: // it may wait for a controller, and clients of groups and transactions that are there need none
			go s.kind.prepare()
		default:
			s.kind.prepare()
		}
		turns := make(chan struct{}, loadsAtOnce)
		for _, shard := range shards {
			turns <- struct{}{}
			go func() {
				defer func() { <-turns }()
				s.load(shard, t.parts[shard.index])
			}()
		}
	}()
}

// loadsAtOnce is how many partitions are replayed side by side: one that is long does not keep the others.
const loadsAtOnce = 4

// take has shards in the place of those that their partitions had; the topic has so many partitions.
func (s *coordinatorService[C, E]) take(shards []*shard[C], partitions int) {
	for len(s.shards) < partitions {
		s.shards = append(s.shards, nil)
	}
	for _, shard := range shards {
		s.giveUp(shard.index)
		s.shards[shard.index] = shard
	}
}

// resign gives up the coordinator of a partition that this node leads no more: whoever waits for it is told to look for the
// new one.
func (s *coordinatorService[C, E]) resign(index wire.PartitionIndex) {
	s.inbox.put(func() { s.giveUp(index) })
}

func (s *coordinatorService[C, E]) giveUp(index wire.PartitionIndex) {
	if int(index) >= len(s.shards) || s.shards[index] == nil {
		return
	}
	old := s.shards[index]
	s.shards[index] = nil
	old.coordinator.GiveUp()
	if s.kind.resigned != nil {
		s.kind.resigned(old)
	}
	if old.failed {
		s.logs.failed.Add(-1)
	}
	old.end()
}

// each calls f for every shard of this node.
func (s *coordinatorService[C, E]) each(f func(*shard[C])) {
	for _, shard := range s.shards {
		if shard != nil {
			f(shard)
		}
	}
}

// load replays a partition into a coordinator and hands that to the goroutine, which serves with it once all of it is safe. Where the shard
// has ended meanwhile nobody asks for it.
func (s *coordinatorService[C, E]) load(shard *shard[C], p *partition) {
	fresh := s.kind.empty(p)
	end, err := s.node.readRecords(p, func(batch wire.RecordBatch, rec wire.Record) {
		if err := s.kind.replay(fresh, batch, rec); err != nil {
			s.node.log.throttled("a "+s.kind.record+" makes no sense and is left out", "partition", p.name(), "error", err)
		}
	})
	s.inbox.put(func() {
		if shard.ended {
			s.logs.end(nil)
			return
		}
		s.logs.end(err)
		if err != nil {
			shard.failed = true
			slog.Error(s.kind.coordinator+" cannot be loaded; its "+s.kind.keeps+" stay unavailable", "partition", p.name(), "error", err)
			return
		}
		if p.safe(end) {
			s.serve(shard, fresh)
			return
		}
		go func() {
			if s.node.awaitSafe(p, shard.leaderEpoch, end) {
				s.inbox.put(func() { s.serve(shard, fresh) })
			}
		}()
	})
}

// serve has a shard serve with the coordinator that has read its partition.
func (s *coordinatorService[C, E]) serve(shard *shard[C], fresh C) {
	if shard.ended {
		return
	}
	shard.coordinator = fresh
	s.kind.apply(shard, s.kind.begin(shard))
	shard.endLoading()
}

// safe says that all below end is below the high watermark: every later leader has it. What is above it a new leader may have of the one
// before; who was told of that, or got a marker of a transaction that is decided there, would see it undone if the leader after it has it not.
func (p *partition) safe(end wire.Offset) bool {
	return wire.Offset(p.published.highWatermark.Load()) >= end
}

// awaitSafe waits until all below end is safe; false if this node leads the partition under that epoch no more, or stops. The high watermark
// of a new leader rises when the others in sync have asked it for more.
func (n *Node) awaitSafe(p *partition, epoch wire.LeaderEpoch, end wire.Offset) bool {
	for !p.safe(end) {
		if p.gone.Load() || wire.LeaderEpoch(p.published.leaderEpoch.Load()) != epoch || !n.sleep(safePause) {
			return false
		}
	}
	return true
}

// safePause is between two looks at the high watermark: it rises a round trip after the followers have heard of their leader.
const safePause = 10 * time.Millisecond

// shardOf is the shard of a key; nil while there are none, and where another node has it. Kafka hashes groups, transactional ids
// and share partitions alike.
func (s *coordinatorService[C, E]) shardOf(key string) *shard[C] {
	if len(s.shards) == 0 {
		return nil
	}
	return s.shards[group.PartitionFor(key, int32(len(s.shards)))]
}

// absent is why there is no shard: the topic is there a moment before its coordinators are, and another node may have it.
func (s *coordinatorService[C, E]) absent() wire.ErrorCode {
	if len(s.shards) == 0 {
		return wire.CoordinatorNotAvailable
	}
	return wire.NotCoordinator
}

// report tells the coordinator c of a shard, from any goroutine, how something ended that it asked for. Where the shard has
// another one by then, no one asks any more.
func (s *coordinatorService[C, E]) report(shard *shard[C], c C, what func() E) {
	s.inbox.put(func() {
		if shard.coordinator == c && !shard.ended {
			s.kind.apply(shard, what())
		}
	})
}

// append sends records to a shard's partition; what came of it is reported by then.
func (s *coordinatorService[C, E]) append(shard *shard[C], b internalBatch, then func(c C, done replicate.Completion) E) {
	c := shard.coordinator
	b.epoch = &shard.leaderEpoch
	s.node.appendPlaced(s.kind.topic, shard.index, b, func(done replicate.Completion) {
		s.report(shard, c, func() E { return then(c, done) })
	})
}
