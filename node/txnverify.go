package node

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// verification is a question to a transaction coordinator that is under way: may this producer write to this partition in
// the transaction that it has? Its batches wait for the answer; those of others go past them. Once a batch is in the log
// the transaction is open there, and nothing more is asked (KIP-890).
type verification struct {
	items []*produceItem
	// marked is the order of the newest marker of the producer that came in meanwhile: an answer from before it counts no
	// more. One of another node has no order among this node's markers: it is asked for again.
	marked txnOrder
}

// verificationKey is whose verification it is; a partition has one under way a producer and epoch.
type verificationKey struct {
	id    wire.ProducerID
	epoch wire.ProducerEpoch
}

// claim is how a request says that its batches belong to a transaction.
type claim struct {
	// transactionalID is a view of the request's bytes, nil if there is none.
	transactionalID []byte
	// implicit says that writing to a partition adds it to the transaction (transaction.version 2).
	implicit bool
	// genericErrors says that the client knows TRANSACTION_ABORTABLE.
	genericErrors bool
}

// The versions of Produce, and of TxnOffsetCommit, from which on a client knows TRANSACTION_ABORTABLE, and adds no partitions
// (KIP-890).
const (
	produceGenericErrorsFrom    = 11
	produceImplicitFrom         = 12
	txnOffsetsGenericErrorsFrom = 4
)

func claimOf(transactionalID []byte, v wire.APIVersion) claim {
	return claim{transactionalID: transactionalID, implicit: v >= produceImplicitFrom, genericErrors: v >= produceGenericErrorsFrom}
}

// park keeps an item back that has to be verified first; true if it did. Control batches are the coordinator's own and
// only noted.
func (p *partition) park(item *produceItem) bool {
	b := item.batch
	switch {
	case !b.IsTransactional() || item.verified:
		return false
	case b.IsControl():
		p.noteMarker(b, item.order)
		return false
	}
	key := verificationKey{b.ProducerID(), b.ProducerEpoch()}
	if v := p.verifying[key]; v != nil {
		v.items = append(v.items, item)
		return true
	}
	if p.log().InTransaction(key.id, key.epoch) || p.answersItself(b) {
		return false
	}
	if p.verifying == nil {
		p.verifying = make(map[verificationKey]*verification)
	}
	p.verifying[key] = &verification{items: []*produceItem{item}}
	p.verify(key, p.verifying[key])
	return true
}

// verify asks for a verification.
func (p *partition) verify(key verificationKey, v *verification) {
	l := p.loop
	tp := wire.TopicPartition{Topic: p.topic, Partition: p.index}
	l.node.txns.verify(key, v.items[0].request.claim, tp, func(code wire.ErrorCode, order txnOrder) {
		l.send(messageFunc(func(*Loop) { p.verified(key, v, code, order) }))
	})
}

// answersItself says that a batch is not going to be appended: a retry, or one of a producer that was fenced.
func (p *partition) answersItself(b wire.RecordBatch) bool {
	v := p.log().CheckProducer(b)
	return v.Duplicate || v.Code == wire.InvalidProducerEpoch
}

// noteMarker remembers a marker for the verifications that are under way.
func (p *partition) noteMarker(b wire.RecordBatch, order txnOrder) {
	for key, v := range p.verifying {
		if key.id == b.ProducerID() && key.epoch <= b.ProducerEpoch() {
			v.marked = max(v.marked, order)
		}
	}
}

// verified goes on with the batches that waited for an answer.
func (p *partition) verified(key verificationKey, v *verification, code wire.ErrorCode, order txnOrder) {
	if p.verifying[key] != v {
		return // they were answered when the partition was stopped, or led no more
	}
	delete(p.verifying, key)
	switch {
	case code != wire.None || v.marked <= order:
	case order == txnOrderUnknown || v.marked == txnOrderForeign:
		v.marked = txnOrderUnknown // whichever was first: the marker is in the log by now, so that another answer is about what is there
		p.verifying[key] = v
		p.verify(key, v)
		return
	default:
		code = wire.InvalidTxnState
	}
	if code != wire.None {
		for _, item := range v.items {
			p.refuseUnverified(item, code)
		}
		return
	}
	for _, item := range v.items {
		item.verified = true
	}
	// What waits for a roll came later: these go first.
	p.queue = append(v.items, p.queue...)
	p.drainQueue()
}

