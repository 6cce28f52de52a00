package wire

import (
	"encoding/binary"
	"math"
)

// BatchHeader is what the builder of a batch decides; lengths, counts, checksum and the greatest timestamp follow from the
// records. The zero value makes an uncompressed batch at offset 0 without a producer.
type BatchHeader struct {
	BaseOffset           Offset
	PartitionLeaderEpoch LeaderEpoch
	Codec                Compression
	TimestampType        TimestampType
	BaseTimestamp        Timestamp
	Transactional        bool
	Control              bool
	DeleteHorizon        bool // BaseTimestamp is the delete horizon (KIP-534)

	// Idempotent says that the three fields below count; otherwise the batch carries -1 in each.
	Idempotent    bool
	ProducerID    ProducerID
	ProducerEpoch ProducerEpoch
	BaseSequence  Sequence
}

func (h *BatchHeader) attributes() uint16 {
	a := uint16(h.Codec)
	if h.TimestampType == LogAppendTime {
		a |= logAppendTimeBit
	}
	if h.Transactional {
		a |= transactionalBit
	}
	if h.Control {
		a |= controlBit
	}
	if h.DeleteHorizon {
		a |= deleteHorizonBit
	}
	return a
}

// BatchBuilder builds one batch after the other: Reset, Add, ..., Finish. It keeps its buffers, so a steady builder
// allocates nothing for uncompressed batches.
type BatchBuilder struct {
	header  BatchHeader
	dst     []byte
	start   int    // of the batch in dst
	records []byte // uncompressed, where they are to be compressed
	count   int32
	last    int32 // the last offset delta
	max     Timestamp
	packer  *Compressor
}

// Reset starts a batch that is appended to dst.
func (b *BatchBuilder) Reset(dst []byte, h BatchHeader) {
	if !h.Codec.known() {
		panic("BUG: unknown codec in BatchHeader")
	}
	b.header, b.start, b.records = h, len(dst), b.records[:0]
	b.count, b.last, b.max = 0, -1, math.MinInt64
	var blank [RecordBatchOverhead]byte
	b.dst = append(dst, blank[:]...)
}

// Add appends rec with the offset that follows the last one's; rec.OffsetDelta is not looked at.
func (b *BatchBuilder) Add(rec Record) { b.add(&rec, b.last+1) }

// AddAt appends rec with its own OffsetDelta, which must be above the last one's: compaction leaves gaps.
func (b *BatchBuilder) AddAt(rec Record) {
	if rec.OffsetDelta <= b.last {
		panic("BUG: offset deltas of a batch must rise")
	}
	b.add(&rec, rec.OffsetDelta)
}

func (b *BatchBuilder) add(rec *Record, delta int32) {
	if b.header.Codec == CompressionNone {
		b.dst = appendRecord(b.dst, rec, delta)
	} else {
		b.records = appendRecord(b.records, rec, delta)
	}
	b.count++
	b.last = delta
	b.max = max(b.max, b.header.BaseTimestamp+Timestamp(rec.TimestampDelta))
}

// RecordCount is how many records were added since Reset.
func (b *BatchBuilder) RecordCount() int { return int(b.count) }

// Size is the bytes of the batch so far, before compression.
func (b *BatchBuilder) Size() int { return len(b.dst) - b.start + len(b.records) }

// Finish writes the header and gives dst with the batch appended. At least one record must have been added.
func (b *BatchBuilder) Finish() []byte { return b.FinishAt(b.last) }

// FinishAt is Finish with a last offset delta that may lie beyond the last record's, or without any record: what is left
// of a batch whose tail was compacted away.
func (b *BatchBuilder) FinishAt(lastOffsetDelta int32) []byte {
	if lastOffsetDelta < 0 || lastOffsetDelta < b.last {
		panic("BUG: a batch needs a record, or a last offset delta that covers its records")
	}
	if b.header.Codec != CompressionNone {
		if b.packer == nil {
			b.packer = new(Compressor)
		}
		b.dst = b.packer.AppendTo(b.dst, b.header.Codec, b.records)
	}
	if b.count == 0 {
		b.max = NoTimestamp
	}
	b.putHeader(RecordBatch(b.dst[b.start:]), lastOffsetDelta)
	dst := b.dst
	b.dst = nil
	return dst
}

func (b *BatchBuilder) putHeader(batch RecordBatch, lastOffsetDelta int32) {
	h, be := &b.header, binary.BigEndian
	producer, epoch, sequence := NoProducerID, NoProducerEpoch, NoSequence
	if h.Idempotent {
		producer, epoch, sequence = h.ProducerID, h.ProducerEpoch, h.BaseSequence
	}
	batch.SetBaseOffset(h.BaseOffset)
	be.PutUint32(batch[batchLengthAt:], uint32(len(batch)-LogOverhead))
	batch.SetPartitionLeaderEpoch(h.PartitionLeaderEpoch)
	batch[magicAt] = byte(batchMagic)
	be.PutUint16(batch[attributesAt:], h.attributes())
	be.PutUint32(batch[lastOffsetDeltaAt:], uint32(lastOffsetDelta))
	be.PutUint64(batch[baseTimestampAt:], uint64(h.BaseTimestamp))
	be.PutUint64(batch[maxTimestampAt:], uint64(b.max))
	be.PutUint64(batch[producerIDAt:], uint64(producer))
	be.PutUint16(batch[producerEpochAt:], uint16(epoch))
	be.PutUint32(batch[baseSequenceAt:], uint32(sequence))
	be.PutUint32(batch[recordCountAt:], uint32(b.count))
	batch.seal()
}

// AppendRecordBatch appends a batch of recs to dst. Their offsets are BaseOffset, BaseOffset+1, ...; their OffsetDelta is
// not looked at (BatchBuilder.AddAt keeps it). recs must not be empty.
func AppendRecordBatch(dst []byte, h BatchHeader, recs []Record) []byte {
	var b BatchBuilder
	b.Reset(dst, h)
	for i := range recs {
		b.add(&recs[i], int32(i))
	}
	return b.Finish()
}
