package share

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// goldenKey is the key of golden.
var goldenKey = Key{Group: "share-state-ca20a3-7", Topic: wire.TopicID(unhex("eaa6b9f4532846c3b286a99aaf49c4a8"))}

const goldenKeyHex = "001473686172652d73746174652d6361323061332d37eaa6b9f4532846c3b286a99aaf49c4a800000000"

// golden are records as Apache Kafka 4.1.1 wrote them to __share_group_state.
var golden = []struct {
	name, key, value string
	record           stateRecord
}{
	{
		"a beginning", "0000" + goldenKeyHex, "0000000000000000000300000000000000000000000a000001a228796edc000001a228796edc0100",
		stateRecord{stateEpoch: 3, startOffset: 10, created: 0x1a228796edc, written: 0x1a228796edc},
	},
	{
		"a new leader", "0001" + goldenKeyHex, "00000000000000000005000000000000000a0100",
		stateRecord{update: true, leaderEpoch: 5, startOffset: 10},
	},
	{
		"changes", "0001" + goldenKeyHex,
		"00000000000000000005000000000000000a03000000000000000a000000000000000e02000100000000000000000f00000000000000130000010000",
		stateRecord{update: true, leaderEpoch: 5, startOffset: 10, batches: []StateBatch{{10, 14, Acknowledged, 1}, {15, 19, Available, 1}}},
	},
	{
		"archived records", "0001" + goldenKeyHex,
		"00000000000000000005000000000000000c0300000000000000110000000000000011020002000000000000000014000000000000001e0400050000",
		stateRecord{update: true, leaderEpoch: 5, startOffset: 12, batches: []StateBatch{{17, 17, Acknowledged, 2}, {20, 30, Archived, 5}}},
	},
	{
		"a start offset that stays", "0001" + goldenKeyHex,
		"00000000000000000005ffffffffffffffff02000000000000001400000000000000180000010000",
		stateRecord{update: true, leaderEpoch: 5, startOffset: -1, batches: []StateBatch{{20, 24, Available, 1}}},
	},
	{
		"a snapshot", "0000" + goldenKeyHex, "0000000000010000000400000005000000000000001f000001a228796f15000001a228796f150100",
		stateRecord{snapshotEpoch: 1, stateEpoch: 4, leaderEpoch: 5, startOffset: 31, created: 0x1a228796f15, written: 0x1a228796f15},
	},
	{"an end", "0000" + goldenKeyHex, "", stateRecord{gone: true}},
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func TestRecordsAreKafkas(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			c.record.key = goldenKey
			rec := c.record.encode()
			if !bytes.Equal(rec.Key, unhex(c.key)) {
				t.Errorf("key\n%x, want\n%s", rec.Key, c.key)
			}
			if !bytes.Equal(rec.Value, unhex(c.value)) {
				t.Errorf("value\n%x, want\n%s", rec.Value, c.value)
			}
			if got, err := readRecord(rec); err != nil || !reflect.DeepEqual(got, c.record) {
				t.Errorf("read again %+v, %v, want %+v", got, err, c.record)
			}
		})
	}
}

func TestDamagedRecords(t *testing.T) {
	key, value := unhex(golden[2].key), unhex(golden[2].value)
	cut := func(b []byte, n int) []byte { return b[:len(b)-n] }
	changed := func(at int, to byte) []byte {
		b := bytes.Clone(value)
		b[at] = to
		return b
	}
	for _, c := range []struct {
		name string
		rec  wire.Record
	}{
		{"no key", wire.Record{Value: value}},
		{"a short key", wire.Record{Key: cut(key, 1), Value: value}},
		{"a long key", wire.Record{Key: append(bytes.Clone(key), 0), Value: value}},
		{"an unknown kind", wire.Record{Key: append([]byte{0, 2}, key[2:]...), Value: value}},
		{"an update without a value", wire.Record{Key: key}},
		{"an empty value", wire.Record{Key: key, Value: []byte{}}},
		{"a short value", wire.Record{Key: key, Value: cut(value, 2)}},
		{"a later version", wire.Record{Key: key, Value: changed(1, 1)}},
		{"more batches than bytes", wire.Record{Key: key, Value: changed(18, 0x7f)}},
		{"a state that is never written", wire.Record{Key: key, Value: changed(35, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var damage *RecordError
			if _, err := readRecord(c.rec); !errors.As(err, &damage) {
				t.Errorf("error %v, want a RecordError", err)
			}
		})
	}
}

// FuzzRecord: whatever is read is written as it was read, but for tags that are not known.
func FuzzRecord(f *testing.F) {
	for _, c := range golden {
		f.Add(unhex(c.key), unhex(c.value))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r, err := readRecord(wire.Record{Key: key, Value: value})
		if err != nil {
			return
		}
		again, err := readRecord(r.encode())
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}

func TestKeys(t *testing.T) {
	id := goldenKey.Topic
	for _, c := range []struct {
		text string
		want Key
		ok   bool
	}{
		{"g:" + id.String() + ":3", Key{"g", id, 3}, true},
		{" g :" + id.String() + ":-1::", Key{"g", id, -1}, true},
		{"g:" + id.String() + ":4294967296", Key{}, false},
		{"a:b:" + id.String() + ":3", Key{}, false},
		{" :" + id.String() + ":3", Key{}, false},
		{"g:" + id.String()[1:] + ":3", Key{}, false},
		{"", Key{}, false},
	} {
		if got, ok := ParseKey(c.text); ok != c.ok || ok && got != c.want {
			t.Errorf("%q is %v %v, want %v %v", c.text, got, ok, c.want, c.ok)
		}
	}
}
