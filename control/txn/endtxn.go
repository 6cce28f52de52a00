package txn

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endTxn decides a transaction. The answer goes out when the decision is durable, before the markers are written.
func (c *Coordinator) endTxn(h Handle, req *kmsg.EndTxnRequest) {
	t := c.lookup(req.TransactionalID)
	end := ending{
		producerID: wire.ProducerID(req.ProducerID), epoch: wire.ProducerEpoch(req.ProducerEpoch), commit: req.Commit,
	}
	if req.Version > implicitFrom {
		end.version = TV2
	}
	answer := func(code wire.ErrorCode) { c.reply(h, endResponse(req, t, code)) }
	switch code, again := t.judgeEnd(end); {
	case code != wire.None || again:
		answer(code)
	default:
		c.decide(t, end, answer)
	}
}

// ending is what one EndTxn asks for.
type ending struct {
	producerID wire.ProducerID
	epoch      wire.ProducerEpoch
	commit     bool
	version    Version
}

// judgeEnd says whether a transaction may be ended as a client asks; again is true for the retry of what was done.
func (t *transaction) judgeEnd(e ending) (code wire.ErrorCode, again bool) {
	switch {
	case t == nil:
		return wire.InvalidProducerIDMapping, false
	case e.version.bumps():
		return t.judgeEndV2(e)
	case t.producerID != e.producerID:
		return wire.InvalidProducerIDMapping, false
	case t.epoch != e.epoch:
		return wire.ProducerFenced, false
	case t.pending != nil:
		return wire.ConcurrentTransactions, false
	}
	switch t.state {
	case Ongoing:
		return wire.None, false
	case PrepareCommit, PrepareAbort:
		return wire.ConcurrentTransactions, false
	case CompleteCommit, CompleteAbort:
		if e.commit == (t.state == CompleteCommit) {
			return wire.None, true
		}
	}
	return wire.InvalidTxnState, false
}

// judgeEndV2 judges by the epoch, which every end bumps: a late EndTxn has the epoch before, and never ends the next
// transaction. An abort is allowed without a transaction.
func (t *transaction) judgeEndV2(e ending) (code wire.ErrorCode, again bool) {
	bumped := t.epoch == e.epoch+1
	rotated := t.previousProducerID == e.producerID && e.epoch == epochMax && t.epoch == 0
	switch {
	case t.busy(): // first: the producer may have a new id already that is still to come here
		return wire.ConcurrentTransactions, false
	case t.producerID != e.producerID && !rotated:
		return wire.InvalidProducerIDMapping, false
	case e.epoch != t.epoch && (!bumped && !rotated || !t.ended()):
		return wire.ProducerFenced, false
	}
	again = e.epoch != t.epoch
	switch {
	case t.state == Ongoing:
		return wire.None, false
	case again && t.state != Empty && e.commit == (t.state == CompleteCommit):
		return wire.None, true
	case again || e.commit:
		return wire.InvalidTxnState, false
	}
	return wire.None, false
}

// ended reports whether the last transaction has ended and no other was begun: an EndTxn with the epoch before may be a retry.
func (t *transaction) ended() bool { return t.state == CompleteCommit || t.state == CompleteAbort }

// decide writes the outcome; once it is durable the markers go out.
func (c *Coordinator) decide(t *transaction, e ending, answer func(wire.ErrorCode)) {
	next := t.metadata
	next.version, next.lastUpdate, next.nextProducerID = e.version, c.wall, wire.NoProducerID
	if next.state = PrepareAbort; e.commit {
		next.state = PrepareCommit
	}
	if t.state != Ongoing {
		next.start = c.wall // an abort of nothing has to have begun as well
	}
	if e.version.bumps() {
		if t.exhausted() {
			id, ok := c.cfg.NewProducerID()
			if !ok {
				answer(wire.CoordinatorLoadInProgress)
				return
			}
			next.nextProducerID = id
		}
		next.epoch, next.lastEpoch = bump(t.epoch), t.epoch
	}
	c.transit(t, next, func(code wire.ErrorCode) {
		answer(code)
		if code == wire.None {
			c.sendMarkers(t)
		}
	})
}

// bump gives the next epoch; the last one, which only a fence of an exhausted epoch reaches, stays.
func bump(epoch wire.ProducerEpoch) wire.ProducerEpoch {
	if epoch > epochMax {
		return epoch
	}
	return epoch + 1
}

// fence aborts what a producer left open under an epoch that no client has.
func (c *Coordinator) fence(t *transaction, answer func(wire.ErrorCode)) {
	next := t.metadata
	next.state, next.version, next.lastUpdate, next.nextProducerID = PrepareAbort, TV2, c.wall, wire.NoProducerID
	next.epoch, next.lastEpoch = bump(t.epoch), t.epoch
	c.transit(t, next, func(code wire.ErrorCode) {
		answer(code)
		if code == wire.None {
			c.sendMarkers(t)
		}
	})
}

// completed is the state once all markers are written.
func (t *transaction) completed(now wire.Timestamp) metadata {
	next := t.metadata
	next.partitions, next.lastUpdate = nil, now
	if next.state = CompleteAbort; t.state == PrepareCommit {
		next.state = CompleteCommit
	}
	if t.version.bumps() && t.nextProducerID != wire.NoProducerID {
		next.producerID, next.epoch = t.nextProducerID, 0
	}
	next.nextProducerID = wire.NoProducerID
	return next
}

func endResponse(req *kmsg.EndTxnRequest, t *transaction, code wire.ErrorCode) *kmsg.EndTxnResponse {
	resp := kmsg.NewPtrEndTxnResponse()
	resp.Version, resp.ErrorCode = req.Version, int16(oldFenced(code, req.Version, 2))
	if code != wire.None {
		return resp
	}
	m := t.metadata
	if m.state.prepared() {
		m = t.completed(m.lastUpdate)
	}
	resp.ProducerID, resp.ProducerEpoch = int64(m.producerID), int16(m.epoch)
	return resp
}
