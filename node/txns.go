package node

import (
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

// txnService runs the transaction coordinators: one goroutine owns them all, takes requests and reports from an inbox, and
// sends their records to the partitions of __transaction_state, and their markers to the partitions of transactions, like
// any producer.
type txnService struct {
	node  *Node
	inbox serviceInbox
	// shards are by partition of __transaction_state; the goroutine's alone, as all below.
	shards []*txnShard
	// waiting are the requests under way, by handle. What is called must not block.
	waiting map[txn.Handle]func(kmsg.Response)
	next    txn.Handle
	// order counts what leaves the coordinators for partitions, see txnOrder.
	order txnOrder
	// spare are producer ids for coordinators, which cannot wait for one; asked says that more are on their way.
	spare []wire.ProducerID
	asked bool
	// stopped is closed when the goroutine has ended.
	stopped chan struct{}
	logs    coordinatorLogs
	// openTxns are the transactions of all shards that have begun and are not complete, for the metrics.
	openTxns atomic.Int64
}

// txnOrder says in which order a coordinator let a producer write to a partition and sent a marker there: a marker that
// reaches the partition before what was let in earlier has ended the transaction that it was for.
type txnOrder uint64

// txnOrderForeign is the order of a marker that does not come from this node's coordinators.
const txnOrderForeign txnOrder = math.MaxUint64

// txnShard is one coordinator with the partition that holds its records.
type txnShard struct {
	index       wire.PartitionIndex
	coordinator *txn.Coordinator
	nextTickMS  int64
	open        int // what it counts for in txnService.open
}

func newTxnService(n *Node) *txnService {
	return &txnService{
		node: n, inbox: newServiceInbox(), waiting: make(map[txn.Handle]func(kmsg.Response)), stopped: make(chan struct{}),
		logs: coordinatorLogs{kind: "transaction"},
	}
}

// run is the goroutine; it ends when the node stops.
func (s *txnService) run() {
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
func (s *txnService) tick() time.Duration {
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

// start makes the shards of the transaction topic, if there is one, and reads their logs.
func (s *txnService) start() {
	if t := s.node.topics.named([]byte(image.TransactionStateTopic)); t != nil {
		s.open(t)
	}
}

// open makes a shard for each partition and loads it in the background; until that is done it refuses with
// COORDINATOR_LOAD_IN_PROGRESS, which clients retry.
func (s *txnService) open(t *topic) {
	shards := make([]*txnShard, len(t.parts))
	for i, p := range t.parts {
		shards[i] = &txnShard{index: wire.PartitionIndex(i), coordinator: s.newCoordinator(p), nextTickMS: math.MaxInt64}
	}
	s.logs.begin(len(shards))
	ready := make(chan struct{})
	s.inbox.put(func() {
		s.shards = shards
		close(ready)
	})
	go func() {
		select {
		case <-ready:
		case <-s.node.quit:
			return
		}
		s.stock()
		for i, shard := range shards {
			s.logs.end(s.load(shard, t.parts[i]))
		}
	}()
}

// newCoordinator makes an empty coordinator. The epoch of its markers is the leader epoch of its partition.
func (s *txnService) newCoordinator(p *partition) *txn.Coordinator {
	c := s.node.config()
	cfg := txn.DefaultConfig()
	cfg.AbortIntervalMS, cfg.ExpirationIntervalMS = c.TransactionAbortIntervalMS, c.TransactionExpirationIntervalMS
	cfg.IDExpirationMS = c.TransactionalIDExpirationMS
	cfg.CoordinatorEpoch = p.published.leaderEpoch.Load()
	cfg.NewProducerID = s.takeProducerID
	shards := int(c.TransactionTopicPartitions)
	cfg.MaxIDs = max(cfg.MaxIDs/shards, txnIDsPerShardMin)
	cfg.MemoryBytes = max(cfg.MemoryBytes/int64(shards), txnMemoryMin)
	return txn.New(cfg)
}

// txnIDsPerShardMin and txnMemoryMin leave each coordinator room where there are many: one transaction over 10,000 partitions.
const (
	txnIDsPerShardMin = 4000
	txnMemoryMin      = 4 << 20
)

// load replays a partition into a coordinator and hands that to the goroutine.
func (s *txnService) load(shard *txnShard, p *partition) error {
	fresh := s.newCoordinator(p)
	err := s.node.readRecords(p, func(batch wire.RecordBatch, rec wire.Record) {
		if batch.IsControl() {
			return
		}
		if err := fresh.Load(rec); err != nil {
			s.node.log.throttled("a transaction record makes no sense and is left out", "partition", p.name(), "error", err)
		}
	})
	if err != nil {
		slog.Error("transaction coordinator cannot be loaded; its transactional ids stay unavailable", "partition", p.name(), "error", err)
		return err
	}
	s.inbox.put(func() {
		shard.coordinator = fresh
		s.apply(shard, fresh.Loaded(s.node.nowMS(), wallNow()))
	})
	return nil
}

// shardOf is the shard of a transactional id; nil while there are none.
func (s *txnService) shardOf(id string) *txnShard {
	if len(s.shards) == 0 {
		return nil
	}
	return s.shards[group.PartitionFor(id, int32(len(s.shards)))] // Kafka hashes groups and transactional ids alike
}

// call has the coordinator of a transactional id answer a request, and waits. The caller is the request's goroutine.
func (s *txnService) call(id string, req kmsg.Request) kmsg.Response {
	return s.await(req, func(answer func(kmsg.Response)) { s.handle(s.shardOf(id), req, answer) })
}

// callAll has every coordinator answer a request.
func (s *txnService) callAll(req kmsg.Request) []kmsg.Response {
	counted := make(chan int, 1)
	s.inbox.put(func() { counted <- len(s.shards) })
	n := 0
	select {
	case n = <-counted:
	case <-s.node.quit:
	}
	all := make([]kmsg.Response, n)
	for i := range all {
		all[i] = s.await(req, func(answer func(kmsg.Response)) { s.handle(s.shards[i], req, answer) })
	}
	return all
}

// addOffsets is call for AddOffsetsToTxn, which needs to be told where the group's offsets stand.
func (s *txnService) addOffsets(req *kmsg.AddOffsetsToTxnRequest, partition wire.TopicPartition) kmsg.Response {
	return s.await(req, func(answer func(kmsg.Response)) {
		shard := s.shardOf(req.TransactionalID)
		if shard == nil {
			answer(txn.Refuse(req, wire.CoordinatorNotAvailable))
			return
		}
		h := s.wait(answer)
		s.apply(shard, shard.coordinator.AddOffsets(s.node.nowMS(), wallNow(), h, req, partition))
	})
}

// await runs f on the goroutine and waits for its answer.
func (s *txnService) await(req kmsg.Request, f func(answer func(kmsg.Response))) kmsg.Response {
	answer := make(chan kmsg.Response, 1)
	s.inbox.put(func() { f(func(resp kmsg.Response) { answer <- resp }) })
	select {
	case resp := <-answer:
		return resp
	case <-s.node.quit:
		return txn.Refuse(req, wire.NotCoordinator)
	}
}

func (s *txnService) handle(shard *txnShard, req kmsg.Request, answer func(kmsg.Response)) {
	if shard == nil {
		answer(txn.Refuse(req, wire.CoordinatorNotAvailable))
		return
	}
	h := s.wait(answer)
	s.apply(shard, shard.coordinator.Handle(s.node.nowMS(), wallNow(), h, req))
}

func (s *txnService) wait(answer func(kmsg.Response)) txn.Handle {
	s.next++
	s.waiting[s.next] = answer
	return s.next
}

// apply does what a coordinator asks for. Answers come before markers: what they let in is older.
func (s *txnService) apply(shard *txnShard, fx txn.Effects) {
	shard.nextTickMS = fx.NextTickMS
	s.countOpen(shard)
	for _, r := range fx.Replies {
		answer := s.waiting[r.Handle]
		delete(s.waiting, r.Handle)
		s.order++
		answer(r.Response)
	}
	for _, a := range fx.Appends {
		s.append(shard, a)
	}
	for _, m := range fx.Markers {
		s.order++
		s.sendMarkers(shard, m)
	}
}

// countOpen counts a shard's open transactions in place of those that it had.
func (s *txnService) countOpen(shard *txnShard) {
	open := shard.coordinator.Open()
	s.openTxns.Add(int64(open - shard.open))
	shard.open = open
}

// append sends records to the shard's partition; the answer comes back to the inbox.
func (s *txnService) append(shard *txnShard, a txn.Append) {
	coordinator := shard.coordinator
	s.node.appendInternal(image.TransactionStateTopic, shard.index, internalBatch{records: a.Records}, func(code wire.ErrorCode) {
		s.inbox.put(func() { s.apply(shard, coordinator.Appended(s.node.nowMS(), wallNow(), a.ID, code)) })
	})
}

// spareProducerIDs is how many producer ids coordinators have at hand. A new transactional id takes one.
const spareProducerIDs = 64

// takeProducerID gives a coordinator a producer id, and has more fetched when few are left.
func (s *txnService) takeProducerID() (wire.ProducerID, bool) {
	if len(s.spare) < spareProducerIDs/2 && !s.asked {
		s.asked = true
		go s.stock()
	}
	if len(s.spare) == 0 {
		return wire.NoProducerID, false
	}
	id := s.spare[0]
	s.spare = s.spare[1:]
	return id, true
}

// stock fetches producer ids, which may wait for the disk.
func (s *txnService) stock() {
	var ids []wire.ProducerID
	for len(ids) < spareProducerIDs {
		id, code := s.node.NewProducerID()
		if code != wire.None {
			break
		}
		ids = append(ids, id)
	}
	s.inbox.put(func() { s.spare, s.asked = append(s.spare, ids...), false })
}
