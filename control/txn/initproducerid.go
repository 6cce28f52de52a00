package txn

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// initProducerID gives a transactional id's producer its id and epoch, which fences the producer before it. What that one
// left open is aborted first; meanwhile clients are told CONCURRENT_TRANSACTIONS and come back.
func (c *Coordinator) initProducerID(h Handle, req *kmsg.InitProducerIDRequest) {
	t := c.lookup(*req.TransactionalID)
	code := wire.None
	if t == nil {
		t, code = c.create(*req.TransactionalID, req.TransactionTimeoutMillis)
	}
	if code == wire.None {
		code = t.checkInit(req)
	}
	if code != wire.None {
		c.reply(h, initError(req, code))
		return
	}
	if t.state == Ongoing {
		c.fence(t, func(code wire.ErrorCode) {
			if code == wire.None {
				code = wire.ConcurrentTransactions
			}
			c.reply(h, initError(req, code))
		})
		return
	}
	next, code := c.initialized(t, req)
	if code != wire.None {
		c.reply(h, initError(req, code))
		return
	}
	c.transit(t, next, func(code wire.ErrorCode) { c.answerInit(h, t, req, code) })
}

// create makes a transactional id that nobody has used, without a producer epoch. It is not in the log yet.
func (c *Coordinator) create(id string, timeoutMS int32) (*transaction, wire.ErrorCode) {
	if len(c.ids) >= c.cfg.MaxIDs || !c.fits(idBytes+int64(len(id))) {
		return nil, wire.PolicyViolation
	}
	producerID, ok := c.cfg.NewProducerID()
	if !ok {
		return nil, wire.CoordinatorLoadInProgress
	}
	t := &transaction{id: id, metadata: metadata{
		producerID: producerID, previousProducerID: wire.NoProducerID, nextProducerID: wire.NoProducerID,
		epoch: wire.NoProducerEpoch, lastEpoch: wire.NoProducerEpoch, timeoutMS: timeoutMS,
		state: Empty, start: wire.NoTimestamp, lastUpdate: c.wall,
	}}
	c.ids[id] = t
	c.charge(t)
	c.touched = t
	return t, wire.None
}

// checkInit judges whether the request's producer, if it names one, is the one that has the id, or retries.
func (t *transaction) checkInit(req *kmsg.InitProducerIDRequest) wire.ErrorCode {
	if t.pending != nil || t.state.prepared() {
		return wire.ConcurrentTransactions
	}
	id, epoch := wire.ProducerID(req.ProducerID), wire.ProducerEpoch(req.ProducerEpoch)
	switch {
	case epoch == wire.NoProducerEpoch, // it names none
		t.epoch == wire.NoProducerEpoch, // what it had was forgotten
		id == t.producerID,
		id == t.previousProducerID && epoch >= epochMax: // it has not heard of the id that followed
		return wire.None
	}
	return wire.ProducerFenced
}

// initialized is the state after an InitProducerId: the next epoch, or a new producer id where there is none.
func (c *Coordinator) initialized(t *transaction, req *kmsg.InitProducerIDRequest) (metadata, wire.ErrorCode) {
	next := t.metadata
	next.state, next.partitions, next.start, next.lastUpdate = Empty, nil, wire.NoTimestamp, c.wall
	next.timeoutMS = req.TransactionTimeoutMillis
	expected := wire.ProducerEpoch(req.ProducerEpoch)
	named := expected != wire.NoProducerEpoch
	switch {
	case t.exhausted() && (!named || expected == t.epoch):
		id, ok := c.cfg.NewProducerID()
		if !ok {
			return next, wire.CoordinatorLoadInProgress
		}
		next.producerID, next.epoch, next.lastEpoch = id, 0, wire.NoProducerEpoch
		if named {
			next.lastEpoch = t.epoch
		}
	case !named:
		next.epoch, next.lastEpoch = t.epoch+1, wire.NoProducerEpoch
	case t.epoch == wire.NoProducerEpoch, expected == t.epoch:
		next.epoch, next.lastEpoch = t.epoch+1, t.epoch
	case expected == t.lastEpoch: // a retry: the answer was lost
	default:
		return next, wire.ProducerFenced
	}
	return next, wire.None
}

// answerInit tells the producer its id and epoch. An id whose first record failed is forgotten.
func (c *Coordinator) answerInit(h Handle, t *transaction, req *kmsg.InitProducerIDRequest, code wire.ErrorCode) {
	if code != wire.None {
		if t.epoch == wire.NoProducerEpoch {
			c.forget(t)
		}
		c.reply(h, initError(req, code))
		return
	}
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.Version = req.Version
	resp.ProducerID, resp.ProducerEpoch = int64(t.producerID), int16(t.epoch)
	c.reply(h, resp)
}
