package api

import (
	"fmt"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// recordErrorsShown is how many records Kafka's message about a whole batch repeats.
const recordErrorsShown = 3

// recordErrorsMax bounds the records that an answer names: each takes some hundred bytes of it.
const recordErrorsMax = 4096

// Explain gives the two explanations of a Produce answer about Records: one a record, and one of the whole batch. partition
// is TOPIC-INDEX. The words are those of Kafka's LogValidator.
func (f *BatchFault) Explain(partition string) ([]wire.ProduceRecordError, string) {
	errs := make([]wire.ProduceRecordError, len(f.Records))
	var shown []string
	for i, index := range f.Records {
		errs[i] = wire.ProduceRecordError{BatchIndex: index, Message: f.Message + " in topic partition " + partition + "."}
		if i < recordErrorsShown {
			shown = append(shown, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", index, errs[i].Message))
		}
	}
	return errs, fmt.Sprintf("One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: [%s]",
		len(errs), strings.Join(shown, ", "))
}

// UntimelyRecords explains INVALID_TIMESTAMP as Explain does: which records of b are not within [earliest, latest]. It says
// nothing of a compressed batch: its records may unfold to more than the answer's loop has time to read.
func UntimelyRecords(b wire.RecordBatch, earliest, latest wire.Timestamp) (errs []wire.ProduceRecordError, message string) {
	if b.Codec() != wire.CompressionNone {
		return nil, ""
	}
	it, err := b.Records(nil)
	if err != nil {
		return nil, ""
	}
	for i := int32(0); len(errs) < recordErrorsMax; i++ {
		rec, ok := it.Next()
		if !ok {
			break
		}
		if at := b.BaseTimestamp() + wire.Timestamp(rec.TimestampDelta); at < earliest || at > latest {
			errs = append(errs, wire.ProduceRecordError{BatchIndex: i, Message: fmt.Sprintf("Timestamp %d of message with offset %d is out of range. "+
				"The timestamp should be within [%d, %d]", at, i, earliest, latest)})
		}
	}
	return errs, "One or more records have been rejected due to invalid timestamp"
}
