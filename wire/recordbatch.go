package wire

import "encoding/binary"

// RecordBatch is a view over one record batch of magic 2, from its base offset to its last record's last byte. It aliases
// the bytes it was read from; the setters write through. Layout (org.apache.kafka.common.record.DefaultRecordBatch), big
// endian:
//
//	 0 BaseOffset           int64
//	 8 BatchLength          int32   bytes after this field
//	12 PartitionLeaderEpoch int32   outside the CRC, so a leader can set it
//	16 Magic                int8    2
//	17 CRC                  uint32  CRC-32C of everything from Attributes on
//	21 Attributes           int16   0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete horizon
//	23 LastOffsetDelta      int32
//	27 BaseTimestamp        int64   or the delete horizon, where bit 6 is set
//	35 MaxTimestamp         int64
//	43 ProducerID           int64
//	51 ProducerEpoch        int16
//	53 BaseSequence         int32
//	57 RecordCount          int32
//	61 Records              one codec's stream, or the records as they are
//
// The accessors trust the length, so a RecordBatch comes from ReadRecordBatch or from AppendRecordBatch, never from a
// conversion of bytes that nobody measured.
type RecordBatch []byte

// Positions in a batch, in bytes.
const (
	// LogOverhead is the base offset and the length: what must be read to know how long a batch is.
	LogOverhead = 12
	// RecordBatchOverhead is the whole header; the shortest batch has this length.
	RecordBatchOverhead = 61

	batchLengthAt          = 8
	leaderEpochAt          = 12
	magicAt                = 16
	crcAt                  = 17
	attributesAt           = 21
	lastOffsetDeltaAt      = 23
	baseTimestampAt        = 27
	maxTimestampAt         = 35
	producerIDAt           = 43
	producerEpochAt        = 51
	baseSequenceAt         = 53
	recordCountAt          = 57
	batchMagic        int8 = 2
)

// Bits of Attributes.
const (
	codecMask        = 0x07
	logAppendTimeBit = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
	deleteHorizonBit = 0x40
)

// TimestampType says who set a batch's timestamps.
type TimestampType uint8

// CreateTime is the producer's clock, LogAppendTime the leader's.
const (
	CreateTime TimestampType = iota
	LogAppendTime
)

// String gives the value of message.timestamp.type.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// ReadRecordBatch gives the first batch of src as a view, and what follows it. It checks no more than is needed for the
// accessors to be safe: that the length is there, plausible and within src, and the magic is 2. RecordBatch.Check does the
// rest. Errors: ErrShortBatch if src ends inside the batch, else *BatchError.
func ReadRecordBatch(src []byte) (b RecordBatch, tail []byte, err error) {
	if len(src) < LogOverhead {
		return nil, src, ErrShortBatch
	}
	size := int64(int32(binary.BigEndian.Uint32(src[batchLengthAt:]))) + LogOverhead
	if len(src) > magicAt && int8(src[magicAt]) != batchMagic {
		return nil, src, &BatchError{Reason: BatchMagic, Value: int64(int8(src[magicAt])), BaseOffset: RecordBatch(src).BaseOffset()}
	}
	if size < RecordBatchOverhead {
		return nil, src, &BatchError{Reason: BatchLength, Value: size - LogOverhead, BaseOffset: RecordBatch(src).BaseOffset()}
	}
	if size > int64(len(src)) {
		return nil, src, ErrShortBatch
	}
	return RecordBatch(src[:size:size]), src[size:], nil
}

