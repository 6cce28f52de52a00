package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of testdata/batches are segment files that Apache Kafka 4.1.1 stored, 40 records each; the name says which
// client produced them (Java 4.1.1 or librdkafka) and with which codec.

func readCaptured(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "batches", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func eachCaptured(t *testing.T, check func(t *testing.T, name string, data []byte)) {
	files, err := filepath.Glob("testdata/batches/*.log")
	if err != nil || len(files) != 11 {
		t.Fatalf("captured files: %v, error %v", files, err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		t.Run(name, func(t *testing.T) { check(t, name, readCaptured(t, name)) })
	}
}

// batchesOf splits data, which must be whole batches.
func batchesOf(t testing.TB, data []byte) (batches []RecordBatch) {
	t.Helper()
	for len(data) > 0 {
		b, tail, err := ReadRecordBatch(data)
		if err != nil {
			t.Fatal(err)
		}
		batches, data = append(batches, b), tail
	}
	return batches
}

func TestCapturedBatches(t *testing.T) {
	eachCaptured(t, func(t *testing.T, name string, data []byte) {
		next, codecs := Offset(0), map[Compression]bool{}
		for _, b := range batchesOf(t, data) {
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			equal(t, "base offset", b.BaseOffset(), next)
			it, err := b.Records(nil)
			if err != nil {
				t.Fatal(err)
			}
			for rec, ok := it.Next(); ok; rec, ok = it.Next() {
				checkCapturedRecord(t, name, b, rec, next)
				next++
			}
			if it.Err() != nil {
				t.Fatal(it.Err())
			}
			equal(t, "next offset", b.NextOffset(), next)
			codecs[b.Codec()] = true
		}
		equal(t, "records", next, Offset(40))
		_, codec, _ := strings.Cut(strings.TrimSuffix(name, ".log"), "-")
		if c, ok := parseCompression(codec); ok && !codecs[c] {
			t.Errorf("no batch of codec %s: %v", c, codecs)
		}
	})
}

func checkCapturedRecord(t *testing.T, name string, b RecordBatch, rec Record, offset Offset) {
	i := int(offset) + 1
	key, value := []byte(fmt.Sprintf("key-%d", i)), []byte(fmt.Sprintf("value number %d of a captured batch, which repeats itself and repeats itself", i))
	headers := []RecordHeader{{[]byte("origin"), []byte("kcat")}, {[]byte("empty"), []byte{}}}
	if strings.HasPrefix(name, "java") {
		headers = []RecordHeader{{[]byte("origin"), []byte("java")}, {[]byte("null"), nil}}
		switch i {
		case 3:
			key = nil
		case 5:
			value = nil
		}
		equal(t, "timestamp", b.RecordTimestamp(rec), Timestamp(1700000000000+(i*7)%40))
	}
	equal(t, "record", rec, Record{OffsetDelta: int32(offset - b.BaseOffset()), TimestampDelta: rec.TimestampDelta,
		Key: key, Value: value, Headers: headers})
}

func TestAppendTimeOfCapturedBatch(t *testing.T) {
	for _, b := range batchesOf(t, readCaptured(t, "kcat-append-time.log")) {
		equal(t, "type", b.TimestampType(), LogAppendTime)
		if at, offset, err := b.FindMaxTimestamp(nil); at != b.MaxTimestamp() || offset != b.BaseOffset() || err != nil {
			t.Errorf("max timestamp %d at %d, error %v", at, offset, err)
		}
	}
	// What SetAppendTime makes of the same records must be what Kafka made of them.
	for i, b := range batchesOf(t, readCaptured(t, "kcat-append-time.log")) {
		undone := bytes.Clone(b)
		RecordBatch(undone).SetCreateTime(5)
		RecordBatch(undone).SetAppendTime(b.MaxTimestamp())
		if !bytes.Equal(undone, b) {
			t.Errorf("batch %d differs", i)
		}
	}
}

func TestFindMaxTimestamp(t *testing.T) {
	b := batchesOf(t, readCaptured(t, "java-zstd.log"))[0]
	// (i*7)%40 is greatest, 39, for i = 17: offset 16.
	at, offset, err := b.FindMaxTimestamp(nil)
	if at != 1700000000039 || offset != 16 || err != nil || at != b.MaxTimestamp() {
		t.Errorf("max timestamp %d at %d, header says %d, error %v", at, offset, b.MaxTimestamp(), err)
	}
	b.SetMaxTimestamp(NoTimestamp)
	if at, _, _ := b.FindMaxTimestamp(nil); at != 1700000000039 || b.MaxTimestamp() != NoTimestamp {
		t.Errorf("max timestamp %d with an unset header", at)
	}
}

// sample is a batch of two records.
func sample(codec Compression) RecordBatch {
	return AppendRecordBatch(nil, BatchHeader{Codec: codec, BaseTimestamp: 100}, []Record{
		{Key: []byte("k"), Value: []byte("v")}, {TimestampDelta: 3, Headers: []RecordHeader{{Key: []byte("h")}}}})
}

// resealed gives a copy of b with change applied and a checksum that is right again.
func resealed(b RecordBatch, change func(b RecordBatch)) RecordBatch {
	c := RecordBatch(bytes.Clone(b))
	change(c)
	c.seal()
	return c
}

func put32(at int, v int32) func(RecordBatch) {
	return func(b RecordBatch) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}

func TestCheckRefuses(t *testing.T) {
	cases := []struct {
		name   string
		reason BatchReason
		code   ErrorCode
		change func(b RecordBatch)
	}{
		{"magic", BatchMagic, InvalidRecord, func(b RecordBatch) { b[magicAt] = 1 }},
		{"length", BatchLength, CorruptMessage, put32(batchLengthAt, 50)},
		{"codec", BatchCodec, InvalidRecord, func(b RecordBatch) { b[attributesAt+1] = 5 }},
		{"negative count", BatchCount, InvalidRecord, put32(recordCountAt, -1)},
		{"negative last delta", BatchLastOffsetDelta, InvalidRecord, put32(lastOffsetDeltaAt, -1)},
		{"fewer offsets than records", BatchLastOffsetDelta, InvalidRecord, put32(lastOffsetDeltaAt, 0)},
		{"gap", BatchNotDense, InvalidRecord, put32(lastOffsetDeltaAt, 2)},
		{"no records", BatchNotDense, InvalidRecord, put32(recordCountAt, 0)},
		{"magic 3", BatchMagic, CorruptMessage, func(b RecordBatch) { b[magicAt] = 3 }},
		{"base offset", BatchBaseOffset, InvalidRecord, func(b RecordBatch) { b.SetBaseOffset(77) }},
		{"control", BatchControl, InvalidRecord, func(b RecordBatch) { b[attributesAt+1] |= controlBit }},
		{"no sequence", BatchSequence, InvalidRecord, func(b RecordBatch) { binary.BigEndian.PutUint64(b[producerIDAt:], 5) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := resealed(sample(CompressionNone), c.change)
			var e *BatchError
			err := b.CheckProduced()
			if !errors.As(err, &e) || e.Reason != c.reason || e.BaseOffset != b.BaseOffset() || ProduceErrorCode(err) != c.code {
				t.Errorf("got %v, %s, want %v", err, ProduceErrorCode(err), c.reason)
			}
		})
	}
}

// The codes are those of Apache Kafka 4.1.1 for the same bytes.
func TestReadProduced(t *testing.T) {
	one := sample(CompressionNone)
	noKey := resealed(AppendRecordBatch(nil, BatchHeader{}, []Record{{Key: []byte("k")}, {}}), func(RecordBatch) {})
	damaged := bytes.Clone(one)
	damaged[RecordBatchOverhead+3] ^= 1
	for name, c := range map[string]struct {
		records []byte
		code    ErrorCode
	}{
		"one": {one, None}, "none": {nil, InvalidRecord}, "two": {append(bytes.Clone(one), one...), InvalidRecord},
		"a fragment follows": {append(bytes.Clone(one), 1, 2, 3), None}, "cut short": {one[:len(one)-1], InvalidRecord},
		"damaged": {damaged, CorruptMessage}, "null key": {noKey, None},
	} {
		if b, err := ReadProduced(c.records); ProduceErrorCode(err) != c.code || err == nil && b == nil {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	equal(t, "other errors", ProduceErrorCode(errors.New("else")), UnknownServerError)
}

func TestCheckRecords(t *testing.T) {
	for codec := CompressionNone; codec <= CompressionZstd; codec++ {
		if err := sample(codec).CheckRecords(nil, false); err != nil {
			t.Errorf("%s: %v", codec, err)
		}
		var e *BatchError
		if err := sample(codec).CheckRecords(nil, true); !errors.As(err, &e) || e.Reason != BatchKey || e.Value != 1 || !slices.Equal(e.Records, []int32{1}) {
			t.Errorf("%s without a key: %v", codec, err)
		}
	}
	var builder BatchBuilder
	builder.Reset(nil, BatchHeader{})
	builder.Add(Record{})
	builder.AddAt(Record{OffsetDelta: 2})
	var e *BatchError
	if err := RecordBatch(builder.Finish()).CheckRecords(nil, false); !errors.As(err, &e) || e.Reason != BatchOffsetDelta || e.Value != 1 {
		t.Errorf("gap: %v", err)
	}
}

func TestCheckAcceptsWhatCompactionLeaves(t *testing.T) {
	for _, change := range []func(RecordBatch){put32(lastOffsetDeltaAt, 2), put32(recordCountAt, 0),
		func(b RecordBatch) { b[attributesAt+1] |= controlBit }} {
		if err := resealed(sample(CompressionNone), change).Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckFindsEveryFlippedBit(t *testing.T) {
	whole := sample(CompressionNone)
	for bit := crcAt * 8; bit < len(whole)*8; bit++ {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		if RecordBatch(b).Check() == nil {
			t.Errorf("bit %d of byte %d", bit%8, bit/8)
		}
	}
}

// A header alone, of any codec, that claims 2³¹-1 records: nobody may believe it, nor make room for them.
func TestHugeCountInEmptyBatch(t *testing.T) {
	for codec := CompressionNone; codec <= CompressionZstd; codec++ {
		b := resealed(sample(codec)[:RecordBatchOverhead], func(b RecordBatch) {
			put32(batchLengthAt, RecordBatchOverhead-LogOverhead)(b)
			put32(recordCountAt, math.MaxInt32)(b)
			put32(lastOffsetDeltaAt, math.MaxInt32-1)(b)
		})
		var e *BatchError
		if err := b.CheckProduced(); len(b) != 61 || !errors.As(err, &e) || e.Reason != BatchCount {
			t.Errorf("%s: %v", codec, err)
		}
	}
}

func TestReadRecordBatchShort(t *testing.T) {
	src := append(bytes.Clone(sample(CompressionNone)), sample(CompressionGzip)...)
	first := len(sample(CompressionNone))
	for n := range len(src) {
		b, tail, err := ReadRecordBatch(src[:n])
		if n < first {
			if err != ErrShortBatch || len(tail) != n {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil || len(b) != first || len(tail) != n-first {
			t.Fatalf("%d bytes: batch of %d, tail of %d, error %v", n, len(b), len(tail), err)
		}
		if _, _, err := ReadRecordBatch(tail); err != ErrShortBatch {
			t.Fatalf("truncated trailing batch of %d bytes: %v", len(tail), err)
		}
	}
}

func TestReadRecordBatchRefuses(t *testing.T) {
	for name, change := range map[string]func(RecordBatch){
		"magic 1": func(b RecordBatch) { b[magicAt] = 1 }, "length 0": put32(batchLengthAt, 0),
		"length -1": put32(batchLengthAt, -1), "length 48": put32(batchLengthAt, 48)} {
		b := sample(CompressionNone)
		change(b)
		var e *BatchError
		if _, _, err := ReadRecordBatch(b); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := sample(CompressionNone)
	put32(batchLengthAt, math.MaxInt32)(b)
	if _, _, err := ReadRecordBatch(b); err != ErrShortBatch {
		t.Errorf("length 2³¹-1: %v", err)
	}
}

func TestAccessors(t *testing.T) {
	b := RecordBatch(AppendRecordBatch(nil, BatchHeader{BaseOffset: 1 << 40, PartitionLeaderEpoch: 3, Codec: CompressionZstd,
		TimestampType: LogAppendTime, BaseTimestamp: 1000, Transactional: true, Control: true, DeleteHorizon: true,
		Idempotent: true, ProducerID: 9, ProducerEpoch: 2, BaseSequence: math.MaxInt32}, []Record{{TimestampDelta: 5}, {TimestampDelta: -7}}))
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	equal(t, "offsets", [...]Offset{b.BaseOffset(), b.LastOffset(), b.NextOffset()}, [...]Offset{1 << 40, 1<<40 + 1, 1<<40 + 2})
	equal(t, "length", b.Length(), len(b))
	equal(t, "epoch, magic, attributes", [...]int{int(b.PartitionLeaderEpoch()), int(b.Magic()), int(b.Attributes())}, [...]int{3, 2, 0x7c})
	equal(t, "flags", [...]bool{b.IsTransactional(), b.IsControl(), b.HasDeleteHorizon()}, [...]bool{true, true, true})
	equal(t, "timestamps", [...]Timestamp{b.BaseTimestamp(), b.MaxTimestamp()}, [...]Timestamp{1000, 1005})
	equal(t, "producer", [...]int64{int64(b.ProducerID()), int64(b.ProducerEpoch()), int64(b.BaseSequence())}, [...]int64{9, 2, math.MaxInt32})
	equal(t, "last sequence wraps", b.LastSequence(), Sequence(0))
	equal(t, "counts", [...]int32{b.RecordCount(), b.LastOffsetDelta()}, [...]int32{2, 1})
	crc := b.CRC()
	b.SetBaseOffset(77)
	b.SetPartitionLeaderEpoch(8)
	if b.Check() != nil || b.CRC() != crc || b.BaseOffset() != 77 || b.PartitionLeaderEpoch() != 8 {
		t.Error("base offset and epoch must lie outside the checksum")
	}
	equal(t, "no sequence", sample(CompressionNone).LastSequence(), NoSequence)
}

func TestSequenceAdd(t *testing.T) {
	for _, c := range []struct {
		s    Sequence
		n    int32
		want Sequence
	}{{0, 0, 0}, {5, 3, 8}, {math.MaxInt32, 0, math.MaxInt32}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 1, 5, 3}, {math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1}} {
		equal(t, fmt.Sprint(c.s, "+", c.n), c.s.Add(c.n), c.want)
	}
}
