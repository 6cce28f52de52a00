package txn

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchedFrom is the first version of AddPartitionsToTxn that brokers send, with several transactions (KIP-890). A client
// whose version of it, or of Produce, is above implicitFrom is one of transaction version 2.
const (
	batchedFrom  = 4
	implicitFrom = 4
)

// addition is what one AddPartitionsToTxn or AddOffsetsToTxn asks for.
type addition struct {
	id         string
	producerID wire.ProducerID
	epoch      wire.ProducerEpoch
	partitions []wire.TopicPartition
	verifyOnly bool
	version    Version
}

// waiter is an addition that waits; answer is called once.
type waiter struct {
	addition addition
	untilMS  int64
	answer   func(code wire.ErrorCode)
}

// addPartitions takes partitions into a transaction, or begins one with them; or, verifyOnly, says whether they are in it.
// The request names one transaction.
func (c *Coordinator) addPartitions(h Handle, req *kmsg.AddPartitionsToTxnRequest) {
	if req.Version < batchedFrom {
		a := addition{
			id: req.TransactionalID, producerID: wire.ProducerID(req.ProducerID), epoch: wire.ProducerEpoch(req.ProducerEpoch),
		}
		for _, t := range req.Topics {
			a.add(t.Topic, t.Partitions)
		}
		c.add(a, func(code wire.ErrorCode) { c.reply(h, addResponse(req, code)) })
		return
	}
	asked := &req.Transactions[0]
	a := addition{
		id: asked.TransactionalID, producerID: wire.ProducerID(asked.ProducerID), epoch: wire.ProducerEpoch(asked.ProducerEpoch),
		verifyOnly: asked.VerifyOnly,
	}
	if req.Version > implicitFrom {
		a.version = TV2
	}
	for _, t := range asked.Topics {
		a.add(t.Topic, t.Partitions)
	}
	if a.verifyOnly {
		c.reply(h, c.verify(a, req))
		return
	}
	c.addOrWait(a, func(code wire.ErrorCode) { c.reply(h, addResponse(req, code)) })
}

func (a *addition) add(topic string, partitions []int32) {
	for _, p := range partitions {
		a.partitions = append(a.partitions, wire.TopicPartition{Topic: topic, Partition: wire.PartitionIndex(p)})
	}
}

func (c *Coordinator) addOffsets(h Handle, req *kmsg.AddOffsetsToTxnRequest, partition wire.TopicPartition) {
	a := addition{
		id: req.TransactionalID, producerID: wire.ProducerID(req.ProducerID), epoch: wire.ProducerEpoch(req.ProducerEpoch),
		partitions: []wire.TopicPartition{partition},
	}
	c.add(a, func(code wire.ErrorCode) {
		resp := kmsg.NewPtrAddOffsetsToTxnResponse()
		resp.Version, resp.ErrorCode = req.Version, int16(oldFenced(code, req.Version, 2))
		c.reply(h, resp)
	})
}

// judge says whether an addition may be made. What changes is looked at first: a new producer id may be on its way.
func (t *transaction) judge(a addition) wire.ErrorCode {
	switch {
	case t == nil:
		return wire.InvalidProducerIDMapping
	case t.pending != nil:
		return wire.ConcurrentTransactions
	case t.producerID != a.producerID:
		return wire.InvalidProducerIDMapping
	case t.epoch != a.epoch:
		return wire.ProducerFenced
	case t.state.prepared():
		return wire.ConcurrentTransactions
	}
	return wire.None
}

// add makes one addition, or refuses it.
func (c *Coordinator) add(a addition, answer func(wire.ErrorCode)) {
	t := c.lookup(a.id)
	if code := t.judge(a); code != wire.None {
		answer(code)
		return
	}
	c.addAll(t, []waiter{{addition: a, answer: answer}})
}

// addOrWait is add for brokers: where a client would have to come back, the addition waits for a while.
func (c *Coordinator) addOrWait(a addition, answer func(wire.ErrorCode)) {
	t := c.lookup(a.id)
	switch code := t.judge(a); code {
	case wire.None:
		c.addAll(t, []waiter{{addition: a, answer: answer}})
	case wire.ConcurrentTransactions:
		t.waiters = append(t.waiters, waiter{a, c.nowMS + c.cfg.WaitMS, answer})
		c.waiting[t] = struct{}{}
	default:
		answer(code)
	}
}

