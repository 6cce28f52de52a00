package segment

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// openTxn is a transaction without a marker.
type openTxn struct {
	first wire.Offset // of its first record
	id    wire.ProducerID
}

// openTxns are a log's open transactions, in the order of first offsets.
type openTxns []openTxn

func (t openTxns) find(first wire.Offset) (int, bool) {
	return slices.BinarySearchFunc(t, first, func(e openTxn, first wire.Offset) int { return cmp.Compare(e.first, first) })
}

// add notes a transaction; it is the newest, unless an undo or a snapshot brings it back.
func (t *openTxns) add(first wire.Offset, id wire.ProducerID) {
	i, found := t.find(first)
	if !found {
		*t = slices.Insert(*t, i, openTxn{first, id})
	}
}

func (t *openTxns) remove(first wire.Offset) {
	if i, found := t.find(first); found {
		*t = slices.Delete(*t, i, i+1)
	}
}

// endedTxn is a transaction whose marker is in the log.
type endedTxn struct {
	id          wire.ProducerID
	first, last wire.Offset // of its first record, of its marker
	aborted     bool
}

// noteEnded keeps a transaction that ends in the segment s: until the high watermark has passed its marker it holds the last
// stable offset back (ProducerStateManager's unreplicatedTxns), and if it was aborted the segment's index has it.
func (l *Log) noteEnded(s *Segment, e endedTxn) {
	l.unreplicated = append(l.unreplicated, e)
	if !e.aborted {
		return
	}
	stable := e.last + 1
	if len(l.producers.open) > 0 {
		stable = l.producers.open[0].first
	}
	s.txn.append(AbortedTxn{ProducerID: e.id, FirstOffset: e.first, LastOffset: e.last, LastStableOffset: stable})
}

// forgetEnded takes the newest noteEnded back.
func (l *Log) forgetEnded(s *Segment) {
	n := len(l.unreplicated) - 1
	if l.unreplicated[n].aborted {
		s.txn.cut()
	}
	l.unreplicated = l.unreplicated[:n]
}

// releaseEnded forgets the transactions whose markers are below the high watermark.
func (l *Log) releaseEnded(highWatermark wire.Offset) {
	n := 0
	for n < len(l.unreplicated) && l.unreplicated[n].last < highWatermark {
		n++
	}
	switch {
	case n == len(l.unreplicated):
		l.unreplicated = l.unreplicated[:0]
	case n > 0:
		l.unreplicated = slices.Delete(l.unreplicated, 0, n)
	}
}

// LastStableOffset is the offset below which a read_committed reader may read: that of the oldest transaction that is open, or
// whose marker is not below the high watermark; the high watermark itself if there is none below it (UnifiedLog.lastStableOffset).
func (l *Log) LastStableOffset(highWatermark wire.Offset) wire.Offset {
	stable := highWatermark
	if open := l.producers.open; len(open) > 0 {
		stable = min(stable, open[0].first)
	}
	for i := range l.unreplicated {
		if e := &l.unreplicated[i]; e.last >= highWatermark {
			stable = min(stable, e.first)
		}
	}
	return min(max(stable, l.start), highWatermark)
}
