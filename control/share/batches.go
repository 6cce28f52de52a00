package share

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// RecordState is what has become of a record in a share group. The numbers are those of state batches.
type RecordState int8

// Acquired is never written down: who had a record acquired before a restart is not known after it.
const (
	Available    RecordState = 0 // to be delivered, perhaps once more
	Acquired     RecordState = 1 // delivered to a member, which holds a lock on it
	Acknowledged RecordState = 2 // accepted
	Archived     RecordState = 4 // given up: rejected, delivered too often, or not there
)

var stateNames = map[RecordState]string{Available: "available", Acquired: "acquired", Acknowledged: "acknowledged", Archived: "archived"}

// String names the state.
func (s RecordState) String() string { return stateNames[s] }

// done says that the record will not be delivered again.
func (s RecordState) done() bool { return s == Acknowledged || s == Archived }

// StateBatch is the state of a run of records.
type StateBatch struct {
	First, Last wire.Offset // both inclusive
	State       RecordState
	Deliveries  int16 // how often the records were delivered
}

// compare orders by how far the delivery has come: of two batches for one record the greater one holds.
func (b StateBatch) compare(other StateBatch) int {
	return cmp.Or(cmp.Compare(b.Deliveries, other.Deliveries), cmp.Compare(b.State, other.State))
}

// combine lays batches over one another. What lies below start is left out; of two batches for one record that holds which
// has more deliveries or, these being equal, the greater state; neighbours that are alike become one. The result is in the
// order of offsets (PersisterStateBatchCombiner). A start of NoOffset leaves out nothing.
func combine(batches []StateBatch, start wire.Offset) []StateBatch {
	sorted := slices.Clone(batches)
	slices.SortStableFunc(sorted, func(a, b StateBatch) int { return cmp.Compare(a.First, b.First) })
	var c combiner
	for _, b := range sorted {
		if b.First = max(b.First, start); b.First <= b.Last {
			c.add(b)
		}
	}
	c.until(maxOffset)
	return c.out
}

const maxOffset wire.Offset = 1<<63 - 1

// combiner sweeps over the offsets: open are the batches that reach beyond at, the strongest first.
type combiner struct {
	open []StateBatch
	at   wire.Offset
	out  []StateBatch
}

// add opens b, whose first offset is not below that of any batch before.
func (c *combiner) add(b StateBatch) {
	c.until(b.First)
	c.at = b.First
	i, _ := slices.BinarySearchFunc(c.open, b, func(open, b StateBatch) int { return b.compare(open) })
	c.open = slices.Insert(c.open, i, b)
}

// until puts out what holds below offset.
func (c *combiner) until(offset wire.Offset) {
	for len(c.open) > 0 && c.at < offset {
		top := c.open[0]
		if top.Last < c.at {
			c.open = c.open[1:]
			continue
		}
		last := min(top.Last, offset-1)
		c.put(StateBatch{c.at, last, top.State, top.Deliveries})
		c.at = last + 1
	}
}

func (c *combiner) put(b StateBatch) {
	if n := len(c.out); n > 0 && c.out[n-1].Last+1 == b.First && c.out[n-1].compare(b) == 0 {
		c.out[n-1].Last = b.Last
		return
	}
	c.out = append(c.out, b)
}
