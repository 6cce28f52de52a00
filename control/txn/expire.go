package txn

import "github.com/ringmill/ringmill/wire"

// abortTimedOut ends the transactions that took longer than their producers allowed; those are fenced by it.
func (c *Coordinator) abortTimedOut() {
	if c.nowMS < c.nextAbortMS {
		return
	}
	c.nextAbortMS = c.nowMS + max(c.cfg.AbortIntervalMS, 1)
	var due []*transaction
	for _, t := range c.ids {
		if t.state == Ongoing && t.pending == nil && c.nowMS-t.startMS > int64(t.timeoutMS) {
			due = append(due, t)
		}
	}
	for _, t := range sorted(due) {
		c.fence(t, func(wire.ErrorCode) {}) // a failure is found again by the next look
	}
}

// expiryBatch bounds the tombstones of one append.
const expiryBatch = 1000

// expireIDs forgets transactional ids that nobody has used for transactional.id.expiration.ms.
func (c *Coordinator) expireIDs() {
	if c.nowMS < c.nextExpiryMS {
		return
	}
	c.nextExpiryMS = c.nowMS + max(c.cfg.ExpirationIntervalMS, 1)
	var due []*transaction
	for _, t := range c.ids {
		if t.state.idle() && t.pending == nil && int64(c.wall-t.lastUpdate) >= c.cfg.IDExpirationMS {
			due = append(due, t)
		}
	}
	sorted(due)
	for len(due) > 0 {
		n := min(len(due), expiryBatch)
		c.bury(due[:n:n])
		due = due[n:]
	}
}

// bury writes tombstones; the ids are gone once those are durable.
func (c *Coordinator) bury(ts []*transaction) {
	records := make([]wire.Record, len(ts))
	for i, t := range ts {
		dead := t.metadata
		dead.state = Dead
		t.pending = &dead
		records[i] = tombstone(t.id)
	}
	c.append(records, func(code wire.ErrorCode) {
		for _, t := range ts {
			t.pending = nil
			if code == wire.None {
				c.forget(t)
			}
			c.release(t)
		}
	})
}

// forget drops a transactional id; who waited for it is told so.
func (c *Coordinator) forget(t *transaction) {
	delete(c.ids, t.id)
	c.discharge(t)
	delete(c.waiting, t)
	for _, w := range t.waiters {
		w.answer(wire.InvalidProducerIDMapping)
	}
	t.waiters = nil
}
