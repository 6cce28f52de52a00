package quorum

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// opening is a log that is being read. Nothing is written before all of the directory has been found sound.
type opening struct {
	*wal
	replay
	leftovers []walSegment // before a gap: a crash left them when they were being removed
	data      []byte       // of the last segment
	unsure    []placed     // its last batches: no record behind them says that they are durable
	torn      int64        // bytes behind them, to be cut off
}

// placed is where a record is in its segment.
type placed struct{ sequence, pos int64 }

// readWal reads the segments that bases names.
func readWal(fsys segment.FS, dir string, bases []int64) (*opening, error) {
	o := &opening{wal: &wal{fs: fsys, dir: dir, bufKeptMax: 4 * batchBytesMax}}
	for i, base := range bases {
		if base < o.next {
			return nil, &CorruptionError{File: o.path(base), Err: fmt.Errorf("%w: the segment before it ends at %d", errFormat, o.next)}
		}
		if base > o.next { // segments vanish oldest first, but not so their names from the disk
			o.leftovers, o.segments = append(o.leftovers, o.segments...), nil
			o.replay, o.next = replay{}, base
		}
		data, err := fsys.ReadFile(o.path(base))
		if err != nil {
			return nil, err
		}
		o.segments = append(o.segments, walSegment{base: base})
		if err := o.readSegment(data, i == len(bases)-1); err != nil {
			return nil, err
		}
		o.torn = int64(len(data)) - o.wal.last().size
	}
	return o, nil
}

// readSegment reads a segment. Only the last one may end in something that is no batch.
func (o *opening) readSegment(data []byte, end bool) error {
	w := o.wal
	o.data, o.unsure = data, nil
	seg := w.last()
	for seg.size < int64(len(data)) {
		raw, err := soundBatch(data[seg.size:])
		if err == nil && int64(raw.BaseOffset()) != w.next { // no part of the checksum: its sector may be the one that is missing
			err = fmt.Errorf("%w: record %d where %d was due", errFormat, raw.BaseOffset(), w.next)
		}
		if err != nil && end && !witnessedBehind(data[seg.size+1:], w.next) {
			return nil // torn
		}
		var b walBatch
		if err == nil {
			b, err = readWalBatch(raw)
		}
		if err == nil {
			err = o.visit(batchAt{segment: seg.base, pos: seg.size, length: int32(len(raw))}, b)
		}
		if err != nil {
			return &CorruptionError{File: w.path(seg.base), Position: seg.size, Err: err}
		}
		o.witness(placed{w.next, seg.size}, b.state.synced)
		w.next = b.next
		seg.size += int64(len(raw))
	}
	return nil
}

// witness notes a batch, and that what is before synced is durable.
func (o *opening) witness(at placed, synced int64) {
	o.wal.witnessed = synced
	for len(o.unsure) > 0 && o.unsure[0].sequence < synced {
		o.unsure = o.unsure[1:]
	}
	o.unsure = append(o.unsure, at)
}

// witnessedBehind tells damage from a torn end: a bad batch was durable once if a batch behind it says so. One that does not
// was written together with it, and may have reached the disk alone. Nobody was told of either.
func witnessedBehind(data []byte, next int64) bool {
	for ; len(data) >= wire.RecordBatchOverhead; data = data[1:] {
		if base := int64(binary.BigEndian.Uint64(data)); base <= next || base > next+int64(len(data)) {
			continue // most positions leave here
		}
		raw, err := soundBatch(data)
		if err != nil {
			continue
		}
		if b, err := readWalBatch(raw); err == nil && b.state.synced > next {
			return true
		}
	}
	return false
}

// settle cuts the torn end off, writes the batches that nothing says are durable once more, and syncs. They may stand in the
// page cache alone: the process that wrote them may have died before its fsync, or been told that the fsync failed, after
// which Linux calls the pages clean (fsync(2), Linux 4.13 and later).
func (o *opening) settle() error {
	w, seg := o.wal, o.wal.last()
	for _, left := range o.leftovers {
		if err := w.fs.Remove(w.path(left.base)); err != nil {
			return err
		}
	}
	f, err := w.fs.OpenFile(w.path(seg.base), segment.ReadWrite, 0)
	if err != nil {
		return err
	}
	w.active = f
	if err = w.active.Truncate(seg.size); err == nil && len(o.unsure) > 0 {
		from := o.unsure[0].pos
		_, err = w.active.WriteAt(o.data[from:seg.size], from)
	}
	if err == nil {
		err = w.active.Sync()
	}
	if err == nil {
		err = w.fs.SyncDir(w.dir)
	}
	if err != nil {
		w.abandon()
		return err
	}
	w.synced = w.next
	return nil
}

// logBase gives the sequence number that names a segment of the log.
func logBase(name string) (base int64, ok bool) {
	base, err := strconv.ParseInt(strings.TrimSuffix(name, logSuffix), 10, 64)
	return base, err == nil && base >= 0 && logName(base) == name
}
