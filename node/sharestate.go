package node

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// shareStateService runs the share coordinator, which keeps the states of share partitions: one goroutine owns its shards,
// takes operations and reports from an inbox, and sends their records to the partitions of __share_group_state like any
// producer.
type shareStateService struct {
	node  *Node
	inbox serviceInbox
	// shards are by partition of __share_group_state; the goroutine's alone, as all below.
	shards []*shareStateShard
	// waiting are the operations under way, by handle. What is called must not block.
	waiting map[share.Handle]func(share.Result)
	next    share.Handle
	stopped chan struct{}
	logs    coordinatorLogs
}

// shareStateShard is one coordinator with the partition that holds its records.
type shareStateShard struct {
	index       wire.PartitionIndex
	coordinator *share.StateCoordinator
	nextTickMS  int64
}

func newShareStateService(n *Node) *shareStateService {
	return &shareStateService{
		node: n, inbox: newServiceInbox(), waiting: make(map[share.Handle]func(share.Result)), stopped: make(chan struct{}),
		logs: coordinatorLogs{kind: "share-group"},
	}
}

// run is the goroutine; it ends when the node stops.
func (s *shareStateService) run() {
	defer close(s.stopped)
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		for _, f := range s.inbox.take() {
			f()
		}
		tick.Reset(s.tick())
		select {
		case <-s.inbox.wake:
		case <-tick.C:
		case <-s.node.quit:
			return
		}
	}
}

// tick runs the timers that are due and says how long until the next.
func (s *shareStateService) tick() time.Duration {
	now := s.node.nowMS()
	next := int64(math.MaxInt64)
	for _, shard := range s.shards {
		if shard.nextTickMS <= now {
			s.apply(shard, shard.coordinator.Tick(now, wallNow()))
		}
		next = min(next, shard.nextTickMS)
	}
	return tickIn(next - now)
}

// start makes the shards of the state topic, if there is one, and reads their logs.
func (s *shareStateService) start() {
	if t := s.node.topics.named([]byte(image.ShareGroupStateTopic)); t != nil {
		s.open(t)
	}
}

// open makes a shard for each partition and loads it in the background; until that is done it refuses with
// COORDINATOR_LOAD_IN_PROGRESS, which is tried again.
func (s *shareStateService) open(t *topic) {
	shards := make([]*shareStateShard, len(t.parts))
	for i := range t.parts {
		shards[i] = &shareStateShard{index: wire.PartitionIndex(i), coordinator: s.newCoordinator(), nextTickMS: math.MaxInt64}
	}
	s.logs.begin(len(shards))
	s.inbox.put(func() { s.shards = shards })
	go func() {
		for i, shard := range shards {
			s.logs.end(s.load(shard, t.parts[i]))
		}
	}()
}

// shareStateMemoryMin leaves each coordinator room where there are many.
const shareStateMemoryMin = 1 << 20

func (s *shareStateService) newCoordinator() *share.StateCoordinator {
	c := s.node.config()
	cfg := share.DefaultStateConfig()
	cfg.UpdatesPerSnapshot = c.ShareStateUpdates
	cfg.ColdSnapshotIntervalMS, cfg.PruneIntervalMS = c.ShareStateColdMS, c.ShareStatePruneMS
	cfg.MemoryBytes = max(cfg.MemoryBytes/int64(c.ShareStateTopicPartitions), shareStateMemoryMin)
	cfg.Exists = func(id wire.TopicID, index wire.PartitionIndex) bool {
		t := s.node.Image().ByID(id)
		return t != nil && index >= 0 && int32(index) < t.Partitions
	}
	return share.NewStateCoordinator(cfg)
}

// load replays a partition into a coordinator and hands that to the goroutine.
func (s *shareStateService) load(shard *shareStateShard, p *partition) error {
	fresh := s.newCoordinator()
	err := s.node.readRecords(p, func(batch wire.RecordBatch, rec wire.Record) {
		if batch.IsControl() {
			return
		}
		if err := fresh.Load(batch.BaseOffset()+wire.Offset(rec.OffsetDelta), rec); err != nil {
			s.node.log.throttled("a share state record makes no sense and is left out", "partition", p.name(), "error", err)
		}
	})
	if err != nil {
		slog.Error("share coordinator cannot be loaded; its share partitions stay unavailable", "partition", p.name(), "error", err)
		return err
	}
	s.inbox.put(func() {
		shard.coordinator = fresh
		s.apply(shard, fresh.Loaded(s.node.nowMS(), wallNow()))
	})
	return nil
}

