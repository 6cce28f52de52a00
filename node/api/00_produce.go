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

// BatchFault is why a batch is not taken.
type BatchFault struct {
	Code    wire.ErrorCode
	Message string  // explains the code; may be empty
	Records []int32 // the indexes of the records that Message is about; nil if it is about the whole batch
}

// CheckRecords reads the records of a batch that is Unread; nil if they are good.
func CheckRecords(b wire.RecordBatch, rules BatchRules) *BatchFault {
	return checkRecords(b, rules.Keys)
}

// ReadProducedBatch checks what a Produce of version v brings for one partition, as Apache Kafka's ProduceRequest,
// UnifiedLog and LogValidator do, as far as the partition's state is not needed: exactly one batch of magic 2, no longer
// than the rules allow as it was sent, whole, plausible, dense, and with keys where they are needed.
// The batch is a view of records; a header that does not tell the records' own times is put right in place. It is nil if
// there is a fault.
func ReadProducedBatch(records []byte, v wire.APIVersion, rules BatchRules) (wire.RecordBatch, *BatchFault) {
	if len(records) == 0 {
		return nil, &BatchFault{Code: wire.InvalidRecord, Message: "no record batch"}
	}
	// The size goes first: a checksum over what is refused anyway is wasted time.
	if b, _, err := wire.ReadRecordBatch(records); err == nil && b.Length() > rules.BytesMax {
		return nil, &BatchFault{Code: wire.MessageTooLarge}
	}
	batch, err := wire.ReadProduced(records)
	if err != nil {
		return nil, batchFault(err)
	}
	if fault := checkProducedBatch(batch, v, rules); fault != nil {
		return nil, fault
	}
	return batch, nil
}

func checkProducedBatch(b wire.RecordBatch, v wire.APIVersion, rules BatchRules) *BatchFault {
	switch {
	case b.Codec() == wire.CompressionZstd && v < produceZstdMin:
		return &BatchFault{Code: wire.UnsupportedCompressionType, Message: "zstd needs Produce 7 or newer"}
	case rules.needRecords(b) && !rules.Unread(b):
		return checkRecords(b, rules.Keys)
	}
	return nil
}

// tellsTimes reports whether the header has the records' greatest timestamp. Old Sarama leaves it out where it compresses,
// and a batch that is marked LogAppendTime, which is the node's to decide, has another time there.
func tellsTimes(b wire.RecordBatch) bool {
	unset := b.MaxTimestamp() == wire.NoTimestamp && b.BaseTimestamp() != wire.NoTimestamp
	return !unset && b.TimestampType() == wire.CreateTime
}

// checkRecords reads every record: compaction needs their keys, and lookups by time the greatest timestamp.
func checkRecords(b wire.RecordBatch, needKeys bool) *BatchFault {
	dec := wire.AcquireDecompressor()
	defer dec.Release()
	err := b.CheckRecords(dec, needKeys)
	if err == nil && !tellsTimes(b) {
		err = tellTimes(b, dec)
	}
	return batchFault(err)
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

// batchFault says what is wrong with a batch without the node's own words around it.
func batchFault(err error) *BatchFault {
	if err == nil {
		return nil
	}
	f := &BatchFault{Code: wire.ProduceErrorCode(err), Message: "the record batch ends early"}
	var e *wire.BatchError
	if errors.As(err, &e) {
		f.Message, f.Records = e.Reason.String(), e.Records
		if e.Reason == wire.BatchKey {
			f.Message = "Compacted topic cannot accept message without key"
		}
	}
	return f
}
