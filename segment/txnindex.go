package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// abortedEntrySize is the size of an entry of a .txnindex: int16 version 0, then int64 each of producer id, first offset, last
// offset and last stable offset (Kafka's AbortedTxn).
const abortedEntrySize = 2 + 4*8

// ErrTxnIndex is wrapped by ReadTxnIndex for bytes that are not a .txnindex of version 0.
var ErrTxnIndex = errors.New("segment: malformed transaction index")

// AbortedTxn is an entry of a .txnindex: a transaction that ended in an abort marker.
type AbortedTxn struct {
	ProducerID       wire.ProducerID
	FirstOffset      wire.Offset // of its first record
	LastOffset       wire.Offset // of its marker
	LastStableOffset wire.Offset // the log's, once the marker was in it: no later entry begins before it
}

// AppendTo appends the entry's bytes.
func (e AbortedTxn) AppendTo(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint16(dst, 0)
	dst = be.AppendUint64(dst, uint64(e.ProducerID))
	dst = be.AppendUint64(dst, uint64(e.FirstOffset))
	dst = be.AppendUint64(dst, uint64(e.LastOffset))
	return be.AppendUint64(dst, uint64(e.LastStableOffset))
}

func readAborted(entries []byte, i int) AbortedTxn {
	e, be := entries[i*abortedEntrySize:][:abortedEntrySize], binary.BigEndian
	return AbortedTxn{
		ProducerID: wire.ProducerID(be.Uint64(e[2:])), FirstOffset: wire.Offset(be.Uint64(e[10:])),
		LastOffset: wire.Offset(be.Uint64(e[18:])), LastStableOffset: wire.Offset(be.Uint64(e[26:])),
	}
}

// soundAborted gives the leading bytes of a .txnindex that are entries: of version 0, markers in [base, end) whose offsets
// rise, transactions that begin before their markers; and what is wrong with the first bytes that are none.
func soundAborted(base, end wire.Offset, data []byte) (sound []byte, fault string) {
	last := base - 1
	for i := range len(data) / abortedEntrySize {
		e := readAborted(data, i)
		version := binary.BigEndian.Uint16(data[i*abortedEntrySize:])
		switch {
		case version != 0:
			fault = fmt.Sprintf("version %d is unknown", version)
		case e.LastOffset <= last || e.LastOffset >= end:
			fault = fmt.Sprintf("a marker at offset %d after one at %d, in a segment of offsets %d to %d", e.LastOffset, last, base, end)
		case e.FirstOffset < 0 || e.FirstOffset >= e.LastOffset || e.LastStableOffset < 0 || e.ProducerID < 0:
			fault = fmt.Sprintf("producer %d, offsets %d to %d, last stable %d", e.ProducerID, e.FirstOffset, e.LastOffset, e.LastStableOffset)
		}
		if fault != "" {
			return data[:i*abortedEntrySize], fault
		}
		last = e.LastOffset
	}
	n := len(data) - len(data)%abortedEntrySize
	if n < len(data) {
		fault = fmt.Sprintf("its %d bytes are no multiple of %d", len(data), abortedEntrySize)
	}
	return data[:n], fault
}

// ReadTxnIndex reads the .txnindex of a segment with this base offset. The error wraps ErrTxnIndex; the entries before the
// fault come with it.
func ReadTxnIndex(base wire.Offset, data []byte) ([]AbortedTxn, error) {
	sound, fault := soundAborted(base, math.MaxInt64, data)
	entries := make([]AbortedTxn, len(sound)/abortedEntrySize)
	for i := range entries {
		entries[i] = readAborted(sound, i)
	}
	if fault != "" {
		return entries, fmt.Errorf("%w: entry %d: %s", ErrTxnIndex, len(entries), fault)
	}
	return entries, nil
}

// TxnIndex is the list of one segment's aborted transactions, in the order of their markers: Kafka's .txnindex file, which is
// not there while it would be empty. What the file lacks is always in memory.
//
//	entry number  0 ........... first ........... flushed ........... count
//	in the file   ================================|
//	in memory                   |==================================|
type TxnIndex struct {
	first    int32       // entries before this one are in the file only
	flushed  int32       // entries before this one are in the file
	stale    bool        // the file may hold entries from flushed on that were undone; the next write cuts them off
	cuts     uint32      // entries that were undone: a write that was planned before the last of them counts for nothing
	entries  []byte      // [first, count), in the file's format
	released wire.Offset // last offset of entry first-1: transactions that ended later are all in memory
	least    wire.Offset // least first offset of all entries
}

