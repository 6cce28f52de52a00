package txn

import "github.com/ringmill/ringmill/wire"

// What a transactional id and a partition of its transaction are charged with, beside their names: their structs, an entry of
// each map that may hold them, and of a partition the copy that the record under way has. Measured at 380 and 90 bytes.
const (
	idBytes        = 512
	partitionBytes = 128
)

func sizeOf(partitions []wire.TopicPartition) (n int64) {
	for _, p := range partitions {
		n += partitionBytes + int64(len(p.Topic))
	}
	return n
}

// charge counts what t holds now in place of what it held when it was last charged, and its transaction while that is open.
func (c *Coordinator) charge(t *transaction) {
	size := idBytes + int64(len(t.id)) + sizeOf(t.partitions)
	if t.pending != nil {
		size += sizeOf(t.pending.partitions)
	}
	c.count(t, size, !t.state.idle())
}

// discharge is for a transactional id that is gone.
func (c *Coordinator) discharge(t *transaction) { c.count(t, 0, false) }

func (c *Coordinator) count(t *transaction, size int64, open bool) {
	c.held += size - t.charged
	switch {
	case open && !t.open:
		c.open++
	case t.open && !open:
		c.open--
	}
	t.charged, t.open = size, open
}

// Open is how many transactions have begun and are not complete: Ongoing, PrepareCommit and PrepareAbort.
func (c *Coordinator) Open() int { return c.open }

// fits says whether n more bytes may be held.
func (c *Coordinator) fits(n int64) bool { return c.memory.Fits(c.held, n) }

// tellMemory lets the other coordinators know what this one holds.
func (c *Coordinator) tellMemory() {
	if c.loaded {
		c.memory.Tell(c.held)
	}
}

// GiveUp gives back what the coordinator holds of the memory of all of them: its shard is another's, and it is not to be called again.
func (c *Coordinator) GiveUp() { c.memory.Tell(0) }
