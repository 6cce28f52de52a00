package wire

import (
	"bytes"
	"errors"
	"testing"
)

// notMuch fails if f allocates more than factor bytes for each byte of src, and some fixed room.
func notMuch(t *testing.T, src []byte, factor int, f func()) {
	before := allocated()
	f()
	if grown := allocated() - before; grown > uint64(factor*len(src)+256<<10) {
		t.Errorf("%d bytes allocated for %d", grown, len(src))
	}
}

func FuzzReadRequestHeader(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x09\x00\x00\x00\x07\x00\x03abc\x00body"))
	f.Add([]byte("\x00\x12\x00\x63\x00\x00\x00\x07"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := ReadRequestHeader(frame)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
		if err != nil || h.Key == KeyApiVersions {
			return
		}
		// Without tags, which are skipped, writing the header again gives the same bytes.
		again := AppendRequestHeader(nil, h)
		if head := frame[:len(frame)-len(body)]; len(again) == len(head) && !bytes.Equal(again, head) {
			t.Errorf("%x came back as %x", head, again)
		}
	})
}

func FuzzProduceRequest(f *testing.F) {
	for i, line := range [][]byte{golden(f, "produce_request.txt"), {0, 0, 0, 0, 0, 0}} {
		f.Add(line, byte(13-i))
	}
	var r ProduceRequest
	f.Fuzz(func(t *testing.T, body []byte, v byte) {
		notMuch(t, body, 200, func() {
			if err := r.Read(body, APIVersion(v%14)); err != nil && !errors.Is(err, ErrMalformed) {
				t.Error(err)
			}
		})
	})
}

func FuzzFetchRequest(f *testing.F) {
	for i, line := range [][]byte{golden(f, "fetch_request.txt"), {0, 0, 0, 0, 0, 0}} {
		f.Add(line, byte(18-i))
	}
	var r FetchRequest
	f.Fuzz(func(t *testing.T, body []byte, v byte) {
		notMuch(t, body, 200, func() {
			if err := r.Read(body, APIVersion(v%19)); err != nil && !errors.Is(err, ErrMalformed) {
				t.Error(err)
			}
		})
	})
}

func FuzzFetchResponse(f *testing.F) {
	f.Add(golden(f, "fetch_response.txt"), byte(18))
	var r FetchResponseView
	f.Fuzz(func(t *testing.T, body []byte, v byte) {
		notMuch(t, body, 200, func() {
			if err := r.Read(body, APIVersion(v%19)); err != nil && !errors.Is(err, ErrMalformed) {
				t.Error(err)
			}
		})
	})
}

func FuzzRecordBatch(f *testing.F) {
	for _, name := range []string{"java-none.log", "java-gzip.log", "java-snappy.log", "java-lz4.log", "java-zstd.log", "kcat-snappy.log"} {
		f.Add(readCaptured(f, name))
	}
	dec := Decompressor{Limit: 1 << 20}
	f.Fuzz(func(t *testing.T, input []byte) {
		for src := bytes.Clone(input); len(src) > 0; { // the fuzzer's own bytes must stay as they are
			b, tail, err := ReadRecordBatch(src)
			if err != nil {
				ProduceErrorCode(err)
				return
			}
			fuzzBatch(t, b, &dec)
			src = tail
		}
	})
}

// fuzzBatch reads b as it is, and once more with a checksum that is right.
func fuzzBatch(t *testing.T, b RecordBatch, dec *Decompressor) {
	b.seal()
	if b.Check() != nil {
		return
	}
	b.LastSequence()
	b.CheckProduced()
	b.CheckRecords(dec, true)
	at, offset, err := b.FindMaxTimestamp(dec)
	var e *BatchError
	if err != nil && !errors.As(err, &e) {
		t.Errorf("error %v at %d, %d", err, at, offset)
	}
}

func FuzzDecompress(f *testing.F) {
	for _, codec := range codecsUnderTest {
		f.Add(new(Compressor).AppendTo(nil, codec, bytes.Repeat([]byte("fuzz "), 200)), byte(codec))
	}
	dec := Decompressor{Limit: 1 << 16}
	f.Fuzz(func(t *testing.T, src []byte, codec byte) {
		out, err := dec.Decompress(Compression(codec%6), src)
		if Compression(codec%6) != CompressionNone && len(out) > dec.Limit+1 {
			t.Errorf("%d bytes, error %v", len(out), err)
		}
	})
}

func FuzzRecords(f *testing.F) {
	f.Add([]byte(sample(CompressionNone)[RecordBatchOverhead:]), int32(2))
	f.Fuzz(func(t *testing.T, records []byte, count int32) {
		var recs []Record
		it, _ := withRecords(records, count).Records(nil)
		notMuch(t, records, 300, func() {
			for rec, ok := it.Next(); ok; rec, ok = it.Next() {
				rec.Headers = append([]RecordHeader(nil), rec.Headers...)
				recs = append(recs, rec)
			}
		})
		if it.Err() != nil {
			return
		}
		var again []byte
		for i := range recs {
			again = appendRecord(again, &recs[i], recs[i].OffsetDelta)
		}
		equal(t, "written and read again", collect(t, withRecords(again, count), nil), recs)
	})
}

// withRecords gives a batch that claims count records and holds those bytes.
func withRecords(records []byte, count int32) RecordBatch {
	return resealed(append(bytes.Clone(sample(CompressionNone)[:RecordBatchOverhead]), records...), func(b RecordBatch) {
		put32(batchLengthAt, int32(len(b)-LogOverhead))(b)
		put32(recordCountAt, count)(b)
		put32(lastOffsetDeltaAt, count-1)(b)
	})
}
