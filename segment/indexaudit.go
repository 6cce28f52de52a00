package segment

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// A Problem is something in a log's files that should not be so. Dump writes it as a line, VerifyDir collects it.
type Problem struct {
	File     string `json:"file"`
	Position int64  `json:"position"` // in the file; -1: the file as a whole
	Text     string `json:"problem"`
}

func (p Problem) String() string {
	if p.Position < 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s at byte %d: %s", p.File, p.Position, p.Text)
}

// offsetAudit compares an .index with the batches of its .log, which pass in order.
type offsetAudit struct {
	file    string
	base    wire.Offset
	entries []byte // that rise
	next    int    // entry that is not yet accounted for
	report  func(Problem)
}

// newOffsetAudit checks what the index says by itself: whole entries that rise. What follows the last one that does is not
// compared with the .log. A tail of zeros is no part of the index.
func newOffsetAudit(file string, base wire.Offset, data []byte, report func(Problem)) *offsetAudit {
	a := &offsetAudit{file: file, base: base, report: report}
	data = writtenEntries(file, data, offsetEntrySize, report)
	for i := range len(data) / offsetEntrySize {
		e := readOffsetEntry(base, data, i)
		if prev := readOffsetEntry(base, data, max(0, i-1)); i > 0 && (e.Offset <= prev.Offset || e.Position <= prev.Position) {
			a.problem(i, fmt.Sprintf("entry (%d, %d) does not rise above (%d, %d)", e.Offset, e.Position, prev.Offset, prev.Position))
			break
		}
		a.entries = data[:(i+1)*offsetEntrySize]
	}
	return a
}

// writtenEntries cuts an index file to whole entries and takes off the zeros that Kafka preallocates. The very first entry may
// be zeros by right, if it is the only one.
func writtenEntries(file string, data []byte, size int, report func(Problem)) []byte {
	if len(data)%size != 0 {
		report(Problem{file, -1, fmt.Sprintf("its %d bytes are no multiple of %d", len(data), size)})
		data = data[:len(data)/size*size]
	}
	whole := len(data)
	for len(data) > 0 && isZero(data[len(data)-size:]) {
		data = data[:len(data)-size]
	}
	if len(data) == 0 && whole == size {
		return data[:size]
	}
	return data
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func (a *offsetAudit) count() int { return len(a.entries) / offsetEntrySize }

func (a *offsetAudit) problem(i int, text string) {
	a.report(Problem{a.file, int64(i) * offsetEntrySize, text})
}

// batch accounts for the entries up to a batch.
func (a *offsetAudit) batch(b wire.RecordBatch, at wire.Position) {
	for ; a.next < a.count(); a.next++ {
		e := readOffsetEntry(a.base, a.entries, a.next)
		switch {
		case e.Position > at:
			return
		case e.Position < at:
			a.problem(a.next, fmt.Sprintf("no batch begins at position %d, which offset %d has", e.Position, e.Offset))
		case e.Offset != b.LastOffset():
			a.problem(a.next, fmt.Sprintf("Index offset: %d, log offset: %d", e.Offset, b.LastOffset()))
		}
	}
}

// end says that there are no more batches.
func (a *offsetAudit) end() {
	for ; a.next < a.count(); a.next++ {
		e := readOffsetEntry(a.base, a.entries, a.next)
		a.problem(a.next, fmt.Sprintf("position %d, which offset %d has, is beyond the last batch", e.Position, e.Offset))
	}
}

// timeAudit compares a .timeindex with the batches of its .log, which pass in order.
type timeAudit struct {
	file    string
	base    wire.Offset
	entries []byte // that rise
	next    int    // entry that is not yet accounted for
	report  func(Problem)
}

// newTimeAudit checks what the index says by itself, as newOffsetAudit does. Offsets may stand still where timestamps rise.
func newTimeAudit(file string, base wire.Offset, data []byte, report func(Problem)) *timeAudit {
	a := &timeAudit{file: file, base: base, report: report}
	data = writtenEntries(file, data, timeEntrySize, report)
	for i := range len(data) / timeEntrySize {
		e := readTimeEntry(base, data, i)
		if prev := readTimeEntry(base, data, max(0, i-1)); i > 0 && (e.Timestamp <= prev.Timestamp || e.Offset < prev.Offset) {
			a.problem(i, fmt.Sprintf("Index timestamp: %d, Previously indexed timestamp: %d", e.Timestamp, prev.Timestamp))
			break
		}
		a.entries = data[:(i+1)*timeEntrySize]
	}
	return a
}

func (a *timeAudit) count() int { return len(a.entries) / timeEntrySize }

func (a *timeAudit) problem(i int, text string) {
	a.report(Problem{a.file, int64(i) * timeEntrySize, text})
}

// batch accounts for the entries up to a batch: each names a batch's last offset and its greatest timestamp.
func (a *timeAudit) batch(b wire.RecordBatch) {
	for ; a.next < a.count(); a.next++ {
		e := readTimeEntry(a.base, a.entries, a.next)
		switch {
		case e.Offset > b.LastOffset():
			return
		case e.Offset < b.LastOffset():
			a.problem(a.next, fmt.Sprintf("Indexed offset: %d, found log offset: %d", e.Offset, b.LastOffset()))
		case e.Timestamp != b.MaxTimestamp():
			a.problem(a.next, fmt.Sprintf("Index timestamp: %d, log timestamp: %d", e.Timestamp, b.MaxTimestamp()))
		}
	}
}

// end says that there are no more batches.
func (a *timeAudit) end() {
	for ; a.next < a.count(); a.next++ {
		e := readTimeEntry(a.base, a.entries, a.next)
		a.problem(a.next, fmt.Sprintf("offset %d, which timestamp %d has, is beyond the last batch", e.Offset, e.Timestamp))
	}
}
