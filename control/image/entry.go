package image

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// AppendRecords appends records as one batch, as Store writes it: what an entry of the quorum's log carries. base is the Version
// of the Image that they change. The batch has a checksum, each record its version.
func AppendRecords(dst []byte, base uint64, records []Record) []byte {
	return appendBatch(dst, wire.Offset(base), records)
}

// ReadRecords reads what AppendRecords wrote, and nothing behind it. The error wraps a *wire.BatchError, ErrNewerFormat or what
// the JSON reader says.
func ReadRecords(data []byte) (base uint64, records []Record, err error) {
	batch, err := nextBatch(data)
	if err != nil {
		return 0, nil, fmt.Errorf("image: an entry of %d bytes: %w", len(data), err)
	}
	if len(batch) != len(data) {
		return 0, nil, fmt.Errorf("image: an entry of %d bytes holds a batch of %d", len(data), len(batch))
	}
	if batch.BaseOffset() < 0 {
		return 0, nil, fmt.Errorf("image: an entry of %d bytes: %w", len(data), ErrOffset)
	}
	err = eachRecord(batch, func(r Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		return 0, nil, fmt.Errorf("image: an entry of %d bytes: %w", len(data), err)
	}
	return uint64(batch.BaseOffset()), records, nil
}

// eachRecord reads a batch's records one after the other.
func eachRecord(batch wire.RecordBatch, do func(Record) error) error {
	it, err := batch.Records(nil)
	if err != nil {
		return err
	}
	for {
		rec, ok := it.Next()
		if !ok {
			return it.Err()
		}
		r, err := readRecord(rec.Value)
		if err != nil {
			return err
		}
		if err := do(r); err != nil {
			return err
		}
	}
}
