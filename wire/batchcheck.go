package wire

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrShortBatch means that the bytes end inside a batch: legal at the end of a fetch response or of a log after a crash.
var ErrShortBatch = errors.New("wire: record batch ends early")

// BatchReason says what is wrong with a batch.
type BatchReason uint8

// The reasons of a *BatchError; Value is the offending number.
const (
	BatchMagic           BatchReason = iota + 1 // not magic 2
	BatchLength                                 // below the header's size, or not the length of the bytes at hand
	BatchCRC                                    // the checksum does not match; Value is the one found in the batch
	BatchCodec                                  // a codec that is not defined
	BatchCount                                  // negative, or more records than the bytes can hold
	BatchLastOffsetDelta                        // negative, or fewer offsets than records
	BatchNotDense                               // produced, but offsets and records differ in number, or there are none
	BatchControl                                // produced, but a control batch
	BatchSequence                               // produced with a producer id, but without a sequence number
	BatchRecord                                 // a record inside is malformed; Value is its index
	BatchDecompress                             // the codec's stream is malformed or beyond the limit
	BatchBaseOffset                             // produced with a base offset other than 0
	BatchSecond                                 // produced, but followed by another batch; Value is the bytes of the first
	BatchOffsetDelta                            // a produced record's offset delta is not its index; Value is the index
	BatchKey                                    // records without a key where one is due; Value is the first one's index
)

var batchReasons = [...]string{
	BatchMagic: "magic is not 2", BatchLength: "implausible length", BatchCRC: "checksum does not match",
	BatchCodec: "unknown codec", BatchCount: "implausible record count", BatchLastOffsetDelta: "implausible last offset delta",
	BatchNotDense: "offsets and record count differ", BatchControl: "control batch from a client",
	BatchSequence: "producer id without a sequence number", BatchRecord: "malformed record", BatchDecompress: "cannot decompress",
	BatchBaseOffset: "base offset of a produced batch is not 0", BatchSecond: "more than one batch for a partition",
	BatchOffsetDelta: "offset delta is not the record's index", BatchKey: "record without a key",
}

func (r BatchReason) String() string {
	if int(r) < len(batchReasons) && batchReasons[r] != "" {
		return batchReasons[r]
	}
	return "unknown reason"
}

// BatchError says why bytes are not a good record batch.
type BatchError struct {
	Reason     BatchReason
	BaseOffset Offset // as the batch claims
	Value      int64  // the number that offends, by Reason
	Err        error  // the codec's error, for BatchDecompress
	// Records are the indexes of the records that offend, for BatchKey: the first recordFaultsMax of them, ascending.
	Records []int32
}

func (e *BatchError) Error() string {
	s := fmt.Sprintf("wire: record batch at offset %d: %s (%d)", e.BaseOffset, e.Reason, e.Value)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *BatchError) Unwrap() error { return e.Err }

// Code is what a Produce response says about such a batch, as Apache Kafka 4.1.1 does: CORRUPT_MESSAGE where the frame of
// the batch is damaged, INVALID_RECORD where a producer broke a rule (the old magics 0 and 1 among them). One departure: a
// codec that is not known, a stream that does not unfold and a record that does not parse are INVALID_RECORD here, where
// Kafka says UNKNOWN_SERVER_ERROR.
func (e *BatchError) Code() ErrorCode {
	switch {
	case e.Reason == BatchLength, e.Reason == BatchCRC, e.Reason == BatchMagic && (e.Value < 0 || e.Value > 2):
		return CorruptMessage
	}
	return InvalidRecord
}

// ProduceErrorCode is what a Produce response says about err: None for nil, a *BatchError's Code, INVALID_RECORD for
// ErrShortBatch, UNKNOWN_SERVER_ERROR for what this room does not know.
func ProduceErrorCode(err error) ErrorCode {
	var e *BatchError
	switch {
	case err == nil:
		return None
	case errors.As(err, &e):
		return e.Code()
	case errors.Is(err, ErrShortBatch):
		return InvalidRecord
	}
	return UnknownServerError
}

func (b RecordBatch) fault(r BatchReason, value int64) error {
	return &BatchError{Reason: r, BaseOffset: b.BaseOffset(), Value: value}
}

