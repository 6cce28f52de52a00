package wire

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// randomRecords gives records with null, empty and other keys, values and headers.
func randomRecords(r random, n int) []Record {
	maybe := func() []byte {
		if r.coin() {
			return nil
		}
		return r.bytes()
	}
	recs := make([]Record, n)
	for i := range recs {
		recs[i] = Record{OffsetDelta: int32(i), TimestampDelta: int64(r.IntN(2000)) - 1000, Key: maybe(), Value: maybe()}
		for range r.count() % 4 {
			recs[i].Headers = append(recs[i].Headers, RecordHeader{Key: append([]byte{}, r.bytes()...), Value: maybe()})
		}
	}
	return recs
}

// collect reads all records of b; copies of them.
func collect(t *testing.T, b RecordBatch, dec *Decompressor) (recs []Record) {
	t.Helper()
	it, err := b.Records(dec)
	if err != nil {
		t.Fatal(err)
	}
	for rec, ok := it.Next(); ok; rec, ok = it.Next() {
		rec.Headers = append([]RecordHeader(nil), rec.Headers...)
		recs = append(recs, rec)
	}
	if it.Err() != nil {
		t.Fatal(it.Err())
	}
	return recs
}

func TestRecordsRoundTrip(t *testing.T) {
	var dec Decompressor
	for codec := CompressionNone; codec <= CompressionZstd; codec++ {
		for seed := range uint64(20) {
			r := random{rand.New(rand.NewPCG(seed, uint64(codec)))}
			want := randomRecords(r, 1+r.IntN(200))
			b := RecordBatch(AppendRecordBatch(nil, BatchHeader{Codec: codec, BaseTimestamp: 5000}, want))
			if err := b.CheckProduced(); err != nil {
				t.Fatalf("%s: %v", codec, err)
			}
			equal(t, codec.String(), collect(t, b, &dec), want)
		}
	}
}

func TestRecordBatchAgreesWithKmsg(t *testing.T) {
	for seed := range uint64(50) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		recs := randomRecords(r, 1+r.IntN(50))
		h := BatchHeader{BaseOffset: Offset(r.int64()), PartitionLeaderEpoch: LeaderEpoch(r.int32()), BaseTimestamp: 1700000000000,
			Idempotent: r.coin(), ProducerID: 5, ProducerEpoch: 6, BaseSequence: 7, Transactional: r.coin(), Control: r.coin()}
		b := RecordBatch(AppendRecordBatch(nil, h, recs))
		k := kmsg.RecordBatch{FirstOffset: int64(h.BaseOffset), Length: int32(len(b) - LogOverhead), PartitionLeaderEpoch: int32(h.PartitionLeaderEpoch),
			Magic: 2, CRC: int32(crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli))), Attributes: b.Attributes(),
			LastOffsetDelta: int32(len(recs) - 1), FirstTimestamp: 1700000000000, MaxTimestamp: int64(b.MaxTimestamp()),
			ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: int32(len(recs)), Records: kmsgRecords(recs)}
		if h.Idempotent {
			k.ProducerID, k.ProducerEpoch, k.FirstSequence = 5, 6, 7
		}
		equalBytes(t, b, k.AppendTo(nil))
	}
}

func kmsgRecords(recs []Record) (out []byte) {
	for i, rec := range recs {
		k := kmsg.Record{TimestampDelta64: rec.TimestampDelta, OffsetDelta: int32(i), Key: rec.Key, Value: rec.Value}
		for _, h := range rec.Headers {
			k.Headers = append(k.Headers, kmsg.Header{Key: string(h.Key), Value: h.Value})
		}
		k.Length = int32(recordBodySize(&rec, int32(i)))
		out = k.AppendTo(out)
	}
	return out
}

func TestRecordExtremes(t *testing.T) {
	want := []Record{{TimestampDelta: math.MinInt64}, {OffsetDelta: 1, TimestampDelta: math.MaxInt64, Key: []byte{}, Value: []byte{}}}
	equal(t, "records", collect(t, AppendRecordBatch(nil, BatchHeader{}, want), nil), want)

	var b BatchBuilder
	b.Reset([]byte("before"), BatchHeader{BaseOffset: 10})
	b.AddAt(Record{OffsetDelta: 3})
	b.AddAt(Record{OffsetDelta: math.MaxInt32 - 1})
	sparse := RecordBatch(b.FinishAt(math.MaxInt32)[len("before"):])
	if sparse.Check() != nil || sparse.LastOffsetDelta() != math.MaxInt32 || sparse.RecordCount() != 2 {
		t.Errorf("sparse batch: %v, last %d", sparse.Check(), sparse.LastOffsetDelta())
	}
	equal(t, "kept deltas", collect(t, sparse, nil)[1].OffsetDelta, int32(math.MaxInt32-1))

	b.Reset(nil, BatchHeader{Codec: CompressionZstd})
	empty := RecordBatch(b.FinishAt(4))
	if empty.Check() != nil || len(collect(t, empty, nil)) != 0 || empty.MaxTimestamp() != NoTimestamp || empty.NextOffset() != 5 {
		t.Errorf("empty batch: %v", empty.Check())
	}
}

