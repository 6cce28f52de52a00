package image

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// CorruptionError says where a metadata log cannot be read. The file was left as it is.
type CorruptionError struct {
	File     string
	Position wire.Position // of the batch
	Offset   wire.Offset   // that was due there
	Err      error         // a *wire.BatchError, a *RecordError, ErrNewerFormat, ErrOffset, a JSON error
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("image: %s cannot be read at byte %d (offset %d): %v", e.File, e.Position, e.Offset, e.Err)
}

func (e *CorruptionError) Unwrap() error { return e.Err }

// ErrOffset means that a batch does not follow the one before it.
var ErrOffset = errors.New("the batch's base offset is not the one that is due")

// replayed is what a log's bytes lead to.
type replayed struct {
	image   *Image
	records int
	whole   int64 // bytes up to the end of the last good batch; what follows was cut short by a crash
	lastAt  int64 // where that batch begins
}

// replay builds the Image of data, a whole log that file names in errors. The error is a *CorruptionError.
func replay(file string, data []byte) (r replayed, err error) {
	e := newEditor(new(Image))
	for at := 0; at < len(data); at = int(r.whole) {
		batch, err := nextBatch(data[at:])
		if err != nil && at > 0 && !batchFollows(data[at+1:], e.next.version) {
			break // torn
		}
		if err == nil {
			err = replayBatch(e, batch, at == 0)
		}
		if err != nil {
			return r, &CorruptionError{File: file, Position: wire.Position(at), Offset: wire.Offset(e.next.version), Err: err}
		}
		r.lastAt, r.whole, r.records = int64(at), int64(at+len(batch)), r.records+int(batch.RecordCount())
	}
	r.image = e.finish()
	return r, nil
}

func nextBatch(data []byte) (wire.RecordBatch, error) {
	batch, _, err := wire.ReadRecordBatch(data)
	if err != nil {
		return nil, err
	}
	return batch, batch.Check()
}

// batchFollows tells damage from a torn end. Each batch is durable before the next is written, and the first comes into
// being with its file, whole; so only the last can be torn, and only if it is not the first. A bad batch is damage if any
// good batch with a later offset stands anywhere behind it.
func batchFollows(data []byte, version uint64) bool {
	for ; len(data) >= wire.RecordBatchOverhead; data = data[1:] {
		if offset := binary.BigEndian.Uint64(data); offset < version || offset > version+uint64(len(data)) {
			continue // most positions leave here
		}
		if _, err := nextBatch(data); err == nil {
			return true
		}
	}
	return false
}

// replayBatch applies a batch's records. The first batch of a compacted log may begin at any offset.
func replayBatch(e *editor, batch wire.RecordBatch, first bool) error {
	if first && batch.BaseOffset() >= 0 {
		e.next.version = uint64(batch.BaseOffset())
	}
	if uint64(batch.BaseOffset()) != e.next.version {
		return ErrOffset
	}
	i := 0
	return eachRecord(batch, func(r Record) error {
		if err := e.apply(r); err != nil {
			return &RecordError{Index: i, Record: r, Err: err}
		}
		i++
		return nil
	})
}
