package image

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// CorruptionError says where a metadata log is damaged. The file was left as it is.
type CorruptionError struct {
	File     string
	Position wire.Position // of the batch
	Offset   wire.Offset   // that was due there
	Err      error         // a *wire.BatchError, a *RecordError, ErrNewerFormat, errOffset, ...
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("image: %s is damaged at byte %d (offset %d): %v", e.File, e.Position, e.Offset, e.Err)
}

func (e *CorruptionError) Unwrap() error { return e.Err }

// ErrOffset means that a batch does not follow the one before it.
var ErrOffset = errors.New("the batch's base offset is not the one that is due")

// replay builds the Image of data, a whole log. whole is the bytes up to the last good batch; what follows is a batch that
// a crash cut short. The error is a *CorruptionError.
func (s *Store) replay(data []byte) (whole int64, records int, err error) {
	e := newEditor(new(Image))
	for at := 0; at < len(data); {
		batch, err := nextBatch(data[at:])
		if err != nil && !batchFollows(data[at+1:], e.next.version) {
			break // torn
		}
		if err == nil {
			err = replayBatch(e, batch, at == 0)
		}
		if err != nil {
			return 0, 0, &CorruptionError{File: s.name, Position: wire.Position(at), Offset: wire.Offset(e.next.version), Err: err}
		}
		at += len(batch)
		whole, records = int64(at), records+int(batch.RecordCount())
	}
	s.image = e.finish()
	return whole, records, nil
}

func nextBatch(data []byte) (wire.RecordBatch, error) {
	batch, _, err := wire.ReadRecordBatch(data)
	if err != nil {
		return nil, err
	}
	return batch, batch.Check()
}

// batchFollows tells damage from a torn end: each batch is durable before the next is written, so only the last can be torn.
// A bad batch is damage if any good batch with a later offset stands anywhere behind it.
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
	if first {
		e.next.version = uint64(batch.BaseOffset())
	}
	if uint64(batch.BaseOffset()) != e.next.version {
		return ErrOffset
	}
	it, err := batch.Records(nil)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		rec, ok := it.Next()
		if !ok {
			return it.Err()
		}
		r, err := readRecord(rec.Value)
		if err != nil {
			return err
		}
		if err := e.apply(r); err != nil {
			return &RecordError{Index: i, Record: r, Err: err}
		}
	}
}
