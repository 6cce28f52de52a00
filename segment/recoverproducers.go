package segment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// loadProducers restores the producer table and the transaction indexes: the newest good snapshot within the log that no
// damaged index lies before, and the batches after it. Without a snapshot a clean log is taken to have no producers, as Kafka
// takes it, and any other is scanned from its start.
func (o *opener) loadProducers() error {
	l := o.log
	aborted, bad, err := o.readTxnIndexes()
	if err != nil {
		return err
	}
	snapshots, err := o.snapshots()
	if err != nil {
		return err
	}
	from, err := o.restore(slices.DeleteFunc(snapshots, func(at wire.Offset) bool { return at > bad }))
	if err != nil {
		return err
	}
	end := l.LogEndOffset()
	if from < 0 {
		from = l.start
		if o.opt.Clean && bad > end {
			from = end
		}
	}
	takeTxnIndexes(aborted, from)
	before := o.walker.bytes
	if err := o.widenWindows(from); err != nil {
		return err
	}
	if err := o.replayProducers(from); err != nil {
		return err
	}
	if err := o.writeTxnIndexes(aborted); err != nil || o.walker.bytes-before < snapshotWorthBytes {
		return err
	}
	return o.writeSnapshot(end)
}

// keepSnapshots is loadProducers where the producers are known, and the transaction indexes right.
func (o *opener) keepSnapshots() error {
	snapshots, err := o.snapshots()
	if err == nil && len(snapshots) > 0 {
		o.log.snapshot = snapshots[0]
	}
	return err
}

// snapshotWorthBytes is how much of the log the search for producers must have read for its outcome to be kept: reading less
// again after the next crash costs less than the file, its two fsyncs and the sync of the directory.
const snapshotWorthBytes = 1 << 20

// snapshots lists the producer snapshots that may be used, newest first, after removing those that may not: outside of the
// log, and strays that are not at a segment's base, but for one beyond the last base, which a clean shutdown left.
func (o *opener) snapshots() ([]wire.Offset, error) {
	files, _, err := o.list()
	if err != nil {
		return nil, err
	}
	l := o.log
	lastBase, end := l.ActiveSegment().baseOffset, l.LogEndOffset()
	var keep []wire.Offset
	stray := true // the newest stray beyond the last base is still to come
	for _, f := range slices.Backward(files) {
		if f.suffix != snapshotSuffix {
			continue
		}
		inLog := f.base > l.start && f.base <= end
		isBase := l.segments[l.segmentAt(f.base)].baseOffset == f.base
		if inLog && (isBase || stray && f.base > lastBase) {
			stray = stray && isBase
			keep = append(keep, f.base)
			continue
		}
		if err := o.removeFile(f.name); err != nil {
			return nil, err
		}
	}
	return keep, nil
}

// restore fills the table from the first of the snapshots that can be read, and gives its offset, NoOffset if none can. Bad
// ones are removed.
func (o *opener) restore(snapshots []wire.Offset) (wire.Offset, error) {
	l := o.log
	for _, at := range snapshots {
		name := fileName("", at, snapshotSuffix)[1:]
		data, err := o.readFile(name)
		if err != nil {
			return 0, fmt.Errorf("segment: read %s/%s: %w", o.dir, name, err)
		}
		entries, err := ReadProducerSnapshot(data)
		if errors.Is(err, ErrSnapshot) {
			if err := o.removeFile(name); err != nil {
				return 0, err
			}
			continue
		}
		for _, e := range entries {
			l.producers.restore(e)
		}
		l.ExpireProducers(o.opt.NowMS)
		l.snapshot = at
		return at, nil
	}
	return wire.NoOffset, nil
}

// replayProducers notes the producers of all batches from an offset on, and the transactions that end there. What cannot be
// read is damage that the scan for the log end has met, or that the next one will.
func (o *opener) replayProducers(from wire.Offset) error {
	l := o.log
	if from >= l.LogEndOffset() {
		return nil
	}
	for _, s := range l.segments[l.segmentAt(from):] {
		if err := o.replaySegment(s, from); err != nil {
			return err
		}
	}
	return nil
}

func (o *opener) replaySegment(s *Segment, from wire.Offset) error {
	start, err := o.positionBefore(s, from)
	if err != nil {
		return err
	}
	var ignored producerUndo
	return o.walkFrom(s, start, func(b wire.RecordBatch) {
		if b.LastOffset() < from {
			return
		}
		if ended, ok := o.log.producers.update(b, &ignored); ok {
			o.log.noteEnded(s, ended)
		}
	})
}

// walkFrom calls visit for each batch of a segment from a position on.
func (o *opener) walkFrom(s *Segment, start wire.Position, visit func(wire.RecordBatch)) error {
	damage, err := o.walkWhile(s, start, scanBuffer, func(b wire.RecordBatch) bool {
		visit(b)
		return true
	})
	o.noteDamage(damage)
	return err
}

// walkWhile calls visit for each batch of a segment from a position on, until it returns false. It reads up to ahead bytes at a time, and gives
// the first damage that it has met.
func (o *opener) walkWhile(s *Segment, start wire.Position, ahead int, visit func(wire.RecordBatch) bool) (*CorruptionError, error) {
	f, size, err := o.openFile(fileName("", s.baseOffset, logSuffix)[1:])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := &o.walker
	w.start(o.dir, s.baseOffset, f, min(size, s.size))
	w.position = start
	whole := w.buf
	w.buf = whole[:min(len(whole), ahead)]
	defer func() { w.buf = whole }()
	for {
		b, _, ok, err := w.next()
		if !ok || err != nil || !visit(b) {
			return w.damage, err
		}
	}
}

// positionBefore gives a position at or before the batch that holds off, by the index file.
func (o *opener) positionBefore(s *Segment, off wire.Offset) (wire.Position, error) {
	if off <= s.baseOffset {
		return 0, nil
	}
	data, err := o.readIndex(s, indexSuffix)
	if err != nil {
		return 0, err
	}
	data = soundOffsetEntries(s.baseOffset, data, s.size)
	n := upperOffset(s.baseOffset, data, off)
	if n == 0 {
		return 0, nil
	}
	return readOffsetEntry(s.baseOffset, data, n-1).Position, nil
}

// writeSnapshot keeps what the scan has found, so that the next one begins here.
func (o *opener) writeSnapshot(at wire.Offset) error {
	data := AppendProducerSnapshot(nil, o.log.producers.entries())
	if err := writeNamed(o.fs, fileName(o.dir, at, snapshotSuffix), data, true); err != nil {
		return err
	}
	o.log.snapshot = at
	o.namesChanged()
	return nil
}
