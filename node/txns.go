package node

import (
	"math"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// txnService runs the transaction coordinators, which keep their records in __transaction_state. It sends their markers to the
// partitions of transactions like any producer.
type txnService struct {
	*coordinatorService[*txn.Coordinator, txn.Effects]
	// verifications and markers are for the coordinators, and the partitions, of other nodes.
	verifications *remoteCalls[remoteVerification]
	markers       *remoteCalls[remoteMarker]
	waiting       waitingCalls[txn.Handle, kmsg.Response]
	// order counts what leaves the coordinators for partitions, see txnOrder; the goroutine's, as all below.
	order txnOrder
	// spare are producer ids for coordinators, which cannot wait for one; asked says that more are on their way.
	spare []wire.ProducerID
	asked bool
	// memory is what all coordinators may hold: 50 transactions over 10,000 partitions each.
	memory *memory.Bound
	// openTxns are the transactions of all shards that have begun and are not complete, for the metrics; openOf those of each.
	openTxns atomic.Int64
	openOf   map[wire.PartitionIndex]int
}

type txnShard = shard[*txn.Coordinator]

func newTxnService(n *Node) *txnService {
	s := &txnService{
		waiting: newWaitingCalls[txn.Handle, kmsg.Response](), openOf: make(map[wire.PartitionIndex]int),
		memory:        memory.NewBound(txn.DefaultConfig().MemoryBytes),
		verifications: newRemoteVerifications(n), markers: newRemoteMarkers(n),
	}
	s.coordinatorService = newCoordinatorService(n, coordinatorKind[*txn.Coordinator, txn.Effects]{
		name:        "transaction",
		coordinator: "transaction coordinator",
		record:      "transaction record",
		keeps:       "transactional ids",
		topic:       image.TransactionStateTopic,
		created: func() (int32, map[string]string) {
			return n.Config().TransactionTopicPartitions, n.transactionsTopicConfig()
		},
		prepare: s.stock,
		empty:   s.newCoordinator,
		replay:  loadTxnRecord,
		begin:   s.begin,
		apply:   s.apply,
		resigned: func(shard *txnShard) {
			s.openTxns.Add(int64(-s.openOf[shard.index]))
			delete(s.openOf, shard.index)
		},
	})
	return s
}

// txnOrder says in which order a coordinator let a producer write to a partition and sent a marker there: a marker that
// reaches the partition before what was let in earlier has ended the transaction that it was for.
type txnOrder uint64

// txnOrderForeign is the order of a marker that does not come from this node's coordinators, txnOrderUnknown that of an answer that does
// not, and of no marker at all.
const (
	txnOrderUnknown txnOrder = 0
	txnOrderForeign txnOrder = math.MaxUint64
)

// newCoordinator makes an empty coordinator. The epoch of its markers is the leader epoch of its partition.
func (s *txnService) newCoordinator(p *partition) *txn.Coordinator {
	c := s.node.Config()
	cfg := txn.DefaultConfig()
	cfg.AbortIntervalMS, cfg.ExpirationIntervalMS = c.TransactionAbortIntervalMS, c.TransactionExpirationIntervalMS
	cfg.IDExpirationMS = c.TransactionalIDExpirationMS
	cfg.CoordinatorEpoch = p.published.leaderEpoch.Load()
	cfg.NewProducerID = s.takeProducerID
	shards := int(c.TransactionTopicPartitions)
	cfg.MaxIDs = max(cfg.MaxIDs/shards, txnIDsPerShardMin)
	cfg.Memory = s.memory
	return txn.New(cfg)
}

// txnIDsPerShardMin leaves each coordinator room for what a hash may give it of the transactional ids.
const txnIDsPerShardMin = 4000

// loadTxnRecord replays one record.
func loadTxnRecord(c *txn.Coordinator, batch wire.RecordBatch, rec wire.Record) error {
	if batch.IsControl() {
		return nil
	}
	return c.Load(rec)
}

func (s *txnService) begin(shard *txnShard) txn.Effects {
	return shard.coordinator.Loaded(s.node.nowMS(), wallNow())
}

// call has the coordinator of a transactional id answer a request, and waits. The caller is the request's goroutine.
func (s *txnService) call(id string, req kmsg.Request) kmsg.Response {
	return s.await(req, func(answer func(kmsg.Response)) { s.handle(s.shardOf(id), req, answer) })
}

// callAll has every coordinator answer a request.
func (s *txnService) callAll(req kmsg.Request) []kmsg.Response {
	listed := make(chan []*txnShard, 1)
	s.inbox.put(func() {
		var here []*txnShard
		s.each(func(shard *txnShard) { here = append(here, shard) })
		listed <- here
	})
	var all []kmsg.Response
	select {
	case here := <-listed:
		for _, shard := range here {
			all = append(all, s.await(req, func(answer func(kmsg.Response)) { s.handle(shard, req, answer) }))
		}
	case <-s.node.quit:
	}
	return all
}

// addOffsets is call for AddOffsetsToTxn, which needs to be told where the group's offsets stand.
func (s *txnService) addOffsets(req *kmsg.AddOffsetsToTxnRequest, partition wire.TopicPartition) kmsg.Response {
	return s.await(req, func(answer func(kmsg.Response)) {
		shard := s.shardOf(req.TransactionalID)
		if shard == nil || shard.ended {
			answer(txn.Refuse(req, s.absent()))
			return
		}
		h := s.takeUp(shard, req, answer)
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
	if shard == nil || shard.ended {
		answer(txn.Refuse(req, s.absent()))
		return
	}
	h := s.takeUp(shard, req, answer)
	s.apply(shard, shard.coordinator.Handle(s.node.nowMS(), wallNow(), h, req))
}

// takeUp gives the handle of a request that a coordinator is to answer.
func (s *txnService) takeUp(shard *txnShard, req kmsg.Request, answer func(kmsg.Response)) txn.Handle {
	h := s.waiting.add(answer)
	shard.asks(uint64(h), func() { s.waiting.take(h)(txn.Refuse(req, wire.NotCoordinator)) })
	return h
}

// apply does what a coordinator asks for. Answers come before markers: what they let in is older.
func (s *txnService) apply(shard *txnShard, fx txn.Effects) {
	shard.nextTickMS = fx.NextTickMS
	s.countOpen(shard)
	for _, r := range fx.Replies {
		s.order++
		shard.answered(uint64(r.Handle))
		s.waiting.take(r.Handle)(r.Response)
	}
	for _, a := range fx.Appends {
		s.append(shard, internalBatch{records: a.Records}, func(c *txn.Coordinator, done replicate.Completion) txn.Effects {
			return c.Appended(s.node.nowMS(), wallNow(), a.ID, done.Code)
		})
	}
	for _, m := range fx.Markers {
		s.order++
		s.sendMarkers(shard, m)
	}
}

// countOpen counts a shard's open transactions in place of those that it had.
func (s *txnService) countOpen(shard *txnShard) {
	open := shard.coordinator.Open()
	s.openTxns.Add(int64(open - s.openOf[shard.index]))
	s.openOf[shard.index] = open
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