// addAll makes additions that were judged to be right with one record.
func (c *Coordinator) addAll(t *transaction, additions []waiter) {
	next := t.metadata
	for _, w := range additions {
		next.partitions = union(next.partitions, w.addition.partitions)
		next.version = w.addition.version
	}
	answer := func(code wire.ErrorCode) {
		for _, w := range additions {
			w.answer(code)
		}
	}
	if t.state == Ongoing && len(next.partitions) == len(t.partitions) {
		answer(wire.None)
		return
	}
	if !c.fits(sizeOf(next.partitions)) {
		answer(wire.ConcurrentTransactions) // clients come back, and transactions end
		return
	}
	if t.state != Ongoing {
		next.state, next.start = Ongoing, c.wall
	}
	next.lastUpdate = c.wall
	c.transit(t, next, answer)
}

// release lets the waiters of t go on if it is not busy any more.
func (c *Coordinator) release(t *transaction) {
	if t.busy() || len(t.waiters) == 0 {
		return
	}
	waiters := t.waiters
	t.waiters = nil
	delete(c.waiting, t)
	var good []waiter
	for _, w := range waiters {
		if code := t.judge(w.addition); code == wire.None {
			good = append(good, w)
		} else {
			w.answer(code)
		}
	}
	if len(good) > 0 {
		c.addAll(t, good)
	}
}

// endWaits refuses the additions that have waited long enough.
func (c *Coordinator) endWaits() {
	for _, t := range c.waitingIDs() {
		n := 0
		for n < len(t.waiters) && t.waiters[n].untilMS <= c.nowMS {
			t.waiters[n].answer(wire.ConcurrentTransactions)
			n++
		}
		if t.waiters = t.waiters[n:]; len(t.waiters) == 0 {
			t.waiters = nil
			delete(c.waiting, t)
		}
	}
}

func (c *Coordinator) waitingIDs() []*transaction {
	ts := make([]*transaction, 0, len(c.waiting))
	for t := range c.waiting {
		ts = append(ts, t)
	}
	return sorted(ts)
}

// verify says of each partition whether it is in the producer's open transaction. A record under way is not waited for:
// the log has the last word.
func (c *Coordinator) verify(a addition, req *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	t := c.lookup(a.id)
	code := wire.None
	switch {
	case t == nil || t.producerID != a.producerID:
		code = wire.InvalidProducerIDMapping
	case t.epoch != a.epoch:
		code = wire.ProducerFenced
	case t.state.prepared():
		code = wire.ConcurrentTransactions
	}
	resp := addResponse(req, code)
	if code != wire.None {
		return resp
	}
	for i := range resp.Transactions[0].Topics {
		topic := &resp.Transactions[0].Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			if !t.holds([]wire.TopicPartition{{Topic: topic.Topic, Partition: wire.PartitionIndex(p.Partition)}}) {
				p.ErrorCode = int16(wire.TransactionAbortable)
			}
		}
	}
	return resp
}

// addResponse says code of every partition.
func addResponse(req *kmsg.AddPartitionsToTxnRequest, code wire.ErrorCode) *kmsg.AddPartitionsToTxnResponse {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	resp.Version = req.Version
	code = oldFenced(code, req.Version, 2)
	for _, t := range req.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p, ErrorCode: int16(code)})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	for i := range req.Transactions {
		resp.Transactions = append(resp.Transactions, addedTransaction(&req.Transactions[i], code))
	}
	return resp
}

func addedTransaction(asked *kmsg.AddPartitionsToTxnRequestTransaction, code wire.ErrorCode) kmsg.AddPartitionsToTxnResponseTransaction {
	out := kmsg.NewAddPartitionsToTxnResponseTransaction()
	out.TransactionalID = asked.TransactionalID
	for _, t := range asked.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			partition := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			partition.Partition, partition.ErrorCode = p, int16(code)
			topic.Partitions = append(topic.Partitions, partition)
		}
		out.Topics = append(out.Topics, topic)
	}
	return out
}
