package segment

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// AbortedPlan is the list of aborted transactions that a read_committed fetch answers with its records: ready, or with what Run
// needs to read it from .txnindex files. It is a value.
type AbortedPlan struct {
	from, upTo wire.Offset
	ready      []AbortedTxn
	parts      []abortedPart // empty if ready is all there is
}

// abortedPart is a segment as an AbortedPlan knows it.
type abortedPart struct {
	name    string      // of the .txnindex
	indexed int         // entries to read from it
	last    wire.Offset // marker of the last of them: another one there means that the file was replaced
	tail    []byte      // entries after those
}

// PlanAborted plans to find the transactions that were aborted and have records in [from, upTo), where upTo is the end of the
// fetch's range (Kafka's LocalLog.collectAbortedTransactions). A log without aborted transactions there costs nothing, and the
// active segment and the one before it answer from memory.
func (l *Log) PlanAborted(from, upTo wire.Offset) AbortedPlan {
	p := AbortedPlan{from: from, upTo: upTo}
	for _, s := range l.segments[l.segmentAt(from):] {
		x := &s.txn
		if x.Count() == 0 || x.least >= upTo {
			continue
		}
		if x.covers(from) && len(p.parts) == 0 {
			p.ready, _ = p.collect(p.ready, x.entries, x.abortedFrom(from))
			continue
		}
		p.parts = append(p.parts, abortedPart{
			name: s.txnIndexName(), indexed: int(x.first), last: x.released, tail: append([]byte(nil), x.entries...),
		})
	}
	return p
}

// Ready gives the list, by first offset, if no file has to be read for it; else ok is false, and Run gives it.
func (p AbortedPlan) Ready() (aborted []wire.AbortedTransaction, ok bool) {
	if len(p.parts) > 0 {
		return nil, false
	}
	return sortAborted(p.ready), true
}

// collect appends the transactions with records in the plan's range, of entries from the i-th on. complete says that no later
// entry can be one.
func (p *AbortedPlan) collect(dst []AbortedTxn, entries []byte, i int) (found []AbortedTxn, complete bool) {
	for ; i < len(entries)/abortedEntrySize; i++ {
		e := readAborted(entries, i)
		if e.LastOffset >= p.from && e.FirstOffset < p.upTo {
			dst = append(dst, e)
		}
		if e.LastStableOffset >= p.upTo {
			return dst, true
		}
	}
	return dst, false
}

// sortAborted makes the answer of it, in the order of first offsets. Kafka's order is that of the markers; its clients sort.
func sortAborted(found []AbortedTxn) []wire.AbortedTransaction {
	if len(found) == 0 {
		return nil
	}
	list := make([]wire.AbortedTransaction, len(found))
	for i := range found {
		list[i] = wire.AbortedTransaction{ProducerID: found[i].ProducerID, FirstOffset: found[i].FirstOffset}
	}
	slices.SortFunc(list, func(a, b wire.AbortedTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return list
}

// Run gives the list, in the order of first offsets. It blocks on files, and touches nothing of the Log.
//
// Errors: fs.ErrNotExist if retention has removed a file, ErrTxnIndex if compaction has replaced one: the range is to be planned
// again. Others are the file system's.
func (p AbortedPlan) Run(fsys FS) ([]wire.AbortedTransaction, error) {
	found, err := p.entries(fsys)
	if err != nil {
		return nil, err
	}
	return sortAborted(found), nil
}

// entries gives the transactions in the order of their markers.
func (p *AbortedPlan) entries(fsys FS) ([]AbortedTxn, error) {
	found := slices.Clone(p.ready)
	for i, complete := 0, false; i < len(p.parts) && !complete; i++ {
		var err error
		if found, complete, err = p.search(fsys, &p.parts[i], found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (p *AbortedPlan) search(fsys FS, part *abortedPart, dst []AbortedTxn) (found []AbortedTxn, complete bool, err error) {
	if part.indexed > 0 {
		if dst, complete, err = p.searchFile(fsys, part, dst); complete || err != nil {
			return dst, complete, err
		}
	}
	found, complete = p.collect(dst, part.tail, 0)
	return found, complete, nil
}

// abortedChunk is how many entries of a file are read at a time.
const abortedChunk = 1024

func (p *AbortedPlan) searchFile(fsys FS, part *abortedPart, dst []AbortedTxn) (found []AbortedTxn, complete bool, err error) {
	f, err := fsys.OpenFile(part.name, ReadOnly, 0)
	if err != nil {
		return dst, false, fmt.Errorf("segment: open %s: %w", part.name, err)
	}
	defer f.Close()
	if e, err := abortedAt(f, part.indexed-1); err != nil || e.LastOffset != part.last {
		return dst, false, fmt.Errorf("%w: %s has not %d entries up to offset %d", ErrTxnIndex, part.name, part.indexed, part.last)
	}
	at := sort.Search(part.indexed, func(i int) bool {
		e, readErr := abortedAt(f, i)
		err = cmp.Or(err, readErr)
		return readErr != nil || e.LastOffset >= p.from
	})
	for ; at < part.indexed && err == nil && !complete; at += abortedChunk {
		chunk := make([]byte, min(abortedChunk, part.indexed-at)*abortedEntrySize)
		if err = readFull(f, chunk, at); err == nil {
			dst, complete = p.collect(dst, chunk, 0)
		}
	}
	if err != nil {
		err = fmt.Errorf("segment: read %s: %w", part.name, err)
	}
	return dst, complete, err
}

func abortedAt(f io.ReaderAt, i int) (AbortedTxn, error) {
	var e [abortedEntrySize]byte
	err := readFull(f, e[:], i)
	return readAborted(e[:], 0), err
}

// readFull reads entries from the i-th on.
func readFull(f io.ReaderAt, dst []byte, i int) error {
	if n, err := f.ReadAt(dst, int64(i)*abortedEntrySize); n < len(dst) {
		return err
	}
	return nil
}
