package node

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// groupService runs the group coordinators, which keep their records in __consumer_offsets.
type groupService struct {
	*coordinatorService[*group.Coordinator, group.Effects]
	waiting waitingCalls[group.Handle, kmsg.Response]
	// asking is the last call to share coordinators that is under way for a group: it is closed when that ends.
	asking map[string]chan struct{}
	memory *memory.Bound // of all shards: 7,000 members that subscribe to 200 topics take a quarter of it
}

type groupShard = shard[*group.Coordinator]

func newGroupService(n *Node) *groupService {
	g := &groupService{
		waiting: newWaitingCalls[group.Handle, kmsg.Response](), asking: make(map[string]chan struct{}),
		memory: memory.NewBound(group.DefaultConfig().MemoryBytes),
	}
	g.coordinatorService = newCoordinatorService(n, coordinatorKind[*group.Coordinator, group.Effects]{
		name:        "group",
		coordinator: "group coordinator",
		record:      "group record",
		keeps:       "groups",
		topic:       image.ConsumerOffsetsTopic,
		created:     func() (int32, map[string]string) { return n.Config().OffsetsTopicPartitions, n.offsetsTopicConfig() },
		empty:       func(*partition) *group.Coordinator { return g.newCoordinator() },
		replay:      loadGroupRecord,
		begin:       g.begin,
		apply:       g.apply,
	})
	return g
}

// newCoordinator makes an empty coordinator with member ids of its own.
func (g *groupService) newCoordinator() *group.Coordinator {
	var seed [8]byte
	_, _ = rand.Read(seed[:])
	c := g.node.Config()
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

// begin gives a coordinator that has read its log what it needs to serve.
func (g *groupService) begin(s *groupShard) group.Effects {
	s.coordinator.SetTopics(g.node.Image(), true) // they may have changed while the log was read
	g.setGroupConfigs(s)
	return s.coordinator.Loaded(g.node.nowMS())
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
		if int(index) >= len(g.shards) || g.shards[index] == nil { // as in call; the coordinator will read the marker with its log
			then()
			return
		}
		s := g.shards[index]
		s.whenLoaded(func() {
			g.apply(s, s.coordinator.TxnEnded(g.node.nowMS(), wallNow(), m.producerID, m.commit))
			then()
		}, then)
	})
}

// call has the coordinator of a shard answer a request, and waits. The caller is the request's goroutine; taken is called on it
// once the coordinator has handled the request and the answer is not there yet. It waits for nothing once gone is closed.
func (g *groupService) call(shard int32, client api.Client, req kmsg.Request, taken func(), gone <-chan struct{}) kmsg.Response {
	answer, handled := make(chan kmsg.Response, 1), make(chan struct{})
	refused := group.Refuse(req, wire.NotCoordinator) // now: who waits for long does not keep the request for it
	g.inbox.put(func() {
		defer close(handled)
		if int(shard) >= len(g.shards) || g.shards[shard] == nil {
			answer <- group.Refuse(req, g.absent())
			return
		}
		s := g.shards[shard]
		h := g.waiting.add(func(resp kmsg.Response) { answer <- resp })
		s.asks(uint64(h), func() { g.waiting.take(h)(refused) })
		c := group.Client{ID: client.ID, Host: "/" + client.Host}
		g.apply(s, s.coordinator.HandleFor(g.node.nowMS(), wallNow(), h, c, g.node.describer(client), req))
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
	select {
	case resp := <-answer:
		return resp
	case <-gone:
		return refused
	case <-g.commitTimeout(req):
		return late(refused)
	case <-g.waitsForMembers(req):
		return refused
	case <-g.node.quit:
		return refused
	}
}

// commitTimeout fires when a commit of offsets has waited for its replicas as long as offsets.commit.timeout.ms allows; it is nil for
// everything else.
func (g *groupService) commitTimeout(req kmsg.Request) <-chan time.Time {
	switch req.(type) {
	case *kmsg.OffsetCommitRequest, *kmsg.TxnOffsetCommitRequest:
		return time.After(time.Duration(g.node.Config().OffsetsCommitTimeoutMS) * time.Millisecond)
	}
	return nil
}

// late makes the refusal of a commit that of one that has timed out, by Kafka's code for it (CoordinatorOperationExceptionHelper): what was
// committed stays in the log, and may be in force yet.
func late(refused kmsg.Response) kmsg.Response {
	switch r := refused.(type) {
	case *kmsg.OffsetCommitResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = int16(wire.CoordinatorNotAvailable)
			}
		}
	case *kmsg.TxnOffsetCommitResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = int16(wire.CoordinatorNotAvailable)
			}
		}
	}
	return refused
}

// waitsForMembers is closed when the node stops and req waits for other members, who have minutes: its client looks for another
// coordinator at once. It is nil for what waits for the coordinator's log alone, which is answered before the node stops.
func (g *groupService) waitsForMembers(req kmsg.Request) <-chan struct{} {
	switch req.(type) {
	case *kmsg.JoinGroupRequest, *kmsg.SyncGroupRequest:
		return g.node.draining
	}
	return nil
}

// apply does what a coordinator asks for.
func (g *groupService) apply(s *groupShard, fx group.Effects) {
	s.nextTickMS = fx.NextTickMS
	for _, r := range fx.Replies {
		s.answered(uint64(r.Handle))
		g.waiting.take(r.Handle)(r.Response)
	}
	for _, a := range fx.Appends {
		g.write(s, a)
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
			if s.coordinator == coordinator && !s.ended {
				g.apply(s, coordinator.StateAnswered(g.node.nowMS(), call.ID, resp))
			}
		})
	}()
}

// write has records appended to the shard's partition.
func (g *groupService) write(s *groupShard, a group.Append) {
	b := internalBatch{records: a.Records}
	if t := a.Txn; t != nil {
		b.producer = &verificationKey{t.ProducerID, t.ProducerEpoch}
		b.claim = claim{transactionalID: []byte(t.TransactionalID), implicit: t.Implicit, genericErrors: t.Version >= txnOffsetsGenericErrorsFrom}
	}
	g.append(s, b, func(c *group.Coordinator, done replicate.Completion) group.Effects {
		return c.Appended(g.node.nowMS(), a.ID, done.Code)
	})
}

// topicsChanged gives the coordinators the topics as they are now. created: some are new.
func (g *groupService) topicsChanged(m *image.Image, created bool) {
	g.inbox.put(func() {
		g.each(func(s *groupShard) { s.coordinator.SetTopics(m, created) })
	})
}

// topicDeleted has the coordinators forget the offsets of a deleted topic.
func (g *groupService) topicDeleted(name string) {
	g.inbox.put(func() {
		g.each(func(s *groupShard) { g.apply(s, s.coordinator.TopicDeleted(name)) })
	})
}
