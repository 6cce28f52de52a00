package wire

// Record is one record of a batch of magic 2. Its slices are views of the batch, or of the decompressor's buffer, and
// Headers is reused: all of it is valid until the next call of the iterator that gave it.
type Record struct {
	OffsetDelta    int32
	TimestampDelta int64
	Key            []byte // nil if null
	Value          []byte // nil if null: a tombstone in a compacted topic
	Headers        []RecordHeader
}

// RecordHeader is one header of a record.
type RecordHeader struct {
	Key   []byte
	Value []byte // nil if null
}

// recordSizeMin is the smallest record in bytes: length, attributes, timestamp delta, offset delta, a null key, a null
// value, no headers.
const recordSizeMin = 7

// RecordIterator reads a batch's records one by one. Layout of a record (org.apache.kafka.common.record.DefaultRecord);
// every number is a zig-zag varint, -1 the length of null:
//
//	Length | Attributes int8 (unused) | TimestampDelta | OffsetDelta | KeyLength Key | ValueLength Value |
//	HeaderCount | { KeyLength Key | ValueLength Value } ...
type RecordIterator struct {
	batch   RecordBatch
	src     []byte // the records, uncompressed
	at      int
	index   int32 // of the next record
	headers []RecordHeader
	err     error
}

// Records gives an iterator over the batch's records. A compressed batch is unfolded into dec's buffer, within dec's
// limit, so the iterator and its records are valid until dec is used again; a nil dec means one made for this batch alone.
// The error, a *BatchError, says that the codec's stream cannot be unfolded.
func (b RecordBatch) Records(dec *Decompressor) (RecordIterator, error) {
	it := RecordIterator{batch: b, src: b.payload()}
	if b.Codec() == CompressionNone {
		return it, nil
	}
	if dec == nil {
		dec = new(Decompressor)
	}
	src, err := dec.Decompress(b.Codec(), b.payload())
	if err != nil {
		return it, &BatchError{Reason: BatchDecompress, BaseOffset: b.BaseOffset(), Value: int64(b.Codec()), Err: err}
	}
	it.src = src
	return it, nil
}

// Next gives the next record; ok is false at the end or after a fault, which Err tells apart.
func (it *RecordIterator) Next() (rec Record, ok bool) {
	if it.err != nil {
		return Record{}, false
	}
	if it.index >= it.batch.RecordCount() {
		if it.at != len(it.src) {
			it.fail()
		}
		return Record{}, false
	}
	n, size := varint32(it.src[it.at:])
	if size <= 0 || n < recordSizeMin-1 || int(n) > len(it.src)-it.at-size {
		it.fail()
		return Record{}, false
	}
	body := it.src[it.at+size : it.at+size+int(n)]
	it.at += size + int(n)
	if !it.read(&rec, body) {
		it.fail()
		return Record{}, false
	}
	it.index++
	return rec, true
}

// Err is nil if Next stopped at the batch's end, else a *BatchError with the index of the record that is malformed (or
// the record count, where bytes are left over).
func (it *RecordIterator) Err() error { return it.err }

func (it *RecordIterator) fail() { it.err = it.batch.fault(BatchRecord, int64(it.index)) }

// read takes body, a record without its length, apart. It must be used up to its last byte.
func (it *RecordIterator) read(rec *Record, body []byte) bool {
	in := recordReader{src: body[1:]} // past the attributes
	rec.TimestampDelta = in.varint64()
	rec.OffsetDelta = in.varint32()
	rec.Key = in.nullable()
	rec.Value = in.nullable()
	count := int(in.varint32())
	// A header takes at least two bytes.
	if in.bad || count < 0 || count > len(in.src)/2 {
		return false
	}
	it.headers = it.headers[:0]
	for ; count > 0 && !in.bad; count-- {
		key := in.nullable()
		in.bad = in.bad || key == nil
		it.headers = append(it.headers, RecordHeader{Key: key, Value: in.nullable()})
	}
	if len(it.headers) > 0 {
		rec.Headers = it.headers
	}
	return !in.bad && len(in.src) == 0
}

// recordReader reads varints and varint-prefixed bytes from the front of src; the first fault sticks.
type recordReader struct {
	src []byte
	bad bool
}

func (r *recordReader) varint32() int32 {
	v, n := varint32(r.src)
	if n <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *recordReader) varint64() int64 {
	v, n := varint64(r.src)
	if n <= 0 || r.bad {
		r.bad = true
		return 0
	}
	r.src = r.src[n:]
	return v
}

// nullable reads bytes, nil if null.
func (r *recordReader) nullable() []byte {
	n := int(r.varint32())
	if n == -1 || r.bad {
		return nil
	}
	if n < -1 || n > len(r.src) {
		r.bad = true
		return nil
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

// appendRecord is the counterpart of RecordIterator.read, with the record's length in front.
func appendRecord(dst []byte, rec *Record, offsetDelta int32) []byte {
	dst = appendVarint(dst, int64(recordBodySize(rec, offsetDelta)))
	dst = append(dst, 0) // attributes
	dst = appendVarint(dst, rec.TimestampDelta)
	dst = appendVarint(dst, int64(offsetDelta))
	dst = appendNullable(dst, rec.Key)
	dst = appendNullable(dst, rec.Value)
	dst = appendVarint(dst, int64(len(rec.Headers)))
	for i := range rec.Headers {
		dst = appendVarint(dst, int64(len(rec.Headers[i].Key)))
		dst = append(dst, rec.Headers[i].Key...)
		dst = appendNullable(dst, rec.Headers[i].Value)
	}
	return dst
}

func recordBodySize(rec *Record, offsetDelta int32) int {
	size := 1 + varintSize(rec.TimestampDelta) + varintSize(int64(offsetDelta))
	size += nullableSize(rec.Key) + nullableSize(rec.Value) + varintSize(int64(len(rec.Headers)))
	for i := range rec.Headers {
		h := &rec.Headers[i]
		size += varintSize(int64(len(h.Key))) + len(h.Key) + nullableSize(h.Value)
	}
	return size
}

func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return appendVarint(dst, -1)
	}
	return append(appendVarint(dst, int64(len(b))), b...)
}

func nullableSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

// RecordTimestamp is the time of rec, a record of b.
func (b RecordBatch) RecordTimestamp(rec Record) Timestamp {
	if b.TimestampType() == LogAppendTime {
		return b.MaxTimestamp()
	}
	return b.BaseTimestamp() + Timestamp(rec.TimestampDelta)
}

// FindMaxTimestamp reads the records for the greatest timestamp and the offset of the first record that has it;
// NoTimestamp and NoOffset if there is no record. dec is as for Records; the errors are *BatchError.
func (b RecordBatch) FindMaxTimestamp(dec *Decompressor) (at Timestamp, offset Offset, err error) {
	at, offset = NoTimestamp, NoOffset
	it, err := b.Records(dec)
	if err != nil {
		return at, offset, err
	}
	for rec, ok := it.Next(); ok; rec, ok = it.Next() {
		if t := b.RecordTimestamp(rec); offset == NoOffset || t > at {
			at, offset = t, b.BaseOffset()+Offset(rec.OffsetDelta)
		}
	}
	return at, offset, it.Err()
}
