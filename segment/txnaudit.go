package segment

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// txnAudit compares a segment's .txnindex with the markers in its .log, for VerifyDir.
type txnAudit struct {
	name    string
	entries []AbortedTxn
	next    int // the entry whose marker is due
	report  func(Problem)
	skip    bool // a node is about to write the file
}

func newTxnAudit(name string, base wire.Offset, data []byte, report func(Problem)) *txnAudit {
	entries, err := ReadTxnIndex(base, data)
	if err != nil {
		report(Problem{name, int64(len(entries) * abortedEntrySize), err.Error()})
	}
	return &txnAudit{name: name, entries: entries, report: report}
}

func (a *txnAudit) problemf(i int, format string, args ...any) {
	a.report(Problem{a.name, int64(i * abortedEntrySize), fmt.Sprintf(format, args...)})
}

// batch looks at the next batch of the segment. open has the first known offset of each open transaction.
func (a *txnAudit) batch(b wire.RecordBatch, open map[wire.ProducerID]wire.Offset) {
	id := b.ProducerID()
	if marker, ok := wire.ReadTxnMarker(b); ok {
		if first, known := open[id]; !marker.Commit && !a.skip {
			a.marker(b, first, known)
		}
		delete(open, id)
		return
	}
	if _, known := open[id]; !known && b.IsTransactional() && !b.IsControl() {
		open[id] = b.BaseOffset()
	}
}

// marker finds an abort marker's entry, which must be there if records of the transaction are.
func (a *txnAudit) marker(b wire.RecordBatch, first wire.Offset, known bool) {
	at := b.LastOffset()
	a.passed(at)
	if a.next == len(a.entries) || a.entries[a.next].LastOffset != at {
		if known {
			a.problemf(len(a.entries), "the transaction of producer %d, aborted at offset %d, is missing", b.ProducerID(), at)
		}
		return
	}
	e := a.entries[a.next]
	if e.ProducerID != b.ProducerID() || known && e.FirstOffset > first {
		a.problemf(a.next, "it names producer %d from offset %d, the log has producer %d from %d", e.ProducerID, e.FirstOffset, b.ProducerID(), first)
	}
	a.next++
}

// passed reports the entries whose markers should have come before an offset.
func (a *txnAudit) passed(off wire.Offset) {
	for ; a.next < len(a.entries) && a.entries[a.next].LastOffset < off; a.next++ {
		a.problemf(a.next, "no transaction is aborted at offset %d", a.entries[a.next].LastOffset)
	}
}

func (a *txnAudit) end() { a.passed(keepAll) }