// castagnoli is the polynomial of CRC-32C; hash/crc32 uses the processor's instruction for it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ComputeCRC is the CRC-32C of everything from Attributes to the end of the batch.
func (b RecordBatch) ComputeCRC() uint32 { return crc32.Checksum(b[attributesAt:], castagnoli) }

// Check says whether b is sound as a stored batch: length, magic, checksum, codec, and counts that its bytes can hold. A
// compacted batch may have gaps and even no record; what a producer may send is narrower, see CheckProduced.
func (b RecordBatch) Check() error {
	if len(b) < RecordBatchOverhead {
		return ErrShortBatch
	}
	if err := b.checkHeader(); err != nil {
		return err
	}
	if b.ComputeCRC() != b.CRC() {
		return b.fault(BatchCRC, int64(b.CRC()))
	}
	return nil
}

// CheckProduced is Check and Kafka's rules for what a client may append (UnifiedLog.analyzeAndValidateRecords and
// LogValidator.validateBatch): base offset 0, at least one record, as many offsets as records, no control batch, a sequence
// number where there is a producer id.
func (b RecordBatch) CheckProduced() error {
	if err := b.Check(); err != nil {
		return err
	}
	switch {
	case b.BaseOffset() != 0:
		return b.fault(BatchBaseOffset, int64(b.BaseOffset()))
	case b.RecordCount() == 0 || b.LastOffsetDelta() != b.RecordCount()-1:
		return b.fault(BatchNotDense, int64(b.RecordCount()))
	case b.IsControl():
		return b.fault(BatchControl, int64(b.Attributes()))
	case b.ProducerID() >= 0 && b.BaseSequence() < 0:
		return b.fault(BatchSequence, int64(b.BaseSequence()))
	}
	return nil
}

// ReadProduced gives the one batch that a ProducePartition's Records may hold, checked. As in Kafka, what follows it is
// ignored if it is less than a batch. Errors as of ReadRecordBatch and CheckProduced; ProduceErrorCode turns them into an
// answer.
func ReadProduced(records []byte) (RecordBatch, error) {
	b, tail, err := ReadRecordBatch(records)
	if err != nil {
		return nil, err
	}
	if _, _, err := ReadRecordBatch(tail); err != ErrShortBatch {
		return nil, b.fault(BatchSecond, int64(len(b)))
	}
	return b, b.CheckProduced()
}

// recordFaultsMax bounds the records that a refusal names: each takes some hundred bytes of the answer, and a batch has room
// for a million records without a key.
const recordFaultsMax = 4096

// CheckRecords reads every record: for compacted topics, which need keys, and for validation=strict. Offset deltas must be
// 0, 1, 2, ... The error is a *BatchError; dec is as for Records.
func (b RecordBatch) CheckRecords(dec *Decompressor, needKeys bool) error {
	it, err := b.Records(dec)
	if err != nil {
		return err
	}
	var keyless []int32
	for i := int32(0); ; i++ {
		rec, ok := it.Next()
		switch {
		case !ok && it.Err() == nil && keyless != nil:
			return &BatchError{Reason: BatchKey, BaseOffset: b.BaseOffset(), Value: int64(keyless[0]), Records: keyless}
		case !ok:
			return it.Err()
		case rec.OffsetDelta != i:
			return b.fault(BatchOffsetDelta, int64(i))
		case needKeys && rec.Key == nil && len(keyless) < recordFaultsMax:
			keyless = append(keyless, i)
		}
	}
}

func (b RecordBatch) checkHeader() error {
	switch count, last := b.RecordCount(), b.LastOffsetDelta(); {
	case b.Magic() != batchMagic:
		return b.fault(BatchMagic, int64(b.Magic()))
	case b.Length() != len(b):
		return b.fault(BatchLength, int64(b.Length()))
	case !b.Codec().known():
		return b.fault(BatchCodec, int64(b.Codec()))
	case last < 0 || int64(count) > int64(last)+1:
		return b.fault(BatchLastOffsetDelta, int64(last))
	case count < 0 || int64(count) > b.maxRecords():
		return b.fault(BatchCount, int64(count))
	}
	return nil
}

// maxRecords is how many records the payload can hold at the very most: the bytes that it can unfold to, over the size of
// the smallest record. It keeps a 61-byte batch from claiming 2³¹-1 records.
func (b RecordBatch) maxRecords() int64 {
	return int64(len(b.payload())) * b.Codec().expansionMax() / recordSizeMin
}
