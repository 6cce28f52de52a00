package cluster

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// txnOrder says in which order a node's coordinators let a producer write to a partition and sent a marker there (node/txns.go).
type txnOrder uint64

// The orders of markers of other nodes, and of their answers and of no marker.
const (
	txnOrderUnknown txnOrder = 0
	txnOrderForeign txnOrder = math.MaxUint64
)

// txnMarker is the end of a producer's transaction in one partition.
type txnMarker struct {
	producerID       wire.ProducerID
	epoch            wire.ProducerEpoch
	commit           bool
	coordinatorEpoch int32
	order            txnOrder
}

// claim is how a request says that its batches belong to a transaction.
type claim struct {
	id       string // transactional; "": none
	implicit bool   // writing to a partition adds it to the transaction (transaction.version 2)
}

// item is a produce on its way into a partition.
type item struct {
	batch    wire.RecordBatch
	acks     int16
	claim    claim
	order    txnOrder          // of a marker
	epoch    *wire.LeaderEpoch // that it may be appended under; nil: any
	verified bool
	answer   func(wire.ErrorCode, wire.Offset)
}

// internalBatch is what a coordinator appends (node/internalappend.go).
type internalBatch struct {
	records []wire.Record
	batch   wire.BatchHeader // of records: whose transaction they belong to
	claim   claim
	marker  []byte
	order   txnOrder
	epoch   *wire.LeaderEpoch
}

// appendInternal appends to a partition that this node leads, as a producer with acks=all would.
func (n *Node) appendInternal(place int, b internalBatch, then func(wire.ErrorCode)) {
	batch := wire.RecordBatch(b.marker)
	if batch == nil {
		b.batch.BaseTimestamp = n.wallClock()
		batch = wire.AppendRecordBatch(nil, b.batch, b.records)
	}
	n.process.After(0, func() {
		n.offer(place, &item{
			batch: batch, acks: replicate.AcksAll, claim: b.claim, order: b.order, epoch: b.epoch,
			answer: func(code wire.ErrorCode, _ wire.Offset) { then(code) },
		})
	})
}

// verificationKey is whose verification it is.
type verificationKey struct {
	id    wire.ProducerID
	epoch wire.ProducerEpoch
}

// verification is a question to a transaction's coordinator that is under way: may this producer write to this partition? Its batches
// wait for the answer (node/txnverify.go).
type verification struct {
	key    verificationKey
	items  []*item
	marked txnOrder
}

// park keeps an item back that has to be verified first; true if it did.
func (r *replica) park(it *item) bool {
	b := it.batch
	switch {
	case !b.IsTransactional() || it.verified:
		return false
	case b.IsControl():
		for _, v := range r.verifying {
			if v.key.id == b.ProducerID() && v.key.epoch <= b.ProducerEpoch() {
				v.marked = max(v.marked, it.order)
			}
		}
		return false
	}
	key := verificationKey{b.ProducerID(), b.ProducerEpoch()}
	for _, v := range r.verifying {
		if v.key == key {
			v.items = append(v.items, it)
			return true
		}
	}
	if verdict := r.log.CheckProducer(b); r.log.InTransaction(key.id, key.epoch) || verdict.Duplicate || verdict.Code == wire.InvalidProducerEpoch {
		return false
	}
	v := &verification{key: key, items: []*item{it}}
	r.verifying = append(r.verifying, v)
	r.verify(v)
	return true
}

func (r *replica) verify(v *verification) {
	r.node.verify(r.index, v.key, v.items[0].claim, func(code wire.ErrorCode, order txnOrder) {
		r.node.process.After(0, func() { r.verified(v, code, order) })
	})
}

// verified goes on with the batches that waited for an answer.
func (r *replica) verified(v *verification, code wire.ErrorCode, order txnOrder) {
	if !r.stopVerifying(v) {
		return
	}
	switch {
	case code != wire.None || v.marked <= order:
	case order == txnOrderUnknown || v.marked == txnOrderForeign:
		v.marked = txnOrderUnknown
		r.verifying = append(r.verifying, v)
		r.verify(v)
		return
	default:
		code = wire.InvalidTxnState
	}
	for _, it := range v.items {
		if code != wire.None {
			it.answer(refusedUnverified(code), wire.NoOffset)
			continue
		}
		it.verified = true
		if r.node.process.Running() {
			r.node.offer(r.index, it)
		}
	}
}

// stopVerifying forgets a verification; false if it was forgotten before.
func (r *replica) stopVerifying(v *verification) bool {
	for i := range r.verifying {
		if r.verifying[i] == v {
			r.verifying = append(r.verifying[:i:i], r.verifying[i+1:]...)
			return true
		}
	}
	return false
}

// refuseVerifying answers what waits for a verification: the node leads the partition no more, or under another epoch.
func (r *replica) refuseVerifying() {
	waiting := r.verifying
	r.verifying = nil
	for _, v := range waiting {
		for _, it := range v.items {
			it.answer(wire.NotLeaderOrFollower, wire.NoOffset)
		}
	}
}

// refusedUnverified is what the client of a batch is told that is not part of a transaction.
func refusedUnverified(code wire.ErrorCode) wire.ErrorCode {
	if code == wire.ProducerFenced {
		return wire.InvalidProducerEpoch
	}
	return code
}

// The versions of AddPartitionsToTxn that nodes send: for producers that add their partitions, and for those that do not.
const (
	addPartitionsBatched  = 4
	addPartitionsImplicit = 5
)

// verify asks the coordinator of a transactional id, wherever it is, whether a producer may write to a partition.
func (n *Node) verify(place int, key verificationKey, by claim, then func(wire.ErrorCode, txnOrder)) {
	c := n.cluster
	at := c.places[place]
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = addPartitionsBatched
	if by.implicit {
		req.Version = addPartitionsImplicit
	}
	topic := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
	topic.Topic, topic.Partitions = at.Topic, []int32{int32(at.Partition)}
	asked := kmsg.NewAddPartitionsToTxnRequestTransaction()
	asked.TransactionalID, asked.ProducerID, asked.ProducerEpoch = by.id, int64(key.id), int16(key.epoch)
	asked.VerifyOnly, asked.Topics = !by.implicit, append(asked.Topics, topic)
	req.Transactions = append(req.Transactions, asked)
	coordinator := c.coordinatorPlace(image.TransactionStateTopic, by.id)
	switch leader := n.leaderOf(coordinator).leader; leader {
	case n.id:
		n.later(func() {
			n.txns.handle(coordinator, req, func(resp kmsg.Response) { then(additionCode(resp), n.txns.order) })
		})
	case wire.NoNode, noRoute.leader:
		then(wire.CoordinatorNotAvailable, txnOrderUnknown)
	default:
		to := c.node(leader)
		c.ask(n.process, to, "verification", remotePatience, func(reply func(func())) {
			to.later(func() {
				to.txns.handle(coordinator, req, func(resp kmsg.Response) {
					reply(func() { then(additionCode(resp), txnOrderUnknown) })
				})
			})
		}, func() { then(wire.NetworkException, txnOrderUnknown) })
	}
}

// additionCode is what became of the one partition that was asked for.
func additionCode(resp kmsg.Response) wire.ErrorCode {
	r := resp.(*kmsg.AddPartitionsToTxnResponse)
	if r.ErrorCode != 0 {
		return wire.ErrorCode(r.ErrorCode)
	}
	return wire.ErrorCode(r.Transactions[0].Topics[0].Partitions[0].ErrorCode)
}
