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
)

var batchReasons = [...]string{
	BatchMagic: "magic is not 2", BatchLength: "implausible length", BatchCRC: "checksum does not match",
	BatchCodec: "unknown codec", BatchCount: "implausible record count", BatchLastOffsetDelta: "implausible last offset delta",
	BatchNotDense: "offsets and record count differ", BatchControl: "control batch from a client",
	BatchSequence: "producer id without a sequence number", BatchRecord: "malformed record", BatchDecompress: "cannot decompress",
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
}

func (e *BatchError) Error() string {
	s := fmt.Sprintf("wire: record batch at offset %d: %s (%d)", e.BaseOffset, e.Reason, e.Value)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *BatchError) Unwrap() error { return e.Err }

// Code is what a Produce response says about such a batch: CORRUPT_MESSAGE where bytes were damaged, INVALID_RECORD where
// a producer broke a rule.
func (e *BatchError) Code() ErrorCode {
	switch e.Reason {
	case BatchLength, BatchCRC, BatchDecompress:
		return CorruptMessage
	default:
		return InvalidRecord
	}
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

// CheckProduced is Check and Kafka's rules for what a client may append (LogValidator.validateBatch): at least one record,
// as many offsets as records, no control batch, a sequence number where there is a producer id.
func (b RecordBatch) CheckProduced() error {
	if err := b.Check(); err != nil {
		return err
	}
	switch {
	case b.RecordCount() == 0 || b.LastOffsetDelta() != b.RecordCount()-1:
		return b.fault(BatchNotDense, int64(b.RecordCount()))
	case b.IsControl():
		return b.fault(BatchControl, int64(b.Attributes()))
	case b.ProducerID() >= 0 && b.BaseSequence() < 0:
		return b.fault(BatchSequence, int64(b.BaseSequence()))
	}
	return nil
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
