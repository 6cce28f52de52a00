package api

import (
	"errors"

	"github.com/ringmill/ringmill/wire"
)

// produceRow: versions 0 to 2 carry message sets of magic 0 and 1, and are refused in their own layout (Unsupported).
// They are advertised all the same, see advertised.
var produceRow = row{key: wire.KeyProduce, min: 3, max: 13}

// produceZstdMin is the first version that may carry zstd (KIP-110).
const produceZstdMin wire.APIVersion = 7

// BatchRules are a topic's rules for what is produced to it.
type BatchRules struct {
	BytesMax int  // max.message.bytes
	Keys     bool // every record needs a key: the topic is compacted
	Strict   bool // every record is read (ringmill.validation=strict)
	// Deferred leaves compressed records unread: the caller asks Unread and has CheckRecords read them where that may take
	// its time.
	Deferred bool
}

// Unread reports whether CheckRecords is still owed for a batch that ReadProducedBatch let pass.
func (r BatchRules) Unread(b wire.RecordBatch) bool {
	return r.Deferred && b.Codec() != wire.CompressionNone && r.needRecords(b)
}

// needRecords reports whether the rules cannot be judged by the header.
func (r BatchRules) needRecords(b wire.RecordBatch) bool { return r.Keys || r.Strict || !tellsTimes(b) }

// CheckRecords reads the records of a batch that is Unread; message explains the code.
func CheckRecords(b wire.RecordBatch, rules BatchRules) (code wire.ErrorCode, message string) {
	return checkRecords(b, rules.Keys)
}

// ReadProducedBatch checks what a Produce of version v brings for one partition, as Apache Kafka's ProduceRequest,
// UnifiedLog and LogValidator do, as far as the partition's state is not needed: exactly one batch of magic 2, no longer
// than the rules allow as it was sent, whole, plausible, dense, and with keys where they are needed.
// The batch is a view of records; a header that does not tell the records' own times is put right in place. message
// explains the code.
func ReadProducedBatch(records []byte, v wire.APIVersion, rules BatchRules) (batch wire.RecordBatch, code wire.ErrorCode, message string) {
	if len(records) == 0 {
		return nil, wire.InvalidRecord, "no record batch"
	}
	// The size goes first: a checksum over what is refused anyway is wasted time.
	if b, _, err := wire.ReadRecordBatch(records); err == nil && b.Length() > rules.BytesMax {
		return nil, wire.MessageTooLarge, ""
	}
	batch, err := wire.ReadProduced(records)
	if err != nil {
		return nil, wire.ProduceErrorCode(err), batchProblem(err)
	}
	if code, message = checkProducedBatch(batch, v, rules); code != wire.None {
		return nil, code, message
	}
	return batch, wire.None, ""
}

func checkProducedBatch(b wire.RecordBatch, v wire.APIVersion, rules BatchRules) (wire.ErrorCode, string) {
	switch {
	case b.Codec() == wire.CompressionZstd && v < produceZstdMin:
		return wire.UnsupportedCompressionType, "zstd needs Produce 7 or newer"
	case rules.needRecords(b) && !rules.Unread(b):
		return checkRecords(b, rules.Keys)
	}
	return wire.None, ""
}

// tellsTimes reports whether the header has the records' greatest timestamp. Old Sarama leaves it out where it compresses,
// and a batch that is marked LogAppendTime, which is the node's to decide, has another time there.
func tellsTimes(b wire.RecordBatch) bool {
	unset := b.MaxTimestamp() == wire.NoTimestamp && b.BaseTimestamp() != wire.NoTimestamp
	return !unset && b.TimestampType() == wire.CreateTime
}

// checkRecords reads every record: compaction needs their keys, and lookups by time the greatest timestamp.
func checkRecords(b wire.RecordBatch, needKeys bool) (wire.ErrorCode, string) {
	dec := wire.AcquireDecompressor()
	defer dec.Release()
	err := b.CheckRecords(dec, needKeys)
	if err == nil && !tellsTimes(b) {
		err = tellTimes(b, dec)
	}
	return wire.ProduceErrorCode(err), batchProblem(err)
}

// tellTimes puts the records' own times into the header.
func tellTimes(b wire.RecordBatch, dec *wire.Decompressor) error {
	if b.TimestampType() != wire.CreateTime {
		b.SetCreateTime(b.MaxTimestamp())
	}
	greatest, _, err := b.FindMaxTimestamp(dec)
	if err == nil {
		b.SetMaxTimestamp(greatest)
	}
	return err
}

// batchProblem says what is wrong with a batch without the node's own words around it.
func batchProblem(err error) string {
	var e *wire.BatchError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e) && e.Reason == wire.BatchKey:
		return "Compacted topic cannot accept message without key"
	case errors.As(err, &e):
		return e.Reason.String()
	}
	return "the record batch ends early"
}
