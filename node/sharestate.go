package node

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// shareStateService runs the share coordinators, which keep the states of share partitions in __share_group_state.
type shareStateService struct {
	*coordinatorService[*share.StateCoordinator, share.StateEffects]
	waiting waitingCalls[share.Handle, share.Result]
	memory  *memory.Bound // of the states of all coordinators
	// remote are operations for the coordinators of other nodes.
	remote *remoteCalls[remoteOperation]
}

type shareStateShard = shard[*share.StateCoordinator]

func newShareStateService(n *Node) *shareStateService {
	s := &shareStateService{
		waiting: newWaitingCalls[share.Handle, share.Result](), memory: memory.NewBound(share.DefaultStateConfig().MemoryBytes),
		remote: newRemoteOperations(n),
	}
	s.coordinatorService = newCoordinatorService(n, coordinatorKind[*share.StateCoordinator, share.StateEffects]{
		name:        "share-group",
		coordinator: "share coordinator",
		record:      "share state record",
		keeps:       "share partitions",
		topic:       image.ShareGroupStateTopic,
		created: func() (int32, map[string]string) {
			return n.Config().ShareStateTopicPartitions, n.shareStateTopicConfig()
		},
		empty:  func(*partition) *share.StateCoordinator { return s.newCoordinator() },
		replay: loadShareStateRecord,
		begin:  s.begin,
		apply:  s.apply,
	})
	return s
}

func (s *shareStateService) newCoordinator() *share.StateCoordinator {
	c := s.node.Config()
	cfg := share.DefaultStateConfig()
	cfg.UpdatesPerSnapshot = c.ShareStateUpdates
	cfg.ColdSnapshotIntervalMS, cfg.PruneIntervalMS = c.ShareStateColdMS, c.ShareStatePruneMS
	cfg.Memory = s.memory
	cfg.Exists = func(id wire.TopicID, index wire.PartitionIndex) bool {
		t := s.node.Image().ByID(id)
		return t != nil && index >= 0 && int32(index) < t.Partitions
	}
	return share.NewStateCoordinator(cfg)
}

// loadShareStateRecord replays one record.
func loadShareStateRecord(c *share.StateCoordinator, batch wire.RecordBatch, rec wire.Record) error {
	if batch.IsControl() {
		return nil
	}
	return c.Load(batch.BaseOffset()+wire.Offset(rec.OffsetDelta), rec)
}

func (s *shareStateService) begin(shard *shareStateShard) share.StateEffects {
	return shard.coordinator.Loaded(s.node.nowMS(), wallNow())
}

// submit has the coordinator of an operation's key do it, wherever it is; then must not block. When the node stops it may not be
// called at all.
func (s *shareStateService) submit(op share.Operation, then func(share.Result)) {
	switch coordinator, remote := s.node.coordinatorElsewhere(image.ShareGroupStateTopic, op.Key.String()); {
	case !remote:
		s.submitHere(op, then)
	case coordinator == wire.NoNode:
		then(share.Result{Code: wire.CoordinatorNotAvailable, Message: "the share coordinator's partition has no leader"})
	default:
		s.remote.put(coordinator, remoteOperation{op, then})
	}
}

// remoteOperation is one that another node's share coordinator has to do.
type remoteOperation struct {
	op   share.Operation
	then func(share.Result)
}

// operationAskers bounds the operations that are under way to one node.
const operationAskers = 8

func newRemoteOperations(n *Node) *remoteCalls[remoteOperation] {
	return &remoteCalls[remoteOperation]{
		node: n, askers: operationAskers, batch: 1,
		ask: func(address string, what []remoteOperation) error {
			resp, err := n.cluster.peers.call(address, share.Request(what[0].op), remoteTimeout)
			if err == nil {
				what[0].then(share.ResultOf(resp))
			}
			return err
		},
		lost: func(w remoteOperation) {
			w.then(share.Result{Code: wire.CoordinatorNotAvailable, Message: "the share coordinator does not answer"})
		},
	}
}

// submitHere is submit for the coordinators of this node; then is called on the goroutine.
func (s *shareStateService) submitHere(op share.Operation, then func(share.Result)) {
	s.inbox.put(func() {
		shard := s.shardOf(op.Key.String())
		if shard == nil {
			then(share.Result{Code: s.absent(), Message: "there is no share coordinator here"})
			return
		}
		h := s.waiting.add(then)
		shard.asks(uint64(h), func() {
			s.waiting.take(h)(share.Result{Code: wire.NotCoordinator, Message: "the share coordinator has moved"})
		})
		s.apply(shard, shard.coordinator.Handle(s.node.nowMS(), wallNow(), h, op))
	})
}

// apply does what a coordinator asks for.
func (s *shareStateService) apply(shard *shareStateShard, fx share.StateEffects) {
	shard.nextTickMS = fx.NextTickMS
	for _, r := range fx.Replies {
		shard.answered(uint64(r.Handle))
		s.waiting.take(r.Handle)(r.Result)
	}
	for _, a := range fx.Appends {
		b := internalBatch{records: []wire.Record{a.Record}}
		s.append(shard, b, func(c *share.StateCoordinator, done replicate.Completion) share.StateEffects {
			return c.Appended(s.node.nowMS(), wallNow(), a.ID, done.BaseOffset, done.Code)
		})
	}
	if fx.PruneTo >= 0 {
		go s.node.pruneShareState(shard.index, fx.PruneTo)
	}
}

// topicDeleted has the states of a deleted topic's partitions forgotten.
func (s *shareStateService) topicDeleted(id wire.TopicID) {
	s.inbox.put(func() {
		s.each(func(shard *shareStateShard) {
			s.apply(shard, shard.coordinator.TopicDeleted(s.node.nowMS(), wallNow(), id))
		})
	})
}

// ShareState has the share coordinators of this node answer a request of the APIs 83 to 87, of another node or a client.
func (n *Node) ShareState(req kmsg.Request) kmsg.Response {
	return n.shareStateBy(req, n.shareLog.submitHere)
}

// shareState has the share coordinators answer a request of the APIs 83 to 87, wherever they are, and waits.
func (n *Node) shareState(req kmsg.Request) kmsg.Response {
	return n.shareStateBy(req, n.shareLog.submit)
}

// shareStateBy submits what a request asks for, and waits. It makes __share_group_state if that is not there yet.
func (n *Node) shareStateBy(req kmsg.Request, submit func(share.Operation, func(share.Result))) kmsg.Response {
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
		submit(op, func(r share.Result) { done <- numbered{i, r} })
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

// ShareStateTopicReady makes __share_group_state if it is not there yet; false while that is not possible.
func (n *Node) ShareStateTopicReady() bool {
	return n.shareLog.topicReady()
}

// shareStateTopicConfig is what __share_group_state is created with (ShareCoordinatorService.shareGroupStateTopicConfigs).
// It is not compacted: its updates add up. Instead it is pruned.
func (n *Node) shareStateTopicConfig() map[string]string {
	return map[string]string{
		"cleanup.policy":   "delete",
		"compression.type": "producer",
		"retention.ms":     "-1",
		"segment.bytes":    fmt.Sprint(n.Config().ShareStateTopicSegmentBytes),
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