func (b RecordBatch) int16(at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }
func (b RecordBatch) int32(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func (b RecordBatch) int64(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// BaseOffset is the offset of the batch's first record as it was produced, kept even if compaction removed that record.
func (b RecordBatch) BaseOffset() Offset { return Offset(b.int64(0)) }

// LastOffset is the offset of the batch's last record.
func (b RecordBatch) LastOffset() Offset { return b.BaseOffset() + Offset(b.LastOffsetDelta()) }

// NextOffset is the offset that follows the batch.
func (b RecordBatch) NextOffset() Offset { return b.LastOffset() + 1 }

// Length is the bytes of the whole batch, the base offset and the length field included.
func (b RecordBatch) Length() int { return int(b.int32(batchLengthAt)) + LogOverhead }

// PartitionLeaderEpoch is the epoch of the leader that appended the batch.
func (b RecordBatch) PartitionLeaderEpoch() LeaderEpoch { return LeaderEpoch(b.int32(leaderEpochAt)) }

// Magic is the format's number, 2.
func (b RecordBatch) Magic() int8 { return int8(b[magicAt]) }

// CRC is the checksum as it stands in the batch.
func (b RecordBatch) CRC() uint32 { return binary.BigEndian.Uint32(b[crcAt:]) }

// Attributes is the bit field that Codec, TimestampType and the Is methods read.
func (b RecordBatch) Attributes() int16 { return b.int16(attributesAt) }

// Codec is how the records are compressed.
func (b RecordBatch) Codec() Compression { return Compression(b.Attributes() & codecMask) }

// TimestampType says whether the timestamps are the producer's or the leader's.
func (b RecordBatch) TimestampType() TimestampType {
	if b.Attributes()&logAppendTimeBit != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional reports whether the records belong to a transaction.
func (b RecordBatch) IsTransactional() bool { return b.Attributes()&transactionalBit != 0 }

// IsControl reports whether the batch holds a marker for brokers and consumers instead of users' records.
func (b RecordBatch) IsControl() bool { return b.Attributes()&controlBit != 0 }

// HasDeleteHorizon reports whether BaseTimestamp holds the time from which compaction may drop tombstones (KIP-534).
func (b RecordBatch) HasDeleteHorizon() bool { return b.Attributes()&deleteHorizonBit != 0 }

// LastOffsetDelta is the distance of the last offset from the base offset.
func (b RecordBatch) LastOffsetDelta() int32 { return b.int32(lastOffsetDeltaAt) }

// BaseTimestamp is what the records' timestamp deltas are added to; see HasDeleteHorizon.
func (b RecordBatch) BaseTimestamp() Timestamp { return Timestamp(b.int64(baseTimestampAt)) }

// MaxTimestamp is the greatest timestamp of the records, or the append time where TimestampType is LogAppendTime.
// NoTimestamp means that the producer left it unset: then only the records tell. Kafka never believes a producer here: it
// reads the records and writes their greatest timestamp.
func (b RecordBatch) MaxTimestamp() Timestamp { return Timestamp(b.int64(maxTimestampAt)) }

// ProducerID is the producer's identity, NoProducerID if the batch is not idempotent.
func (b RecordBatch) ProducerID() ProducerID { return ProducerID(b.int64(producerIDAt)) }

// ProducerEpoch is the producer's incarnation, -1 without a ProducerID.
func (b RecordBatch) ProducerEpoch() ProducerEpoch { return ProducerEpoch(b.int16(producerEpochAt)) }

// BaseSequence is the sequence number of the first record, -1 if there is none.
func (b RecordBatch) BaseSequence() Sequence { return Sequence(b.int32(baseSequenceAt)) }

// LastSequence is the sequence number of the last record, -1 if there is none.
func (b RecordBatch) LastSequence() Sequence {
	base := b.BaseSequence()
	if base < 0 {
		return base
	}
	return base.Add(b.LastOffsetDelta())
}

// RecordCount is the number of records that the header claims.
func (b RecordBatch) RecordCount() int32 { return b.int32(recordCountAt) }

// payload is the records as they are stored.
func (b RecordBatch) payload() []byte { return b[RecordBatchOverhead:] }

// SetBaseOffset writes the offset that the log assigned. It lies outside the CRC.
func (b RecordBatch) SetBaseOffset(o Offset) { binary.BigEndian.PutUint64(b, uint64(o)) }

// SetPartitionLeaderEpoch writes the epoch of the leader that appends the batch. It lies outside the CRC.
func (b RecordBatch) SetPartitionLeaderEpoch(e LeaderEpoch) {
	binary.BigEndian.PutUint32(b[leaderEpochAt:], uint32(e))
}

// SetAppendTime makes t the timestamp of every record: attribute bit, MaxTimestamp, and a new CRC over the whole batch.
// BaseTimestamp and the records' deltas stay, as in Kafka.
func (b RecordBatch) SetAppendTime(t Timestamp) {
	b[attributesAt+1] |= logAppendTimeBit
	b.SetMaxTimestamp(t)
}

// SetCreateTime makes the records' own timestamps count, of which max is the greatest: Kafka does so with a batch that a
// producer marked LogAppendTime for a topic that is not.
func (b RecordBatch) SetCreateTime(max Timestamp) {
	b[attributesAt+1] &^= logAppendTimeBit
	b.SetMaxTimestamp(max)
}

// SetMaxTimestamp writes the greatest timestamp, and a new CRC over the whole batch.
func (b RecordBatch) SetMaxTimestamp(t Timestamp) {
	binary.BigEndian.PutUint64(b[maxTimestampAt:], uint64(t))
	b.seal()
}

// seal writes the checksum of the batch as it stands.
func (b RecordBatch) seal() { binary.BigEndian.PutUint32(b[crcAt:], b.ComputeCRC()) }

// Add gives the sequence number n after s; numbers wrap from 2³¹-1 to 0 (DefaultRecordBatch.incrementSequence).
func (s Sequence) Add(n int32) Sequence { return Sequence((uint32(s) + uint32(n)) & (1<<31 - 1)) }