// Count is the number of entries, in memory or not.
func (x *TxnIndex) Count() int { return int(x.first) + len(x.entries)/abortedEntrySize }

func (x *TxnIndex) append(e AbortedTxn) {
	if x.Count() == 0 || e.FirstOffset < x.least {
		x.least = e.FirstOffset
	}
	x.entries = e.AppendTo(x.entries)
}

// cut undoes the last append. least may stay lower than it need be.
func (x *TxnIndex) cut() {
	x.entries = x.entries[:len(x.entries)-abortedEntrySize]
	x.cuts++
	if n := int32(x.Count()); x.flushed > n {
		x.flushed = n
	}
	x.stale = true
}

// planTxnCut gives the index without what a cut at off takes, and the write that brings the file to that. Transactions of which the
// markers are not in memory ended below what may be cut.
func (s *Segment) planTxnCut(off wire.Offset) (TxnIndex, txnIndexWrite) {
	c := Segment{dir: s.dir, baseOffset: s.baseOffset, txn: s.txn}
	x := &c.txn
	x.entries = append([]byte(nil), x.entries...)
	for n := len(x.entries) / abortedEntrySize; n > 0 && readAborted(x.entries, n-1).LastOffset >= off; n-- {
		x.cut()
	}
	return c.txn, c.planTxnIndex()
}

// load takes the whole file's entries.
func (x *TxnIndex) load(entries []byte) {
	*x = TxnIndex{entries: entries, flushed: int32(len(entries) / abortedEntrySize)}
	for i := range x.Count() {
		if e := readAborted(entries, i); i == 0 || e.FirstOffset < x.least {
			x.least = e.FirstOffset
		}
	}
}

// release drops the entries that are in the file too and whose markers are below an offset, and says how many bytes those were.
// Above it an undo may still take them back.
func (x *TxnIndex) release(below wire.Offset) int {
	n := int(x.flushed - x.first)
	for n > 0 && readAborted(x.entries, n-1).LastOffset >= below {
		n--
	}
	if n <= 0 {
		return 0
	}
	x.released = readAborted(x.entries, n-1).LastOffset
	x.entries = append([]byte(nil), x.entries[n*abortedEntrySize:]...)
	x.first += int32(n)
	return n * abortedEntrySize
}

// covers reports whether all entries of transactions that ended at or after an offset are in memory.
func (x *TxnIndex) covers(from wire.Offset) bool { return x.first == 0 || from > x.released }

// txnIndexWrite is a planned write of a .txnindex. The zero value writes nothing.
type txnIndexWrite struct {
	indexWrite
	due   bool
	count int32 // entries in the file once it is done
	cuts  uint32
}

// planTxnIndex gives what the .txnindex lacks, as a copy; nothing if the file is as it should be.
func (s *Segment) planTxnIndex() txnIndexWrite {
	x := &s.txn
	if int(x.flushed) == x.Count() && !x.stale {
		return txnIndexWrite{}
	}
	return txnIndexWrite{
		indexWrite: indexWrite{
			name: s.txnIndexName(), at: int64(x.flushed) * abortedEntrySize,
			data: append([]byte(nil), x.entries[int(x.flushed-x.first)*abortedEntrySize:]...),
		},
		due: true, count: int32(x.Count()), cuts: x.cuts,
	}
}

// run writes and syncs it, and the directory too if the file is new: a producer snapshot that is written next says that it is there.
func (w *txnIndexWrite) run(fsys FS) error {
	if !w.due {
		return nil
	}
	if err := w.indexWrite.run(fsys); err != nil || w.at > 0 {
		return err
	}
	if err := fsys.SyncDir(path.Dir(w.name)); err != nil {
		return fmt.Errorf("segment: sync directory of %s: %w", w.name, err)
	}
	return nil
}

// written notes a write that has run, unless an undo came in between: then it is made again.
func (x *TxnIndex) written(w txnIndexWrite) {
	if w.due && w.cuts == x.cuts {
		x.flushed, x.stale = max(x.flushed, w.count), false
	}
}

// abortedFrom is the number of the first entry in memory whose marker is at or after an offset.
func (x *TxnIndex) abortedFrom(from wire.Offset) int {
	return sort.Search(len(x.entries)/abortedEntrySize, func(i int) bool { return readAborted(x.entries, i).LastOffset >= from })
}