// refuseUnverified answers a batch that is not part of a transaction (ReplicaManager.handleProduceAppend).
func (p *partition) refuseUnverified(item *produceItem, code wire.ErrorCode) {
	switch code {
	case wire.InvalidTxnState:
		item.message = "Partition was not added to the transaction"
	case wire.ConcurrentTransactions, wire.NetworkException, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotCoordinator:
		item.message = "Unable to verify the partition has been added to the transaction. Underlying error: " + code.String()
		if item.appended == nil { // old clients retry this one rightly
			code = wire.NotEnoughReplicas
		}
	}
	p.loop.finishItem(item, replicate.Refused(item, code))
}

// reignEnds has nothing appended on the word that a coordinator gave for a leadership that is over: a marker that another leader has written
// since nobody has noted here.
func (p *partition) reignEnds() {
	p.stopVerifying(wire.NotLeaderOrFollower)
	for _, item := range p.queue {
		item.verified = false
	}
}

// stopVerifying answers what waits for a verification with code.
func (p *partition) stopVerifying(code wire.ErrorCode) {
	verifying := p.verifying
	p.verifying = nil
	for _, v := range verifying {
		for _, item := range v.items {
			p.loop.finishItem(item, replicate.Refused(item, code))
		}
	}
}

// verify asks the coordinator of a transactional id, wherever it is, whether a producer may write to a partition; where the claim is
// implicit the partition is added to its transaction. then is called once and must not block. The caller may be a loop.
func (s *txnService) verify(key verificationKey, c claim, tp wire.TopicPartition, then func(code wire.ErrorCode, order txnOrder)) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = addPartitionsBatched
	if c.implicit {
		req.Version = addPartitionsImplicit
	}
	topic := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
	topic.Topic, topic.Partitions = tp.Topic, []int32{int32(tp.Partition)}
	asked := kmsg.NewAddPartitionsToTxnRequestTransaction()
	asked.TransactionalID, asked.ProducerID, asked.ProducerEpoch = string(c.transactionalID), int64(key.id), int16(key.epoch)
	asked.VerifyOnly, asked.Topics = !c.implicit, append(asked.Topics, topic)
	req.Transactions = append(req.Transactions, asked)
	switch coordinator, remote := s.node.coordinatorElsewhere(image.TransactionStateTopic, asked.TransactionalID); {
	case !remote:
		s.inbox.put(func() {
			s.handle(s.shardOf(asked.TransactionalID), req, func(resp kmsg.Response) { then(c.producerCode(additionCode(resp)), s.order) })
		})
	case coordinator == wire.NoNode:
		go then(wire.CoordinatorNotAvailable, txnOrderUnknown) // the caller may be the loop that is told
	default:
		s.verifications.put(coordinator, remoteVerification{req, func(code wire.ErrorCode) { then(c.producerCode(code), txnOrderUnknown) }})
	}
}

// remoteVerification is a verification that another node's coordinator has to answer.
type remoteVerification struct {
	request *kmsg.AddPartitionsToTxnRequest
	then    func(wire.ErrorCode)
}

// verificationAskers bounds the verifications that are under way to one node. Each has a request to itself: a coordinator holds one
// back while the transaction before is ending.
const verificationAskers = 8

func newRemoteVerifications(n *Node) *remoteCalls[remoteVerification] {
	return &remoteCalls[remoteVerification]{
		node: n, askers: verificationAskers, batch: 1,
		ask: func(address string, what []remoteVerification) error {
			resp, err := n.cluster.peers.call(address, what[0].request, remoteTimeout)
			if err == nil {
				what[0].then(additionCode(resp))
			}
			return err
		},
		lost: func(v remoteVerification) { v.then(wire.NetworkException) },
	}
}

// additionCode is what became of the one partition that was asked for.
func additionCode(resp kmsg.Response) wire.ErrorCode {
	r := resp.(*kmsg.AddPartitionsToTxnResponse)
	if r.ErrorCode != 0 {
		return wire.ErrorCode(r.ErrorCode)
	}
	if len(r.Transactions) == 0 || len(r.Transactions[0].Topics) == 0 || len(r.Transactions[0].Topics[0].Partitions) == 0 {
		return wire.UnknownServerError
	}
	return wire.ErrorCode(r.Transactions[0].Topics[0].Partitions[0].ErrorCode)
}

// The versions of AddPartitionsToTxn that nodes send: for producers that add their partitions, and for those that do not.
const (
	addPartitionsBatched  = 4
	addPartitionsImplicit = 5
)

// producerCode is a coordinator's answer in a producer's words (AddPartitionsToTxnManager).
func (c claim) producerCode(code wire.ErrorCode) wire.ErrorCode {
	switch {
	case code == wire.ProducerFenced:
		return wire.InvalidProducerEpoch
	case code == wire.TransactionAbortable && !c.genericErrors:
		return wire.InvalidTxnState
	}
	return code
}
