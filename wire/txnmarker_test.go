package wire

import (
	"encoding/hex"
	"testing"
)

// Markers as Apache Kafka 4.1.1 wrote them to a partition's .log; base offset and leader epoch are the log's.
const (
	kafkaAbortMarker = "00000000000000040000004200000000024aaff3e4003000000000000001" +
		"a228021241000001a228021241000000000000004a0001ffffffff00000001" +
		"2000000008000000000c00000000000000"
	kafkaCommitMarker = "000000000000000600000042000000000244280571003000000000000001" +
		"a22802128f000001a22802128f000000000000004a0002ffffffff00000001" +
		"2000000008000000010c00000000000000"
)

func TestTxnMarkerGolden(t *testing.T) {
	for name, c := range map[string]struct {
		hex    string
		commit bool
		epoch  ProducerEpoch
	}{"abort": {kafkaAbortMarker, false, 1}, "commit": {kafkaCommitMarker, true, 2}} {
		want, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(name, err)
		}
		stored := RecordBatch(want)
		if err := stored.Check(); err != nil {
			t.Fatal(name, err)
		}
		b := RecordBatch(AppendTxnMarker(nil, 74, c.epoch, c.commit, 0, stored.BaseTimestamp()))
		b.SetBaseOffset(stored.BaseOffset())
		b.SetPartitionLeaderEpoch(stored.PartitionLeaderEpoch())
		if got := hex.EncodeToString(b); got != c.hex {
			t.Errorf("%s:\n%s, Kafka writes\n%s", name, got, c.hex)
		}
		if m, ok := ReadTxnMarker(stored); !ok || m != (TxnMarker{Commit: c.commit}) {
			t.Errorf("%s read as %+v, %t", name, m, ok)
		}
	}
}

func TestTxnMarkerCoordinatorEpoch(t *testing.T) {
	b := AppendTxnMarker(nil, 1<<40, 3, true, 77, 5)
	if m, ok := ReadTxnMarker(b); !ok || m != (TxnMarker{Commit: true, CoordinatorEpoch: 77}) {
		t.Errorf("%+v, %t", m, ok)
	}
}

func TestReadTxnMarkerRefuses(t *testing.T) {
	data := AppendRecordBatch(nil, BatchHeader{}, []Record{{Key: make([]byte, 4), Value: make([]byte, 6)}})
	leader := AppendRecordBatch(nil, BatchHeader{Control: true}, []Record{{Key: []byte{0, 0, 0, 2}, Value: make([]byte, 6)}})
	var builder BatchBuilder
	builder.Reset(nil, BatchHeader{Control: true, Transactional: true})
	for name, b := range map[string]RecordBatch{
		"data": data, "another kind": leader, "compacted": builder.FinishAt(0), "header alone": leader[:RecordBatchOverhead],
		"short key":   AppendRecordBatch(nil, BatchHeader{Control: true}, []Record{{Key: []byte{0}, Value: make([]byte, 6)}}),
		"short value": AppendRecordBatch(nil, BatchHeader{Control: true}, []Record{{Key: make([]byte, 4), Value: []byte{0}}}),
	} {
		if m, ok := ReadTxnMarker(b); ok {
			t.Errorf("%s: read as %+v", name, m)
		}
	}
}
