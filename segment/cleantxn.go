package segment

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// cleanTxns follows the transactions of a log through a pass over its batches: which of them were aborted, and which markers
// have no batch left before them (Kafka's CleanedTransactionMetadata). A pass begins at the log's start or at an offset below
// which nothing matters to it, and ends below the last stable offset: every transaction in it is decided.
type cleanTxns struct {
	pending   []AbortedTxn // not reached yet, by first offset
	aborted   map[wire.ProducerID]*abortedPass
	committed map[wire.ProducerID]bool // batches of an open or committed transaction were seen, its marker was not
	kept      []AbortedTxn             // whose markers stay, since the last takeKept
}

// abortedPass is an aborted transaction between its first offset and its marker.
type abortedPass struct {
	txn  AbortedTxn
	seen bool // a batch of it is still in the log
}

func newCleanTxns(aborted []AbortedTxn) *cleanTxns {
	pending := slices.Clone(aborted)
	slices.SortStableFunc(pending, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return &cleanTxns{pending: pending, aborted: map[wire.ProducerID]*abortedPass{}, committed: map[wire.ProducerID]bool{}}
}

// read notes the next batch, and says whether its records may go whatever their keys: those of an aborted transaction, and a
// marker that no batch of its transaction is left for.
func (c *cleanTxns) read(b wire.RecordBatch) (discard bool) {
	for len(c.pending) > 0 && c.pending[0].FirstOffset <= b.LastOffset() {
		if e := c.pending[0]; c.aborted[e.ProducerID] == nil {
			c.aborted[e.ProducerID] = &abortedPass{txn: e}
		}
		c.pending = c.pending[1:]
	}
	if b.IsControl() {
		return c.marker(b)
	}
	if !b.IsTransactional() {
		return false
	}
	if a := c.aborted[b.ProducerID()]; a != nil {
		a.seen = true
		return true
	}
	c.committed[b.ProducerID()] = true
	return false
}

func (c *cleanTxns) marker(b wire.RecordBatch) (discard bool) {
	m, ok := wire.ReadTxnMarker(b)
	id := b.ProducerID()
	switch {
	case !ok:
		return b.RecordCount() == 0 // cleaned before; other kinds of control records stay
	case m.Commit:
		discard = !c.committed[id]
		delete(c.committed, id)
		return discard
	}
	a := c.aborted[id]
	delete(c.aborted, id)
	if a == nil || !a.seen {
		return true
	}
	c.kept = append(c.kept, a.txn)
	return false
}

// takeKept gives the transactions for the index of the segment that was just written.
func (c *cleanTxns) takeKept() []AbortedTxn {
	kept := c.kept
	c.kept = nil
	return kept
}