// submit has the coordinator of an operation's key do it; then is called on the goroutine and must not
// block. When the node stops it is not called at all.
func (s *shareStateService) submit(op share.Operation, then func(share.Result)) {
	s.inbox.put(func() {
		if len(s.shards) == 0 { // the topic is there a moment before its coordinators are
			then(share.Result{Code: wire.CoordinatorNotAvailable, Message: "there is no share coordinator yet"})
			return
		}
		// Kafka hashes groups and share partitions alike.
		shard := s.shards[group.PartitionFor(op.Key.String(), int32(len(s.shards)))]
		s.next++
		s.waiting[s.next] = then
		s.apply(shard, shard.coordinator.Handle(s.node.nowMS(), wallNow(), s.next, op))
	})
}

// apply does what a coordinator asks for.
func (s *shareStateService) apply(shard *shareStateShard, fx share.StateEffects) {
	shard.nextTickMS = fx.NextTickMS
	for _, r := range fx.Replies {
		then := s.waiting[r.Handle]
		delete(s.waiting, r.Handle)
		then(r.Result)
	}
	for _, a := range fx.Appends {
		s.append(shard, a)
	}
	if fx.PruneTo >= 0 {
		go s.node.pruneShareState(shard.index, fx.PruneTo)
	}
}

// append sends a record to the shard's partition; the answer comes back to the inbox.
func (s *shareStateService) append(shard *shareStateShard, a share.Append) {
	coordinator, b := shard.coordinator, internalBatch{records: []wire.Record{a.Record}}
	s.node.appendPlaced(image.ShareGroupStateTopic, shard.index, b, func(c replicate.Completion) {
		s.inbox.put(func() {
			s.apply(shard, coordinator.Appended(s.node.nowMS(), wallNow(), a.ID, c.BaseOffset, c.Code))
		})
	})
}

// topicDeleted has the states of a deleted topic's partitions forgotten.
func (s *shareStateService) topicDeleted(id wire.TopicID) {
	s.inbox.put(func() {
		for _, shard := range s.shards {
			s.apply(shard, shard.coordinator.TopicDeleted(s.node.nowMS(), wallNow(), id))
		}
	})
}

// ShareState is shareState, for clients.
func (n *Node) ShareState(req kmsg.Request) kmsg.Response { return n.shareState(req) }

// shareState has the share coordinator answer a request of the APIs 83 to 87, and waits. It makes __share_group_state if that
// is not there yet.
func (n *Node) shareState(req kmsg.Request) kmsg.Response {
	if !n.ShareStateTopicReady() {
		return share.Refuse(req, wire.CoordinatorNotAvailable, wire.CoordinatorNotAvailable.String())
	}
	type numbered struct {
		index  int
		result share.Result
	}
	ops := share.Operations(req)
	results := make([]share.Result, len(ops))
	done := make(chan numbered, len(ops))
	for i, op := range ops {
		n.shareLog.submit(op, func(r share.Result) { done <- numbered{i, r} })
	}
	for range ops {
		select {
		case d := <-done:
			results[d.index] = d.result
		case <-n.quit:
			return share.Refuse(req, wire.NotCoordinator, "the node stops")
		}
	}
	return share.Response(req, ops, results)
}

// ShareStateTopicReady makes __share_group_state if it is not there yet.
func (n *Node) ShareStateTopicReady() bool {
	if n.topics.named([]byte(image.ShareGroupStateTopic)) != nil {
		return true
	}
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	if n.topics.named([]byte(image.ShareGroupStateTopic)) != nil {
		return true
	}
	t, err := n.createTopic(image.ShareGroupStateTopic, n.config().ShareStateTopicPartitions, n.shareStateTopicConfig())
	if err != nil {
		n.log.throttled("__share_group_state cannot be made", "error", err)
		return false
	}
	n.shareLog.open(t)
	return true
}

// shareStateTopicConfig is what __share_group_state is created with (ShareCoordinatorService.shareGroupStateTopicConfigs).
// It is not compacted: its updates add up. Instead it is pruned.
func (n *Node) shareStateTopicConfig() map[string]string {
	return map[string]string{
		"cleanup.policy":   "delete",
		"compression.type": "producer",
		"retention.ms":     "-1",
		"segment.bytes":    fmt.Sprint(n.config().ShareStateTopicSegmentBytes),
	}
}

// pruneShareState deletes the records of one partition of __share_group_state below an offset.
func (n *Node) pruneShareState(index wire.PartitionIndex, below wire.Offset) {
	t := n.topics.named([]byte(image.ShareGroupStateTopic))
	if t == nil || t.part(index) == nil {
		return
	}
	tp := wire.TopicPartition{Topic: t.name, Partition: index}
	out := make(map[wire.TopicPartition]api.DeletedRecords, 1)
	n.raiseStarts(map[wire.TopicPartition]startRaise{tp: {t.part(index), below}}, out)
	if code := out[tp].Code; code != wire.None {
		n.log.throttled("__share_group_state cannot be pruned", "partition", index, "below", below, "error", code)
	}
}
