package segment

import (
	"bytes"
	"fmt"
	"math"

	"github.com/ringmill/ringmill/wire"
)

// txnRecovery is what OpenLog found of a segment's .txnindex.
type txnRecovery struct {
	segment *Segment
	file    []byte // as it is on disk
	sound   []byte // its leading entries
	faulty  bool
}

// A transaction index is right up to the offset of any producer snapshot in the directory: whoever writes a snapshot has written
// the indexes of what is below it first. So entries below the snapshot that recovery starts from are taken as they are, and
// those from there on are made again from the markers, in the same pass that finds the producers.

// readTxnIndexes reads the .txnindex files. bad is the base offset of the first segment whose file makes no sense.
func (o *opener) readTxnIndexes() (found []*txnRecovery, bad wire.Offset, err error) {
	files, _, err := o.list()
	if err != nil {
		return nil, 0, err
	}
	l, bad := o.log, math.MaxInt64
	for _, f := range files {
		if f.suffix != txnIndexSuffix {
			continue
		}
		s := l.segments[l.segmentAt(f.base)]
		data, err := o.readFile(f.name)
		if err != nil {
			return nil, 0, fmt.Errorf("segment: read %s/%s: %w", o.dir, f.name, err)
		}
		end := s.nextOffset
		if s == l.ActiveSegment() {
			end = math.MaxInt64
		}
		sound, fault := soundAborted(s.baseOffset, end, data)
		found = append(found, &txnRecovery{segment: s, file: data, sound: sound, faulty: fault != ""})
		if fault != "" {
			bad = min(bad, s.baseOffset)
		}
	}
	return found, bad, nil
}

// takeTxnIndexes puts the entries in place that are below from.
func takeTxnIndexes(found []*txnRecovery, from wire.Offset) {
	for _, r := range found {
		n := len(r.sound) / abortedEntrySize
		for n > 0 && readAborted(r.sound, n-1).LastOffset >= from {
			n--
		}
		r.segment.txn.load(r.sound[: n*abortedEntrySize : n*abortedEntrySize])
		r.segment.txn.stale = n*abortedEntrySize < len(r.file)
	}
}

// writeTxnIndexes writes those that the replay has changed.
func (o *opener) writeTxnIndexes(found []*txnRecovery) error {
	for _, r := range found {
		x := &r.segment.txn
		if bytes.Equal(x.entries, r.file) {
			x.flushed, x.stale = int32(x.Count()), false
		} else if r.faulty {
			o.report.RebuiltIndexes = append(o.report.RebuiltIndexes, fileName("", r.segment.baseOffset, txnIndexSuffix)[1:])
		}
	}
	segments := o.log.segments
	for i, s := range segments {
		w := s.planTxnIndex()
		if err := w.run(o.fs); err != nil {
			return err
		}
		if w.due {
			o.namesChanged()
		}
		if s.txn.written(w); i < len(segments)-2 {
			s.txn.release(math.MaxInt64)
		}
	}
	return nil
}
