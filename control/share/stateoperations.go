package share

import (
	"github.com/ringmill/ringmill/wire"
)

// The messages of Apache Kafka 4.1.1's ShareCoordinatorShard and Errors.
const (
	negativePartition  = "The partition id cannot be a negative number."
	writeUninitialized = "Write operation on uninitialized share partition not allowed."
	readUninitialized  = "Read operation on uninitialized share partition not allowed."
	noPartition        = "This server does not host this topic-partition."
	fencedLeaderEpoch  = "The leader epoch in the request is older than the epoch on the broker."
	fencedStateEpoch   = "The share coordinator rejected the request because the share-group state epoch did not match."
)

// asIs is an epoch that is not to be changed.
const asIs int32 = -1

// runOrWait runs an operation when nothing is under way for its key.
func (c *StateCoordinator) runOrWait(h Handle, op Operation) {
	if k := c.keys[op.Key]; k != nil && k.writing {
		k.waiting = append(k.waiting, waitingOperation{h, op})
		return
	}
	c.run(h, op)
}

// resume runs the operations that waited for a record of k, up to the next that writes one.
func (c *StateCoordinator) resume(k *keyState) {
	for len(k.waiting) > 0 && !k.writing {
		w := k.waiting[0]
		k.waiting = k.waiting[1:]
		if c.keys[k.key] != k { // it was forgotten, and the first of those that waited may have made it anew
			c.runOrWait(w.handle, w.op)
			continue
		}
		c.run(w.handle, w.op)
	}
	if !k.known && !k.writing && len(k.waiting) == 0 && c.keys[k.key] == k {
		delete(c.keys, k.key)
	}
}

// run does an operation for whose key nothing is under way.
func (c *StateCoordinator) run(h Handle, op Operation) {
	k := c.keys[op.Key]
	if k != nil && !k.known {
		k = nil
	}
	if refusal, ok := c.check(k, &op); !ok {
		c.answer(h, refusal)
		return
	}
	switch op.Kind {
	case Initialize:
		c.promise(c.initialize(h, k, &op), op.growth(k))
	case Read:
		c.read(h, k, &op)
	case Write:
		c.promise(c.write(h, k, Result{}, c.change(k, &op)), op.growth(k))
	case Delete:
		if k == nil {
			c.answer(h, Result{})
			return
		}
		c.write(h, k, Result{}, stateRecord{key: op.Key, gone: true})
	case ReadSummary:
		if k == nil {
			c.answer(h, Result{StartOffset: wire.NoOffset})
			return
		}
		summary := stateOf(k)
		summary.Batches = nil
		c.answer(h, summary)
	}
}

func (c *StateCoordinator) answer(h Handle, r Result) {
	if h != 0 {
		c.reply(h, r)
	}
}

// stateOf is a key's state as a result.
func stateOf(k *keyState) Result {
	return Result{StateEpoch: k.stateEpoch, LeaderEpoch: k.leaderEpoch, StartOffset: k.startOffset, Batches: k.batches}
}

// check says whether an operation may be done, and if not, what it is answered; k is nil for a key without a state. The
// order of the checks is Kafka's.
func (c *StateCoordinator) check(k *keyState, op *Operation) (Result, bool) {
	switch {
	case op.Key.Partition < 0:
		return refuse(wire.InvalidRequest, negativePartition), false
	case op.Kind == Write && k == nil:
		return refuse(wire.InvalidRequest, writeUninitialized), false
	case op.Kind == Read && k == nil:
		return refuse(wire.InvalidRequest, readUninitialized), false
	case op.Kind == Write && op.LeaderEpoch != asIs && op.LeaderEpoch < k.highestLeaderEpoch, op.Kind == Read && op.LeaderEpoch < k.highestLeaderEpoch:
		return refuse(wire.FencedLeaderEpoch, fencedLeaderEpoch), false
	case (op.Kind == Write || op.Kind == Initialize) && k != nil && op.StateEpoch != asIs && op.StateEpoch < k.highestStateEpoch:
		return refuse(wire.FencedStateEpoch, fencedStateEpoch), false
	case !c.cfg.Exists(op.Key.Topic, op.Key.Partition) && op.Kind != Delete:
		return refuse(wire.UnknownTopicOrPartition, noPartition), false
	case op.Kind == Delete && k == nil && !c.cfg.Exists(op.Key.Topic, op.Key.Partition):
		return refuse(wire.UnknownTopicOrPartition, noPartition), false
	}
	return c.checkBounds(k, op)
}

