package api

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func batchOf(h wire.BatchHeader, keys ...[]byte) []byte {
	records := make([]wire.Record, len(keys))
	for i, key := range keys {
		records[i] = wire.Record{Key: key, Value: []byte("value")}
	}
	return wire.AppendRecordBatch(nil, h, records)
}

func codeOf(fault *BatchFault) wire.ErrorCode {
	if fault == nil {
		return wire.None
	}
	return fault.Code
}

func TestReadProducedBatch(t *testing.T) {
	keyed, keyless, empty := []byte("k"), []byte(nil), []byte{}
	plain := batchOf(wire.BatchHeader{}, keyed, keyless)
	torn := bytes.Clone(plain)
	torn[len(torn)-1]++
	oldMagic := bytes.Clone(plain)
	oldMagic[16] = 1
	rebased := bytes.Clone(plain)
	binary.BigEndian.PutUint64(rebased, 7)
	bombed := bytes.Clone(plain)
	binary.BigEndian.PutUint32(bombed[57:], 1<<31-1) // the record count, which the checksum covers
	for _, c := range []struct {
		name    string
		records []byte
		version wire.APIVersion
		max     int
		compact bool
		code    wire.ErrorCode
	}{
		{"null", nil, 9, 1 << 20, false, wire.InvalidRecord},
		{"nothing", []byte{}, 9, 1 << 20, false, wire.InvalidRecord},
		{"less than a batch", plain[:len(plain)-1], 9, 1 << 20, false, wire.InvalidRecord},
		{"one batch", plain, 3, 1 << 20, false, wire.None},
		{"two batches", append(bytes.Clone(plain), plain...), 9, 1 << 20, false, wire.InvalidRecord},
		{"torn", torn, 9, 1 << 20, false, wire.CorruptMessage},
		{"magic 1", oldMagic, 9, 1 << 20, false, wire.InvalidRecord},
		{"base offset 7", rebased, 9, 1 << 20, false, wire.InvalidRecord},
		{"claims 2³¹-1 records", bombed, 9, 1 << 20, false, wire.InvalidRecord},
		{"at the limit", plain, 9, len(plain), false, wire.None},
		{"beyond the limit", plain, 9, len(plain) - 1, false, wire.MessageTooLarge},
		{"torn and beyond the limit", torn, 9, len(plain) - 1, false, wire.MessageTooLarge},
		{"control batch", batchOf(wire.BatchHeader{Control: true}, keyed), 9, 1 << 20, false, wire.InvalidRecord},
		{"idempotent", batchOf(wire.BatchHeader{Idempotent: true, ProducerID: 4}, keyed), 9, 1 << 20, false, wire.None},
		{"transactional", batchOf(wire.BatchHeader{Idempotent: true, ProducerID: 4, Transactional: true}, keyed), 9, 1 << 20, false, wire.None},
		{"zstd before it was allowed", batchOf(wire.BatchHeader{Codec: wire.CompressionZstd}, keyed), 6, 1 << 20, false, wire.UnsupportedCompressionType},
		{"zstd", batchOf(wire.BatchHeader{Codec: wire.CompressionZstd}, keyed), 7, 1 << 20, false, wire.None},
		{"compacted, keyed", batchOf(wire.BatchHeader{}, keyed, keyed), 9, 1 << 20, true, wire.None},
		{"compacted, empty key", batchOf(wire.BatchHeader{}, empty), 9, 1 << 20, true, wire.None},
		{"compacted, keyless", batchOf(wire.BatchHeader{}, keyed, keyless), 9, 1 << 20, true, wire.InvalidRecord},
		{"compacted, keyless, gzip", batchOf(wire.BatchHeader{Codec: wire.CompressionGzip}, keyless), 9, 1 << 20, true, wire.InvalidRecord},
	} {
		batch, fault := ReadProducedBatch(c.records, c.version, BatchRules{BytesMax: c.max, Keys: c.compact})
		if codeOf(fault) != c.code || (batch != nil) != (fault == nil) {
			t.Errorf("%s: %+v", c.name, fault)
		}
	}
}

// TestReadProducedBatchLimitsTheCompressedSize: 5 kB of zeros fit into 2,000 bytes with snappy, 5 kB of noise do not.
func TestReadProducedBatchLimitsTheCompressedSize(t *testing.T) {
	zeros := wire.AppendRecordBatch(nil, wire.BatchHeader{Codec: wire.CompressionSnappy}, []wire.Record{{Value: make([]byte, 5000)}})
	if _, fault := ReadProducedBatch(zeros, 7, BatchRules{BytesMax: 2000}); fault != nil {
		t.Errorf("zeros: %+v", fault)
	}
	noise := make([]byte, 5000)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	random := wire.AppendRecordBatch(nil, wire.BatchHeader{Codec: wire.CompressionSnappy}, []wire.Record{{Value: noise}})
	if _, fault := ReadProducedBatch(random, 7, BatchRules{BytesMax: 2000}); codeOf(fault) != wire.MessageTooLarge {
		t.Errorf("noise: %+v", fault)
	}
}