func TestBuilderFaults(t *testing.T) {
	for name, f := range map[string]func(b *BatchBuilder){
		"no record":      func(b *BatchBuilder) { b.Finish() },
		"last too low":   func(b *BatchBuilder) { b.AddAt(Record{OffsetDelta: 4}); b.FinishAt(3) },
		"deltas fall":    func(b *BatchBuilder) { b.Add(Record{}); b.AddAt(Record{}) },
		"unknown codec":  func(b *BatchBuilder) { b.Reset(nil, BatchHeader{Codec: 5}) },
		"unknown packer": func(b *BatchBuilder) { new(Compressor).AppendTo(nil, 7, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			var b BatchBuilder
			b.Reset(nil, BatchHeader{})
			f(&b)
		})
	}
}

// Every way to damage a record must end in an error that names it, and none in a panic.
func TestIteratorRefuses(t *testing.T) {
	good := appendRecord(nil, &Record{Key: []byte("key"), Headers: []RecordHeader{{Key: []byte("h"), Value: []byte("v")}}}, 0)
	cases := map[string][]byte{
		"nothing":              {},
		"ends in the length":   {0x80},
		"length zero":          {0},
		"negative length":      {1},
		"length beyond end":    append([]byte{0x7e}, good[1:]...),
		"length of 6 bytes":    {0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"bytes after the last": append(bytes.Clone(good), 0),
		"bytes in the record":  append([]byte{good[0] + 2}, append(bytes.Clone(good[1:]), 0)...),
		"key below null":       {12, 0, 0, 0, 3, 1, 0},
		"key beyond record":    {12, 0, 0, 0, 100, 1, 0},
		"negative headers":     {12, 0, 0, 0, 1, 1, 1},
		"too many headers":     {12, 0, 0, 0, 1, 1, 100},
		"null header key":      {16, 0, 0, 0, 1, 1, 2, 1, 1},
	}
	for name, records := range cases {
		t.Run(name, func(t *testing.T) {
			it, _ := withRecords(records, 1).Records(nil)
			for _, ok := it.Next(); ok; _, ok = it.Next() {
			}
			var e *BatchError
			if !errors.As(it.Err(), &e) || e.Reason != BatchRecord {
				t.Errorf("error %v", it.Err())
			}
			if _, ok := it.Next(); ok {
				t.Error("a record after the error")
			}
		})
	}
}

func TestVarints(t *testing.T) {
	for _, v := range []int64{0, -1, 1, 63, -64, 64, 8191, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1 << 40} {
		b := appendVarint(nil, v)
		if got, n := varint64(b); got != v || n != len(b) || varintSize(v) != n {
			t.Errorf("%d: read %d of %d bytes %x", v, got, n, b)
		}
		got, n := varint32(b)
		if fits := v == int64(int32(v)); fits && (int64(got) != v || n != len(b)) || !fits && n > 0 {
			t.Errorf("%d as 32 bits: %d, %d", v, got, n)
		}
		for short := range b {
			if _, n := varint64(b[:short]); n != 0 {
				t.Errorf("%d cut to %d bytes: %d", v, short, n)
			}
		}
	}
	for _, u := range []uint32{0, 1, 127, 128, 16383, 16384, math.MaxUint32} {
		b := appendUvarint(nil, u)
		if got, n := uvarint32(b); got != u || n != len(b) || uvarintSize(u) != n {
			t.Errorf("%d: %d of %d", u, got, n)
		}
	}
	for _, b := range [][]byte{{0xff, 0xff, 0xff, 0xff, 0x10}, bytes.Repeat([]byte{0x80}, 20)} {
		if _, n := uvarint32(b); n != -1 {
			t.Errorf("%x: %d", b, n)
		}
	}
	for _, b := range [][]byte{append(bytes.Repeat([]byte{0xff}, 9), 2), bytes.Repeat([]byte{0x80}, 20)} {
		if _, n := uvarint64(b); n != -1 {
			t.Errorf("%x: %d", b, n)
		}
	}
}

// parseCompression reads what String writes.
func parseCompression(name string) (Compression, bool) {
	for i := range codecs {
		if codecs[i].name == name {
			return Compression(i), true
		}
	}
	return 0, false
}

func TestCompressionNames(t *testing.T) {
	for codec := CompressionNone; codec <= CompressionZstd; codec++ {
		if got, ok := parseCompression(codec.String()); !ok || got != codec {
			t.Errorf("%s: %v", codec, got)
		}
	}
	if _, ok := parseCompression("brotli"); ok || Compression(5).String() != "unknown" {
		t.Error("unknown codecs must be unknown")
	}
	equal(t, "timestamp types", fmt.Sprint(CreateTime, LogAppendTime), "CreateTime LogAppendTime")
}
