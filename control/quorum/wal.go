package quorum

import (
	"errors"
	"fmt"
	"path"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// wal is the log's files: a row of segments, each named by the sequence number of its first record, which hold record
// batches back to back. It only ever grows at its end, and loses whole segments at its beginning; an entry that replaces
// another is written behind it.
type wal struct {
	fs         segment.FS
	dir        string
	bytesMax   int64 // a segment that has reached it gets a successor
	segments   []walSegment
	active     segment.File // of the last segment
	next       int64        // sequence number of the next record
	synced     int64        // every record below it is durable
	witnessed  int64        // some record says so of every record below it
	buf        []byte       // reused
	bufKeptMax int
	noRoom     func(error) bool // Config.NoRoom; nil: no error says so
}

// walSegment is a file of the log.
type walSegment struct {
	base int64 // sequence number of its first record
	size int64 // bytes of whole batches
}

// batchAt is where a batch is. It stays true as long as its segment is there.
type batchAt struct {
	segment int64 // the segment's base
	pos     int64
	length  int32
}

// batchBytesMax is about how large a batch becomes. Entries of one batch are read and checked together.
const batchBytesMax = 1 << 20

const logSuffix = ".log"

func logName(base int64) string { return fmt.Sprintf("%020d%s", base, logSuffix) }

func (w *wal) path(base int64) string { return path.Join(w.dir, logName(base)) }

// append writes a state, a reset if it is not nil, and entries, and syncs them. It gives each entry's batch. state.commit may
// be ahead of the entries of a batch that is not the last.
func (w *wal) append(state walState, reset *position, last uint64, entries []*pb.Entry) ([]batchAt, error) {
	if err := w.rollIfFull(); err != nil {
		return nil, err
	}
	at, next := make([]batchAt, 0, len(entries)), w.next
	w.buf = w.buf[:0]
	for first := true; first || len(entries) > 0; first = false {
		n := batchEntries(entries)
		if n > 0 {
			last = entries[n-1].GetIndex()
		}
		place := w.encode(state, reset, last, entries[:n])
		for range n {
			at = append(at, place)
		}
		reset, entries = nil, entries[n:]
	}
	if err := w.write(); err != nil {
		w.next = next
		return nil, err
	}
	return at, w.sync()
}

// full makes ErrFull of an error that says so. It is for writes that leave nothing behind, or that are done again in the same place.
func (w *wal) full(err error) error {
	if w.noRoom != nil && w.noRoom(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// batchEntries is how many entries the next batch takes.
func batchEntries(entries []*pb.Entry) int {
	size := 0
	for i, e := range entries {
		size += len(e.GetData()) + entryKey + 10
		if size > batchBytesMax {
			return max(i, 1)
		}
	}
	return len(entries)
}

// encode adds a batch to the buffer and says where it will be.
func (w *wal) encode(state walState, reset *position, last uint64, entries []*pb.Entry) batchAt {
	state.commit, state.synced = min(state.commit, last), w.synced
	records := append(make([]wire.Record, 0, len(entries)+2), state.record())
	if reset != nil {
		records = append(records, reset.record())
	}
	for _, e := range entries {
		records = append(records, entryToRecord(e))
	}
	start := len(w.buf)
	w.buf = wire.AppendRecordBatch(w.buf, wire.BatchHeader{BaseOffset: wire.Offset(w.next), BaseTimestamp: wire.NoTimestamp}, records)
	w.next += int64(len(records))
	seg := w.last()
	return batchAt{segment: seg.base, pos: seg.size + int64(start), length: int32(len(w.buf) - start)}
}

func (w *wal) last() *walSegment { return &w.segments[len(w.segments)-1] }

// write puts the buffer at the end of the active segment.
func (w *wal) write() error {
	seg := w.last()
	if _, err := w.active.WriteAt(w.buf, seg.size); err != nil {
		return w.full(fmt.Errorf("quorum: write %d bytes to %s at %d: %w", len(w.buf), w.path(seg.base), seg.size, err))
	}
	seg.size += int64(len(w.buf))
	if cap(w.buf) > w.bufKeptMax {
		w.buf = nil
	}
	return nil
}

func (w *wal) sync() error {
	if err := w.active.Sync(); err != nil {
		return fmt.Errorf("quorum: sync %s: %w", w.path(w.last().base), err)
	}
	w.witnessed, w.synced = w.synced, w.next
	return nil
}

// witness writes a record that says that all before it is durable, unless one says so already. It is not synced: what it
// protects from is damage later on, not a crash. Without room there is none.
func (w *wal) witness(state walState, last uint64) error {
	if w.witnessed == w.synced || w.synced != w.next || w.active == nil {
		return nil
	}
	w.buf = w.buf[:0]
	before := w.next
	w.encode(state, nil, last, nil)
	err := w.write()
	if errors.Is(err, ErrFull) {
		w.next = before
		return nil
	}
	w.witnessed = w.synced
	return err
}

// rollIfFull begins a new segment. The old one is durable to its end before the new one's name is, so that only the last
// segment can be torn.
func (w *wal) rollIfFull() error {
	if w.last().size < w.bytesMax {
		return nil
	}
	if w.synced != w.next {
		if err := w.sync(); err != nil {
			return err
		}
	}
	w.abandon()
	return w.begin(w.next)
}

// abandon closes the active file, if there is one, with nothing left to say to it.
func (w *wal) abandon() {
	if w.active != nil {
		w.active.Close()
		w.active = nil
	}
}

// begin makes a segment and the active file.
func (w *wal) begin(base int64) error {
	f, err := w.fs.OpenFile(w.path(base), segment.ReadWrite|segment.Create|segment.Exclusive, 0o600)
	if err != nil {
		return w.full(err)
	}
	w.active = f
	w.segments = append(w.segments, walSegment{base: base})
	return w.fs.SyncDir(w.dir)
}

// dropBefore removes the segments before the one that begins at base. What a crash leaves of them is removed with the next
// ones; that they vanish in their order keeps the row without gaps.
func (w *wal) dropBefore(base int64) error {
	n := 0
	for ; n < len(w.segments)-1 && w.segments[n].base < base; n++ {
		if err := w.fs.Remove(w.path(w.segments[n].base)); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	w.segments = append(w.segments[:0:0], w.segments[n:]...)
	return w.fs.SyncDir(w.dir)
}

// read reads a batch and checks it.
func (w *wal) read(at batchAt) (walBatch, error) {
	name := w.path(at.segment)
	f, err := w.fs.OpenFile(name, segment.ReadOnly, 0)
	if err != nil {
		return walBatch{}, err
	}
	defer f.Close()
	data := make([]byte, at.length)
	if _, err := f.ReadAt(data, at.pos); err != nil {
		return walBatch{}, fmt.Errorf("quorum: read %d bytes of %s at %d: %w", at.length, name, at.pos, err)
	}
	b, err := soundBatch(data)
	if err == nil && len(b) != len(data) {
		err = errFormat
	}
	var batch walBatch
	if err == nil {
		batch, err = readWalBatch(b)
	}
	if err != nil {
		return walBatch{}, &CorruptionError{File: name, Position: at.pos, Err: err}
	}
	return batch, nil
}

func soundBatch(data []byte) (wire.RecordBatch, error) {
	b, _, err := wire.ReadRecordBatch(data)
	if err != nil {
		return nil, err
	}
	return b, b.Check()
}

// close makes the last words durable.
func (w *wal) close(state walState, last uint64) error {
	err := w.witness(state, last)
	if err == nil && w.synced != w.next {
		err = w.sync()
	}
	w.abandon()
	return err
}
