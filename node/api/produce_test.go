package api

import (
	"bytes"
	"encoding/binary"
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
		batch, code, message := ReadProducedBatch(c.records, c.version, BatchRules{BytesMax: c.max, Keys: c.compact})
		if code != c.code || (batch != nil) != (code == wire.None) || code == wire.None && message != "" {
			t.Errorf("%s: %s %q", c.name, code, message)
		}
	}
}

// TestReadProducedBatchLimitsTheCompressedSize: 5 kB of zeros fit into 2,000 bytes with snappy, 5 kB of noise do not.
func TestReadProducedBatchLimitsTheCompressedSize(t *testing.T) {
	zeros := wire.AppendRecordBatch(nil, wire.BatchHeader{Codec: wire.CompressionSnappy}, []wire.Record{{Value: make([]byte, 5000)}})
	if _, code, _ := ReadProducedBatch(zeros, 7, BatchRules{BytesMax: 2000}); code != wire.None {
		t.Errorf("zeros: %s", code)
	}
	noise := make([]byte, 5000)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	random := wire.AppendRecordBatch(nil, wire.BatchHeader{Codec: wire.CompressionSnappy}, []wire.Record{{Value: noise}})
	if _, code, _ := ReadProducedBatch(random, 7, BatchRules{BytesMax: 2000}); code != wire.MessageTooLarge {
		t.Errorf("noise: %s", code)
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
			b, code, message := ReadProducedBatch(sent, 9, BatchRules{BytesMax: 1 << 20})
			if code != wire.None || b.MaxTimestamp() != 1007 || b.TimestampType() != wire.CreateTime || b.Check() != nil {
				t.Errorf("%s: %s %q", codec, code, message)
			}
		}
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
		batch, code, _ := ReadProducedBatch(records, 9, BatchRules{BytesMax: 1 << 20, Keys: compact})
		if (batch != nil) != (code == wire.None) {
			t.Fatalf("%d bytes of batch with %s", len(batch), code)
		}
		if code == wire.None && (batch.RecordCount() < 1 || batch.LastOffsetDelta() != batch.RecordCount()-1) {
			t.Fatalf("%d records over %d offsets", batch.RecordCount(), batch.LastOffsetDelta()+1)
		}
	})
}
