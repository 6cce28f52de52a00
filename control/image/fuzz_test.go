package image

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func FuzzReadRecord(f *testing.F) {
	for _, r := range []Record{topic("a.b", 1), RemoveTopicRecord{id(1)}, PartitionsRecord{id(1), 2}, ProducerIDsRecord{5},
		ClusterRecord{"c", 1}, FeatureLevelRecord{"f", 2}, LeaderEpochRecord{7}, config(TopicResource, "a", "k", "\x00<\"\u2028"), noConfig(GroupResource, "g", "k"),
		quota(QuotaEntity{User: NamedQuota("u"), ClientID: DefaultQuota}, "k", 1.5),
		scram("u", SCRAMSHA512, 64, 4096), noSCRAM("u", SCRAMSHA256),
		AccessControlEntryRecord{id(5), someACL}, RemoveAccessControlEntryRecord{id(5)},
		BrokerRecord{fullBroker}, RemoveBrokerRecord{3}, PartitionRecord{id(1), 2, fullState}} {
		f.Add(appendRecord(nil, r))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := readRecord(value)
		if err != nil {
			return
		}
		if p, ok := r.(PartitionRecord); ok {
			samePartition(t, value, p)
		}
		again, err := readRecord(appendRecord(nil, r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v came back as %+v, error %v", r, again, err)
		}
	})
}

// samePartition fails if the code that writes and reads partitions by hand differs from encoding/json.
func samePartition(t *testing.T, value []byte, r PartitionRecord) {
	t.Helper()
	byJSON, err := readJSON(value)
	if err != nil || !reflect.DeepEqual(byJSON, r) {
		t.Errorf("%s is %+v by hand and %+v by JSON, error %v", value, r, byJSON, err)
	}
	if byHand, byJSON := appendPartition(nil, &r), appendJSON(nil, r); !bytes.Equal(byHand, byJSON) {
		t.Errorf("by hand %s\nby JSON %s", byHand, byJSON)
	}
}

// FuzzReadSnapshot looks for snapshots that panic, and for Images that another snapshot of them does not lead to. Without its
// head's checksum the data would never get far.
func FuzzReadSnapshot(f *testing.F) {
	f.Add(new(Image).AppendSnapshot(nil)[snapshotHead:], uint64(3))
	m := must(new(Image).With(topic("a", 1), PartitionRecord{id(1), 0, fullState}, BrokerRecord{fullBroker}))
	f.Add(m.AppendSnapshot(nil)[snapshotHead:], uint64(3))
	f.Fuzz(func(t *testing.T, batches []byte, version uint64) {
		m, err := readBatches(batches, version)
		if err == nil {
			checkSnapshot(t, m)
		}
	})
}

// FuzzReplay looks for logs that panic, and for Images that are not what their own log leads to. The log is data and then, so
// that the checksum lets something through, a good batch whose records are the lines of values.
func FuzzReplay(f *testing.F) {
	records := []Record{topic("a.b", 1), config(TopicResource, "a.b", "k", "v"), PartitionsRecord{id(1), 2}, PartitionRecord{id(1), 1, fullState}, ClusterRecord{"c", 1}}
	var lines [][]byte
	for _, r := range records {
		lines = append(lines, appendRecord(nil, r))
	}
	f.Add([]byte{}, bytes.Join(lines, []byte("\n")))
	f.Add(appendBatch(nil, 0, records), lines[3])
	f.Add(appendBatch(appendBatch(nil, 7, records[:2]), 9, records[2:]), []byte{})
	f.Fuzz(func(t *testing.T, data, values []byte) {
		var recs []wire.Record
		for line := range bytes.SplitSeq(values, []byte("\n")) {
			recs = append(recs, wire.Record{Value: line})
		}
		next := wire.Offset(0)
		if r, err := replay("log", data); err == nil {
			next = wire.Offset(r.image.Version())
		}
		r, err := replay("log", wire.AppendRecordBatch(bytes.Clone(data), wire.BatchHeader{BaseOffset: next}, recs))
		if err != nil {
			var e *CorruptionError
			if !errors.As(err, &e) {
				t.Errorf("error %v", err)
			}
			return
		}
		if live := appendLive(nil, r.image); len(live) > 0 {
			checkReplay(t, live, r.image)
			checkSnapshot(t, r.image)
		}
	})
}
