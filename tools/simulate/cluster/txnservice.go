package cluster

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"

	"time"
)

// txnService runs a node's transaction coordinators (node/txns.go).
type txnService struct {
	node   *Node
	shards *shards[*txn.Coordinator, txn.Effects]
	order  txnOrder
	spare  []wire.ProducerID
	asking bool
}

type txnShard = shard[*txn.Coordinator, txn.Effects]

// remotePatience is how long a node waits for another's coordinator or partition.
const remotePatience = time.Second

// coordinatorIDs is where the producer ids of transactions begin: the other producers of a run have small ones of their own.
const coordinatorIDs wire.ProducerID = 1_000_000

func newTxnService(n *Node) *txnService {
	s := &txnService{node: n}
	s.shards = newShards(n, shardKind[*txn.Coordinator, txn.Effects]{
		empty: s.empty,
		replay: func(c *txn.Coordinator, b wire.RecordBatch, rec wire.Record) error {
			if b.IsControl() {
				return nil
			}
			return c.Load(rec)
		},
		begin: func(c *txn.Coordinator) txn.Effects { return c.Loaded(n.nowMS(), n.wallClock()) },
		apply: s.apply,
	})
	return s
}

func (s *txnService) empty(r *replica) *txn.Coordinator {
	cfg := txn.DefaultConfig()
	cfg.AbortIntervalMS, cfg.WaitMS = 100, 300
	cfg.CoordinatorEpoch = int32(r.partition.LeaderEpoch())
	cfg.NewProducerID = s.producerID
	return txn.New(cfg)
}

// handle has the coordinator of a place answer a request.
func (s *txnService) handle(place int, req kmsg.Request, answer func(kmsg.Response)) {
	shard := s.shards.byIdx[place]
	if shard == nil {
		answer(txn.Refuse(req, wire.NotCoordinator))
		return
	}
	h := txn.Handle(shard.take(answer, func() { answer(txn.Refuse(req, wire.NotCoordinator)) }))
	n := s.node
	if add, ok := req.(*kmsg.AddOffsetsToTxnRequest); ok {
		c := n.cluster
		at := c.places[c.coordinatorPlace(image.ConsumerOffsetsTopic, add.Group)]
		s.apply(shard, shard.coordinator.AddOffsets(n.nowMS(), n.wallClock(), h, add, at))
		return
	}
	s.apply(shard, shard.coordinator.Handle(n.nowMS(), n.wallClock(), h, req))
}

// apply does what a coordinator asks for. Answers come before markers: what they let in is older.
func (s *txnService) apply(shard *txnShard, fx txn.Effects) {
	n := s.node
	shard.due(fx.NextTickMS)
	for _, r := range fx.Replies {
		s.order++
		shard.answer(uint64(r.Handle), r.Response)
	}
	for _, a := range fx.Appends {
		shard.append(internalBatch{records: a.Records}, func(c *txn.Coordinator, code wire.ErrorCode) txn.Effects {
			return c.Appended(n.nowMS(), n.wallClock(), a.ID, code)
		})
	}
	for _, m := range fx.Markers {
		s.order++
		s.sendMarkers(shard, m)
	}
}

// sendMarkers has the markers of an ended transaction written, wherever its partitions are led.
func (s *txnService) sendMarkers(shard *txnShard, m txn.Markers) {
	n, coordinator := s.node, shard.coordinator
	marker := txnMarker{m.ProducerID, m.ProducerEpoch, m.Commit, m.CoordinatorEpoch, s.order}
	n.cluster.world.Tracef("%s: markers of producer %d epoch %d, commit %t, to %v", n.process.Name(), m.ProducerID, m.ProducerEpoch, m.Commit, m.Partitions)
	for _, tp := range m.Partitions {
		place := n.cluster.placeOf(tp)
		then := func(code wire.ErrorCode) {
			shard.report(coordinator, func() txn.Effects { return coordinator.Marked(n.nowMS(), n.wallClock(), m.ID, tp, code) })
		}
		switch leader := n.leaderOf(place).leader; leader {
		case n.id:
			n.writeMarker(place, marker, then)
		case wire.NoNode, noRoute.leader:
			then(wire.NotLeaderOrFollower)
		default:
			marker := marker
			marker.order = txnOrderForeign
			to := n.cluster.node(leader)
			n.cluster.ask(n.process, to, "marker", remotePatience, func(reply func(func())) {
				to.writeMarker(place, marker, func(code wire.ErrorCode) { reply(func() { then(code) }) })
			}, func() { then(wire.NetworkException) })
		}
	}
}

// writeMarker appends a marker. Where that is a partition of group coordinators, its coordinator learns of it before then is called.
func (n *Node) writeMarker(place int, m txnMarker, then func(wire.ErrorCode)) {
	b := internalBatch{marker: wire.AppendTxnMarker(nil, m.producerID, m.epoch, m.commit, m.coordinatorEpoch, n.wallClock()), order: m.order}
	n.appendInternal(place, b, func(code wire.ErrorCode) {
		if code == wire.None && n.cluster.places[place].Topic == image.ConsumerOffsetsTopic {
			n.groups.txnEnded(place, m, func() { then(code) })
			return
		}
		then(code)
	})
}

// producerIDsLow is with how few producer ids left a node asks for more.
const producerIDsLow = 5

// producerID gives a coordinator a producer id, if there is one, and asks the controller for more in time.
func (s *txnService) producerID() (wire.ProducerID, bool) {
	if len(s.spare) < producerIDsLow {
		s.stock()
	}
	if len(s.spare) == 0 {
		return wire.NoProducerID, false
	}
	id := s.spare[0]
	s.spare = s.spare[1:]
	return id, true
}

func (s *txnService) stock() {
	if s.asking {
		return
	}
	s.asking = true
	n := s.node
	var first wire.ProducerID
	after := n.cluster.quorum.blocksEnd
	n.askController("producer ids", func(_ *controller.Controller, m *image.Image, _ time.Duration) []image.Record {
		first = m.NextProducerID()
		return []image.Record{image.ProducerIDsRecord{Next: first + producerIDBlock}}
	}, func() {
		s.asking = false
		n.cluster.quorum.allocated(n.process.Name(), first, after)
		for i := range wire.ProducerID(producerIDBlock) {
			s.spare = append(s.spare, coordinatorIDs+first+i)
		}
	}, func() { s.asking = false })
}