// TestReadProducedBatchTellsTimes: a greatest timestamp that is unset (redpanda-data/redpanda#25769), or is an append time
// that the producer made up.
func TestReadProducedBatchTellsTimes(t *testing.T) {
	for _, codec := range []wire.Compression{wire.CompressionNone, wire.CompressionGzip} {
		records := []wire.Record{{Value: []byte("a")}, {Value: []byte("b"), TimestampDelta: 7}, {Value: []byte("c"), TimestampDelta: 5}}
		unset := wire.RecordBatch(wire.AppendRecordBatch(nil, wire.BatchHeader{Codec: codec, BaseTimestamp: 1000}, records))
		appended := wire.RecordBatch(bytes.Clone(unset))
		unset.SetMaxTimestamp(wire.NoTimestamp)
		appended.SetAppendTime(99_999)
		for _, sent := range []wire.RecordBatch{unset, appended} {
			b, fault := ReadProducedBatch(sent, 9, BatchRules{BytesMax: 1 << 20})
			if fault != nil || b.MaxTimestamp() != 1007 || b.TimestampType() != wire.CreateTime || b.Check() != nil {
				t.Errorf("%s: %+v", codec, fault)
			}
		}
	}
}

// TestKeylessRecordsAreNamed: what Apache Kafka 4.1.1 says of a batch in which four of five records have no key.
func TestKeylessRecordsAreNamed(t *testing.T) {
	sent := batchOf(wire.BatchHeader{}, nil, []byte("k"), nil, nil, nil)
	_, fault := ReadProducedBatch(sent, 9, BatchRules{BytesMax: 1 << 20, Keys: true})
	records, message := fault.Explain("t-0")
	one := "Compacted topic cannot accept message without key in topic partition t-0."
	want := []wire.ProduceRecordError{{BatchIndex: 0, Message: one}, {BatchIndex: 2, Message: one}, {BatchIndex: 3, Message: one}, {BatchIndex: 4, Message: one}}
	if !slices.Equal(records, want) {
		t.Errorf("%+v", records)
	}
	if message != "One or more records have been rejected due to 4 record errors in total, and only showing the first three errors at most: "+
		"[RecordError(batchIndex=0, message='"+one+"'), RecordError(batchIndex=2, message='"+one+"'), RecordError(batchIndex=3, message='"+one+"')]" {
		t.Error(message)
	}
}

// TestUntimelyRecordsAreNamed: as above, for times.
func TestUntimelyRecordsAreNamed(t *testing.T) {
	records := []wire.Record{{}, {TimestampDelta: 50}, {TimestampDelta: 101}, {TimestampDelta: -1}}
	batch := wire.RecordBatch(wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: 1000}, records))
	errs, message := UntimelyRecords(batch, 1000, 1100)
	if len(errs) != 2 || errs[0].BatchIndex != 2 || errs[1].BatchIndex != 3 || message != "One or more records have been rejected due to invalid timestamp" ||
		errs[0].Message != "Timestamp 1101 of message with offset 2 is out of range. The timestamp should be within [1000, 1100]" {
		t.Errorf("%+v %q", errs, message)
	}
	packed := wire.RecordBatch(wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: 1000, Codec: wire.CompressionGzip}, records))
	if errs, message := UntimelyRecords(packed, 1000, 1100); errs != nil || message != "" {
		t.Errorf("compressed: %+v %q", errs, message)
	}
}

// TestReadProducedBatchIsFree: the hot path allocates nothing.
func TestReadProducedBatchIsFree(t *testing.T) {
	records := batchOf(wire.BatchHeader{}, []byte("k"))
	if n := testing.AllocsPerRun(100, func() { ReadProducedBatch(records, 9, BatchRules{BytesMax: 1 << 20}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzReadProducedBatch(f *testing.F) {
	f.Add(batchOf(wire.BatchHeader{}, []byte("k"), nil), true)
	f.Add(batchOf(wire.BatchHeader{Codec: wire.CompressionLZ4}, []byte("k")), true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, records []byte, compact bool) {
		batch, fault := ReadProducedBatch(records, 9, BatchRules{BytesMax: 1 << 20, Keys: compact})
		if (batch != nil) != (fault == nil) {
			t.Fatalf("%d bytes of batch with %+v", len(batch), fault)
		}
		if fault == nil && (batch.RecordCount() < 1 || batch.LastOffsetDelta() != batch.RecordCount()-1) {
			t.Fatalf("%d records over %d offsets", batch.RecordCount(), batch.LastOffsetDelta()+1)
		}
	})
}
