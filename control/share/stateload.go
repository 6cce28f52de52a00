package share

import (
	"github.com/ringmill/ringmill/wire"
)

// Load takes one record of the shard's log, which stands at offset at, in the order of the log, before Loaded. The record's
// bytes are not kept. The error is a *RecordError.
func (c *StateCoordinator) Load(at wire.Offset, rec wire.Record) error {
	if c.loaded {
		panic("BUG: Load after Loaded")
	}
	r, err := readRecord(rec)
	if err != nil {
		return err
	}
	c.apply(at, &r)
	return nil
}

// Loaded ends the replay.
func (c *StateCoordinator) Loaded(nowMS int64, wall wire.Timestamp) StateEffects {
	c.begin(nowMS, wall)
	c.loaded = true
	c.nextColdMS = c.nowMS + c.cfg.ColdSnapshotIntervalMS
	c.nextPruneMS = c.nowMS + c.cfg.PruneIntervalMS
	return c.end()
}

// apply makes a durable record part of the state, whether it was just written or is read again.
func (c *StateCoordinator) apply(at wire.Offset, r *stateRecord) {
	c.next = max(c.next, at+1)
	k := c.keys[r.key]
	if k == nil {
		k = &keyState{key: r.key}
		c.keys[r.key] = k
	}
	if k.known {
		c.memory -= k.size()
	}
	switch {
	case r.gone:
		delete(c.keys, r.key)
		return
	case r.update:
		k.update(r, at)
	default:
		k.restart(r, at)
	}
	k.known = true
	k.highestLeaderEpoch = max(k.highestLeaderEpoch, k.leaderEpoch)
	k.highestStateEpoch = max(k.highestStateEpoch, k.stateEpoch)
	c.memory += k.size()
}

// restart lays a snapshot in place of what there was.
func (k *keyState) restart(r *stateRecord, at wire.Offset) {
	k.snapshotEpoch, k.stateEpoch, k.leaderEpoch, k.startOffset = r.snapshotEpoch, r.stateEpoch, r.leaderEpoch, r.startOffset
	k.created, k.written, k.batches = r.created, r.written, r.batches
	k.snapshotAt, k.updates = at, 0
}

// update lays an update over what there is. One without a snapshot before it is what pruning or damage left: it counts for
// what it says.
func (k *keyState) update(r *stateRecord, at wire.Offset) {
	if !k.known {
		k.snapshotEpoch, k.startOffset, k.snapshotAt = r.snapshotEpoch, wire.NoOffset, at
	}
	k.updates++
	if r.leaderEpoch != asIs {
		k.leaderEpoch = r.leaderEpoch
	}
	if r.startOffset != wire.NoOffset {
		k.startOffset = r.startOffset
	}
	k.batches = combine(append(k.batches[:len(k.batches):len(k.batches)], r.batches...), k.startOffset)
}

// snapshotCold writes snapshots of keys that were not snapshotted for long, so that those do not keep the log from being
// pruned. Where all keys are cold nothing is written: nothing grows.
func (c *StateCoordinator) snapshotCold() {
	cold := 0
	for _, k := range c.keys {
		if k.created != k.written {
			cold++
		}
	}
	if cold == len(c.keys) {
		return
	}
	due := func(k *keyState) bool {
		return k.known && !k.writing && int64(c.wall-k.written) >= c.cfg.ColdSnapshotIntervalMS
	}
	for _, k := range c.sorted(due) {
		r := c.snapshot(k)
		r.written = c.wall
		c.write(0, k, Result{}, r)
	}
}

// prune finds the oldest record that is needed: the last snapshot of some key (ShareCoordinatorOffsetsManager).
func (c *StateCoordinator) prune() {
	needed := c.next
	for _, k := range c.keys {
		if k.known {
			needed = min(needed, k.snapshotAt)
		}
	}
	if needed > c.pruned {
		c.pruned = needed
		c.fx.PruneTo = needed
	}
}
