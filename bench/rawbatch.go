package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// baseTimestampAt is where a batch has its base timestamp (wire has the other fields' places).
const baseTimestampAt = 27

// rawFrame is a produce request built once, of one batch for one partition. Sending it again costs a few stores and a checksum:
//
//	frame ├ length, key, version, correlation id ┤ … ├ partition ┤ batch: base and max timestamp … ├ first value ┤ … ┤
//	          patched by RawConn.send ▲   aim, and the keys ▲         patched by stamp ▲            ▲
type rawFrame struct {
	bytes []byte
	batch wire.RecordBatch // in bytes
	value []byte           // of the first record, in bytes
	// partitionAt is where bytes has the partition's number, so that one frame serves all of a lane's partitions.
	partitionAt int
	keys        [][]byte // of the records, in bytes; none without keys
	// records and valueBytes are what it carries.
	records, valueBytes int64
}

// Bounds of what a producer sends in turn, where its records differ: enough records to be like the rest, and memory.
const (
	variedRecords  = 2048
	variedBytesMax = 4 << 20   // of a producer
	variedBytesAll = 256 << 20 // of all producers
	batchBytesMax  = 900_000   // below Kafka's default of message.max.bytes
)

// frames are a raw producer's requests for any partition, sent in turn: one if all values are of one size, since nothing looks at them.
func (t *Trial) frames(load *Workload, producer int) (all []*rawFrame, err error) {
	values := t.values().draw(t.producerSeed(producer))
	records, bytes := int64(0), 0
	most := min(variedBytesMax, variedBytesAll/max(t.Topics*t.Producers, 1))
	for len(all) == 0 || t.Values != nil && records < variedRecords && bytes < most {
		f, err := load.rawFrame(t.buildBatch(values))
		if err != nil {
			return nil, err
		}
		records, bytes, all = records+f.records, bytes+len(f.bytes), append(all, f)
	}
	return all, nil
}

// buildBatch makes a batch of BatchRecords records, or of as many as a node takes. Its keys are set by aim.
func (t *Trial) buildBatch(values *drawing) []byte {
	var b wire.BatchBuilder
	b.Reset(nil, wire.BatchHeader{BaseTimestamp: wire.Timestamp(time.Now().UnixMilli())})
	var key []byte
	if t.Keys > 0 {
		key = make([]byte, keyBytes)
	}
	for b.RecordCount() < t.BatchRecords {
		value := values.next()
		if b.RecordCount() > 0 && b.Size()+len(value) > batchBytesMax {
			break
		}
		b.Add(wire.Record{Key: key, Value: value})
	}
	return b.Finish()
}

// rawFrame makes a request for any partition.
func (w *Workload) rawFrame(batch []byte) (*rawFrame, error) {
	f := &rawFrame{bytes: w.produceFrame(0, batch)}
	at := bytes.Index(f.bytes, batch)
	f.partitionAt = at - len(binary.AppendUvarint(nil, uint64(len(batch)+1))) - 4 // before the records' compact length
	var err error
	if f.batch, _, err = wire.ReadRecordBatch(f.bytes[at : at+len(batch)]); err != nil {
		return nil, err
	}
	if f.value, err = firstValue(f.batch); err != nil {
		return nil, err
	}
	records, err := f.batch.Records(nil)
	for rec, ok := records.Next(); ok; rec, ok = records.Next() {
		f.records++
		f.valueBytes += int64(len(rec.Value))
		if rec.Key != nil {
			f.keys = append(f.keys, rec.Key)
		}
	}
	return f, err
}

// valueBytes are those of a fetched batch.
func valueBytes(batch wire.RecordBatch) (sum int64, err error) {
	records, err := batch.Records(nil)
	if err != nil {
		return 0, fmt.Errorf("bench: fetched records: %w", err)
	}
	for rec, ok := records.Next(); ok; rec, ok = records.Next() {
		sum += int64(len(rec.Value))
	}
	return sum, records.Err()
}

// aim has the request go to a partition, with keys that are its own.
func (f *rawFrame) aim(partition int32, keys *keys) {
	binary.BigEndian.PutUint32(f.bytes[f.partitionAt:], uint32(partition))
	for _, key := range f.keys {
		keys.put(key, partition)
	}
}

// stamp writes the instant at which the batch is due into its first value, and the wall's time into its header.
func (f *rawFrame) stamp(due Instant) {
	now := wire.Timestamp(time.Now().UnixMilli())
	binary.BigEndian.PutUint64(f.value, uint64(due))
	binary.BigEndian.PutUint64(f.batch[baseTimestampAt:], uint64(now))
	f.batch.SetMaxTimestamp(now) // and the checksum
}

// stampOf is the instant at which a batch of a rawFrame was due.
func stampOf(batch wire.RecordBatch) (Instant, error) {
	value, err := firstValue(batch)
	if err != nil {
		return 0, err
	}
	return Instant(binary.BigEndian.Uint64(value)), nil
}

// firstValue finds the value of the first record of a batch that is not compressed: length, attributes, timestamp's and offset's difference,
// key's length, key, value's length, value.
func firstValue(batch wire.RecordBatch) ([]byte, error) {
	if len(batch) <= wire.RecordBatchOverhead || batch.Codec() != 0 {
		return nil, fmt.Errorf("bench: a batch at offset %d that this generator did not write", batch.BaseOffset())
	}
	src := batch[wire.RecordBatchOverhead:]
	var size int64
	for field := range 6 {
		if field == 1 {
			src = src[min(1, len(src)):]
			continue
		}
		n, used := binary.Varint(src)
		if used <= 0 {
			return nil, fmt.Errorf("bench: the batch at offset %d ends in its first record", batch.BaseOffset())
		}
		size, src = n, src[used:]
		if field == 4 {
			src = src[min(max(n, 0), int64(len(src))):]
		}
	}
	if size < stampBytes || size > int64(len(src)) {
		return nil, fmt.Errorf("bench: a first value of %d bytes in the batch at offset %d", size, batch.BaseOffset())
	}
	return src[:size], nil
}
