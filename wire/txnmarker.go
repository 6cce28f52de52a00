package wire

import "encoding/binary"

// Types of control records that end a transaction (Kafka's ControlRecordType).
const (
	controlAbort  = 0
	controlCommit = 1
)

// TxnMarker is what a transaction coordinator writes to a partition to end a producer's transaction there.
type TxnMarker struct {
	Commit           bool  // otherwise the transaction was aborted
	CoordinatorEpoch int32 // of the partition of __transaction_state that the coordinator leads
}

// AppendTxnMarker appends the control batch that ends the transaction of a producer: one record, with base offset 0 and no
// leader epoch, which the log sets. Its bytes are those of Kafka's MemoryRecords.withEndTransactionMarker (EndTransactionMarker
// version 0): the key is int16 version 0 and int16 type, the value int16 version 0 and int32 coordinator epoch.
func AppendTxnMarker(dst []byte, id ProducerID, epoch ProducerEpoch, commit bool, coordinatorEpoch int32, ts Timestamp) []byte {
	var key [4]byte
	var value [6]byte
	if commit {
		key[3] = controlCommit
	}
	binary.BigEndian.PutUint32(value[2:], uint32(coordinatorEpoch))
	return AppendRecordBatch(dst, BatchHeader{
		BaseTimestamp: ts, Transactional: true, Control: true, PartitionLeaderEpoch: NoLeaderEpoch,
		Idempotent: true, ProducerID: id, ProducerEpoch: epoch, BaseSequence: -1,
	}, []Record{{Key: key[:], Value: value[:]}})
}

// ReadTxnMarker reads the marker of a control batch. ok is false for data, for control batches of other kinds, and for one
// whose record compaction has taken out or that is malformed. Versions above 0 are read as 0, as Kafka does.
func ReadTxnMarker(b RecordBatch) (m TxnMarker, ok bool) {
	if !b.IsControl() || len(b) != b.Length() {
		return m, false
	}
	it, err := b.Records(nil)
	if err != nil {
		return m, false
	}
	rec, ok := it.Next()
	if !ok || len(rec.Key) < 4 || len(rec.Value) < 6 {
		return m, false
	}
	kind := binary.BigEndian.Uint16(rec.Key[2:])
	m = TxnMarker{Commit: kind == controlCommit, CoordinatorEpoch: int32(binary.BigEndian.Uint32(rec.Value[2:]))}
	return m, kind == controlAbort || kind == controlCommit
}
