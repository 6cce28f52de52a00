package node

import (
	"errors"
	"io"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// recordChunk is how much of a segment is read at a time; a longer batch grows it for itself.
const recordChunk = 1 << 20

// readSegmentRecords calls f for each record of the first size bytes of a segment file, and once for each control batch.
func readSegmentRecords(fsys segment.FS, name string, size int64, dec *wire.Decompressor, f func(wire.RecordBatch, wire.Record)) error {
	file, err := fsys.OpenFile(name, segment.ReadOnly, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	chunk := make([]byte, min(size, recordChunk))
	for at := int64(0); at < size; {
		want := chunk[:min(int64(len(chunk)), size-at)]
		if n, err := file.ReadAt(want, at); n < len(want) {
			return errors.Join(io.ErrUnexpectedEOF, err)
		}
		used, need, err := eachRecord(want, dec, f)
		if err != nil {
			return err
		}
		if at += int64(used); used == 0 {
			if int64(need) > size-at {
				return io.ErrUnexpectedEOF
			}
			chunk = make([]byte, need)
		}
	}
	return nil
}

// eachRecord walks the whole batches of src; used is how far it got, need the length of a first batch that src is too
// short for.
func eachRecord(src []byte, dec *wire.Decompressor, f func(wire.RecordBatch, wire.Record)) (used, need int, err error) {
	for rest := src; len(rest) > 0; {
		batch, tail, err := wire.ReadRecordBatch(rest)
		if errors.Is(err, wire.ErrShortBatch) {
			return used, shortBatchNeed(rest), nil
		}
		if err != nil {
			return used, 0, err
		}
		if batch.IsControl() {
			f(batch, wire.Record{})
		} else if err := batchRecords(batch, dec, func(r wire.Record) error { f(batch, r); return nil }); err != nil {
			return used, 0, err
		}
		used, rest = used+len(rest)-len(tail), tail
	}
	return used, 0, nil
}

// shortBatchNeed is how many bytes a batch that was cut off needs.
func shortBatchNeed(rest []byte) int {
	if len(rest) < wire.LogOverhead {
		return wire.RecordBatchOverhead
	}
	return wire.RecordBatch(rest).Length()
}

func batchRecords(batch wire.RecordBatch, dec *wire.Decompressor, f func(wire.Record) error) error {
	if batch.IsControl() {
		return nil
	}
	records, err := batch.Records(dec)
	if err != nil {
		return err
	}
	for {
		rec, ok := records.Next()
		if !ok {
			return records.Err()
		}
		if err := f(rec); err != nil {
			return err
		}
	}
}