// checkBounds refuses what cannot be loaded again, or takes more memory than is allowed.
func (c *StateCoordinator) checkBounds(k *keyState, op *Operation) (Result, bool) {
	for _, b := range op.Batches {
		if b.First < 0 || b.Last < b.First || !b.plausible() {
			return refuse(wire.InvalidRequest, "The state batches are not of records."), false
		}
	}
	if grows := op.growth(k); grows > 0 && !c.account.Fits(c.memory+c.promised, grows) {
		return refuse(wire.CoordinatorNotAvailable, "The share coordinator has no room for more states."), false
	}
	return Result{}, true
}

// initialize begins a state anew: whatever was known of the records is forgotten.
func (c *StateCoordinator) initialize(h Handle, k *keyState, op *Operation) *appending {
	r := stateRecord{key: op.Key, stateEpoch: op.StateEpoch, startOffset: op.StartOffset, created: c.wall, written: c.wall}
	if k != nil {
		r.snapshotEpoch = k.snapshotEpoch + 1
	}
	return c.write(h, k, Result{}, r)
}

// read answers a leader with the state. A leader that is new is noted, durably, before it is answered: writes of those
// before it are fenced.
func (c *StateCoordinator) read(h Handle, k *keyState, op *Operation) {
	found := stateOf(k)
	if op.LeaderEpoch == k.highestLeaderEpoch || op.LeaderEpoch == asIs {
		c.answer(h, found)
		return
	}
	noted := Operation{Kind: Write, Key: op.Key, LeaderEpoch: op.LeaderEpoch, StateEpoch: k.stateEpoch, StartOffset: k.startOffset}
	c.write(h, k, found, c.change(k, &noted))
}

// change is the record of a Write: an update or, when there were many since the last or the state epoch rises, a snapshot.
func (c *StateCoordinator) change(k *keyState, op *Operation) stateRecord {
	if int(k.updates) < c.cfg.UpdatesPerSnapshot && op.StateEpoch <= k.stateEpoch {
		return stateRecord{
			key: op.Key, update: true, snapshotEpoch: k.snapshotEpoch, leaderEpoch: op.LeaderEpoch, startOffset: op.StartOffset,
			batches: combine(op.Batches, op.StartOffset),
		}
	}
	r := c.snapshot(k)
	r.created, r.written = c.wall, c.wall
	if op.LeaderEpoch != asIs {
		r.leaderEpoch = op.LeaderEpoch
	}
	if op.StateEpoch != asIs {
		r.stateEpoch = op.StateEpoch
	}
	if op.StartOffset != wire.NoOffset {
		r.startOffset = op.StartOffset
	}
	r.batches = combine(append(k.batches[:len(k.batches):len(k.batches)], op.Batches...), r.startOffset)
	return r
}

// snapshot is all of a key's state as the next snapshot.
func (c *StateCoordinator) snapshot(k *keyState) stateRecord {
	return stateRecord{
		key: k.key, snapshotEpoch: k.snapshotEpoch + 1, stateEpoch: k.stateEpoch, leaderEpoch: k.leaderEpoch,
		startOffset: k.startOffset, created: k.created, written: k.written, batches: k.batches,
	}
}

// write has a record written; result is the answer if that succeeds.
func (c *StateCoordinator) write(h Handle, k *keyState, result Result, r stateRecord) *appending {
	if k == nil {
		if k = c.keys[r.key]; k == nil {
			k = &keyState{key: r.key}
			c.keys[r.key] = k
		}
	}
	k.writing = true
	c.lastAppend++
	a := &appending{state: k, record: r, handle: h, result: result}
	c.appends[c.lastAppend] = a
	c.fx.Appends = append(c.fx.Appends, Append{ID: c.lastAppend, Record: r.encode()})
	return a
}

// promise counts what a record under way may add to memory, so that all of them together keep to the bound.
func (c *StateCoordinator) promise(a *appending, bytes int64) {
	a.grows = bytes
	c.promised += bytes
}
