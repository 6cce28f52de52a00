package node

import (
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// groupService runs the group coordinators: one goroutine owns them all, takes requests and reports from an inbox,
// and sends their records to the partitions of __consumer_offsets like any producer.
type groupService struct {
	node  *Node
	inbox serviceInbox
	// shards are by partition of __consumer_offsets; the goroutine's alone.
	shards []*groupShard
	// waiting are the requests under way, by handle.
	waiting map[group.Handle]chan kmsg.Response
	next    group.Handle
	// asking is the last call to share coordinators that is under way for a group: it is closed when that ends.
	asking  map[string]chan struct{}
	memory  *group.Memory // of all shards: 7,000 members that subscribe to 200 topics take a quarter of it
	stopped chan struct{}
	logs    coordinatorLogs
}

// groupShard is one coordinator with the partition that holds its records.
type groupShard struct {
	index       wire.PartitionIndex
	coordinator *group.Coordinator
	nextTickMS  int64
	// loaded says that the partition has been read, early are the ends of transactions that it hears of then.
	loaded bool
	early  []func()
}

func newGroupService(n *Node) *groupService {
	return &groupService{
		node: n, waiting: make(map[group.Handle]chan kmsg.Response), stopped: make(chan struct{}),
		asking: make(map[string]chan struct{}), inbox: newServiceInbox(), logs: coordinatorLogs{kind: "group"},
		memory: group.NewMemory(group.DefaultConfig().MemoryBytes),
	}
}

// run is the goroutine; it ends when the node stops.
func (g *groupService) run() {
	defer close(g.stopped)
	tick := time.NewTimer(time.Hour)
	defer tick.Stop()
	for {
		for _, f := range g.inbox.take() {
			f()
		}
		tick.Reset(g.tick())
		select {
		case <-g.inbox.wake:
		case <-tick.C:
		case <-g.node.quit:
			return
		}
	}
}

// tick runs the timers that are due and says how long until the next.
func (g *groupService) tick() time.Duration {
	now := g.nowMS()
	next := int64(math.MaxInt64)
	for _, s := range g.shards {
		if s.nextTickMS <= now {
			g.apply(s, s.coordinator.Tick(now, wallNow()))
		}
		next = min(next, s.nextTickMS)
	}
	return tickIn(next - now)
}

func (g *groupService) nowMS() int64 { return g.node.nowMS() }

func wallNow() wire.Timestamp { return wire.Timestamp(time.Now().UnixMilli()) }

// start makes the shards of the offsets topic, if there is one, and reads their logs.
func (g *groupService) start() {
	if t := g.node.topics.named([]byte(image.ConsumerOffsetsTopic)); t != nil {
		g.open(t)
	}
}

// open makes a shard for each partition and loads it in the background; until that is done it refuses with
// COORDINATOR_LOAD_IN_PROGRESS, which clients retry.
func (g *groupService) open(t *topic) {
	shards := make([]*groupShard, len(t.parts))
	for i := range shards {
		shards[i] = &groupShard{index: wire.PartitionIndex(i), coordinator: g.newCoordinator(), nextTickMS: math.MaxInt64}
	}
	g.logs.begin(len(shards))
	ready := make(chan struct{})
	g.inbox.put(func() {
		g.shards = shards
		close(ready)
	})
	go func() {
		select {
		case <-ready:
		case <-g.node.quit:
			return
		}
		for i, s := range shards {
			g.logs.end(g.load(s, t.parts[i]))
		}
	}()
}

// newCoordinator makes an empty coordinator with member ids of its own.
func (g *groupService) newCoordinator() *group.Coordinator {
	var seed [8]byte
	_, _ = rand.Read(seed[:])
	c := g.node.config()
	cfg := group.DefaultConfig()
	cfg.MinSessionTimeoutMS, cfg.MaxSessionTimeoutMS = int32(c.GroupSessionTimeoutMinMS), int32(c.GroupSessionTimeoutMaxMS)
	cfg.InitialRebalanceDelayMS, cfg.MaxSize = int32(c.GroupInitialRebalanceDelayMS), c.GroupSizeMax
	cfg.ConsumerSessionTimeoutMS, cfg.ConsumerHeartbeatIntervalMS = int32(c.GroupConsumerSessionMS), int32(c.GroupConsumerHeartbeatMS)
	cfg.Rack = c.BrokerRack
	cfg.ShareSessionTimeoutMS, cfg.ShareHeartbeatIntervalMS = int32(c.GroupShareSessionMS), int32(c.GroupShareHeartbeatMS)
	cfg.ShareMaxSize = c.GroupShareSizeMax
	cfg.ConsumerMaxSize, cfg.ConsumerAssignors = c.GroupConsumerSizeMax, c.GroupConsumerAssignors
	cfg.ConsumerMigration, cfg.ConsumerRegexRefreshMS = migrationPolicy(c.GroupConsumerMigration), c.GroupConsumerRegexRefreshMS
	cfg.OffsetMetadataMaxBytes = c.OffsetMetadataBytesMax
	cfg.OffsetsRetentionMS = c.OffsetsRetentionMinutes * time.Minute.Milliseconds()
	cfg.OffsetsRetentionCheckInterval = c.OffsetsRetentionCheckMS
	shards := int(c.OffsetsTopicPartitions) // the bounds of all coordinators together are the defaults of one
	cfg.MaxGroups = max(cfg.MaxGroups/shards, groupsPerShardMin)
	cfg.MaxAppends = max(cfg.MaxAppends/shards, groupsPerShardMin)
	cfg.Memory = g.memory
	coordinator := group.New(cfg, binary.BigEndian.Uint64(seed[:]))
	coordinator.SetTopics(g.node.Image(), true)
	return coordinator
}

// migrationPolicy reads group.consumer.migration.policy, in any case.
func migrationPolicy(policy string) group.MigrationPolicy {
	both := strings.EqualFold(policy, "bidirectional")
	return group.MigrationPolicy{
		Upgrade:   both || strings.EqualFold(policy, "upgrade"),
		Downgrade: both || strings.EqualFold(policy, "downgrade"),
	}
}

// groupsPerShardMin leaves each coordinator room for what a hash may give it of the groups.
const groupsPerShardMin = 1000

// load replays a partition into a coordinator and hands that to the goroutine.
func (g *groupService) load(s *groupShard, p *partition) error {
	fresh := g.newCoordinator()
	err := g.node.readRecords(p, func(batch wire.RecordBatch, rec wire.Record) {
		if err := loadGroupRecord(fresh, batch, rec); err != nil {
			g.node.log.throttled("a group record makes no sense and is left out", "partition", p.name(), "error", err)
		}
	})
	if err != nil {
		slog.Error("group coordinator cannot be loaded; its groups stay unavailable", "partition", p.name(), "error", err)
		return err
	}
	g.inbox.put(func() {
		fresh.SetTopics(g.node.Image(), true) // they may have changed while the log was read
		g.setGroupConfigs(s.index, len(g.shards), fresh)
		s.coordinator = fresh
		g.apply(s, fresh.Loaded(g.nowMS()))
		s.loaded = true
		for _, f := range s.early {
			f()
		}
		s.early = nil
	})
	return nil
}

// loadGroupRecord replays one record, or the end of a transaction.
func loadGroupRecord(c *group.Coordinator, batch wire.RecordBatch, rec wire.Record) error {
	if m, ok := wire.ReadTxnMarker(batch); ok {
		c.LoadTxnEnd(batch.ProducerID(), m.Commit)
		return nil
	}
	switch {
	case batch.IsControl():
		return nil
	case batch.IsTransactional():
		return c.LoadTxn(batch.ProducerID(), rec)
	}
	return c.Load(rec)
}

// txnEnded tells the coordinator of a partition that a marker is durable there, then calls then. A shard that is being read
// hears of it afterwards: perhaps twice, which changes nothing.
func (g *groupService) txnEnded(index wire.PartitionIndex, m txnMarker, then func()) {
	g.inbox.put(func() {
		if int(index) >= len(g.shards) { // as in call; the coordinator will read the marker with its log
			then()
			return
		}
		s := g.shards[index]
		end := func() {
			g.apply(s, s.coordinator.TxnEnded(g.nowMS(), wallNow(), m.producerID, m.commit))
			then()
		}
		if s.loaded {
			end()
		} else {
			s.early = append(s.early, end)
		}
	})
}

// call has the coordinator of a shard answer a request, and waits. The caller is the request's goroutine; taken is called on it
// once the coordinator has handled the request and the answer is not there yet.
func (g *groupService) call(shard int32, client api.Client, req kmsg.Request, taken func()) kmsg.Response {
	answer, handled := make(chan kmsg.Response, 1), make(chan struct{})
	g.inbox.put(func() {
		defer close(handled)
		if int(shard) >= len(g.shards) { // the topic is there a moment before its coordinators are
			answer <- group.Refuse(req, wire.CoordinatorNotAvailable)
			return
		}
		s := g.shards[shard]
		g.next++
		g.waiting[g.next] = answer
		c := group.Client{ID: client.ID, Host: "/" + client.Host}
		g.apply(s, s.coordinator.Handle(g.nowMS(), wallNow(), g.next, c, req))
	})
	select {
	case resp := <-answer:
		return resp
	case <-handled:
		select {
		case resp := <-answer:
			return resp
		default:
			taken()
		}
	case <-g.node.quit:
	}
	refused := group.Refuse(req, wire.NotCoordinator) // now: who waits for long does not keep the request for it
	select {
	case resp := <-answer:
		return resp
	case <-g.node.quit:
		return refused
	}
}

// apply does what a coordinator asks for.
func (g *groupService) apply(s *groupShard, fx group.Effects) {
	s.nextTickMS = fx.NextTickMS
	for _, r := range fx.Replies {
		g.waiting[r.Handle] <- r.Response
		delete(g.waiting, r.Handle)
	}
	for _, a := range fx.Appends {
		g.append(s, a)
	}
	for _, call := range fx.StateCalls {
		g.ask(s, call)
	}
}

// stateRetryMin and stateRetryMax are the shortest and longest waits for a share coordinator that is not ready, as after
// __share_group_state was made: six tries within a second and a half.
const (
	stateRetryMin = 50 * time.Millisecond
	stateRetryMax = 800 * time.Millisecond
)

// ask has the share coordinators answer a call, after those of the same group that were asked before, which may take a while;
// the answer comes back to the inbox.
func (g *groupService) ask(s *groupShard, call group.StateCall) {
	coordinator, before, done := s.coordinator, g.asking[call.Group], make(chan struct{})
	g.asking[call.Group] = done
	go func() {
		if before != nil {
			<-before
		}
		defer close(done)
		resp := g.node.shareState(call.Request)
		for wait := stateRetryMin; group.StateRetriable(resp) && wait <= stateRetryMax && g.node.sleep(wait); wait *= 2 {
			resp = g.node.shareState(call.Request)
		}
		g.inbox.put(func() {
			if g.asking[call.Group] == done {
				delete(g.asking, call.Group)
			}
			if s.coordinator == coordinator {
				g.apply(s, coordinator.StateAnswered(g.nowMS(), call.ID, resp))
			}
		})
	}()
}

// append sends records to the shard's partition; the answer comes back to the inbox.
func (g *groupService) append(s *groupShard, a group.Append) {
	coordinator := s.coordinator
	b := internalBatch{records: a.Records}
	if t := a.Txn; t != nil {
		b.producer = &verificationKey{t.ProducerID, t.ProducerEpoch}
		b.claim = claim{transactionalID: []byte(t.TransactionalID), implicit: t.Implicit, genericErrors: t.Version >= txnOffsetsGenericErrorsFrom}
	}
	g.node.appendInternal(image.ConsumerOffsetsTopic, s.index, b, func(code wire.ErrorCode) {
		g.inbox.put(func() {
			if s.coordinator == coordinator {
				g.apply(s, coordinator.Appended(g.nowMS(), a.ID, code))
			}
		})
	})
}

// topicsChanged gives the coordinators the topics as they are now. created: some are new.
func (g *groupService) topicsChanged(m *image.Image, created bool) {
	g.inbox.put(func() {
		for _, s := range g.shards {
			s.coordinator.SetTopics(m, created)
		}
	})
}

// topicDeleted has the coordinators forget the offsets of a deleted topic.
func (g *groupService) topicDeleted(name string) {
	g.inbox.put(func() {
		for _, s := range g.shards {
			g.apply(s, s.coordinator.TopicDeleted(name))
		}
	})
}

// sleep waits; false if the node stopped meanwhile.
func (n *Node) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-n.quit:
		return false
	}
}
