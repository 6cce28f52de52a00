package txn

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// golden are records as Apache Kafka 4.1.1 wrote them to __transaction_state.
var golden = []struct {
	name, value string
	m           metadata
}{
	{
		"a new id", "0001000000000000007000000000ea600000000001a2281f0053ffffffffffffffff00",
		metadata{producerID: 112, timeoutMS: 60_000, state: Empty, start: -1, lastUpdate: 0x1a2281f0053},
	},
	{
		"an open transaction", "0001000000000000007000000000ea60010206726d742d61020000000000000001a2281f0056000001a2281f005600",
		metadata{producerID: 112, timeoutMS: 60_000, state: Ongoing, partitions: []wire.TopicPartition{{Topic: "rmt-a"}},
			start: 0x1a2281f0056, lastUpdate: 0x1a2281f0056},
	},
	{
		"a commit of transaction version 2",
		"0001000000000000007000010000ea60020206726d742d62020000000100000001a2281f0094000001a2281f00930102020002",
		metadata{producerID: 112, epoch: 1, timeoutMS: 60_000, state: PrepareCommit, partitions: []wire.TopicPartition{{Topic: "rmt-b", Partition: 1}},
			start: 0x1a2281f0093, lastUpdate: 0x1a2281f0094, version: TV2},
	},
	{
		"a complete commit", "0001000000000000007000010000ea600401000001a2281f0094000001a2281f00930102020002",
		metadata{producerID: 112, epoch: 1, timeoutMS: 60_000, state: CompleteCommit, start: 0x1a2281f0093, lastUpdate: 0x1a2281f0094, version: TV2},
	},
}

func TestRecordsAreKafkas(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			want, err := hex.DecodeString(c.value)
			if err != nil {
				t.Fatal(err)
			}
			c.m.previousProducerID, c.m.nextProducerID, c.m.lastEpoch = c.m.producerID, wire.NoProducerID, wire.NoProducerEpoch
			rec := c.m.record("id")
			if !bytes.Equal(rec.Value, want) {
				t.Errorf("value\n%x, want\n%x", rec.Value, want)
			}
			if want := []byte{0, 0, 0, 2, 'i', 'd'}; !bytes.Equal(rec.Key, want) {
				t.Errorf("key %x, want %x", rec.Key, want)
			}
			got, err := readValue(want)
			if err != nil {
				t.Fatal(err)
			}
			if again := got.record("id"); !bytes.Equal(again.Value, want) {
				t.Errorf("read and written again:\n%x, want\n%x", again.Value, want)
			}
		})
	}
}

// TestLoadVersion0 reads what brokers before transaction.version 1 wrote.
func TestLoadVersion0(t *testing.T) {
	value, _ := hex.DecodeString("0000" + "0000000000000070" + "0003" + "0000ea60" + "01" + "00000001" + "0005726d742d61" + "00000001" + "00000002" +
		"000001a2281f0056" + "000001a2281f0050")
	m, err := readValue(value)
	if err != nil {
		t.Fatal(err)
	}
	if m.producerID != 112 || m.epoch != 3 || m.state != Ongoing || !m.holds([]wire.TopicPartition{{Topic: "rmt-a", Partition: 2}}) ||
		m.previousProducerID != wire.NoProducerID || m.version != TV0 || m.start != 0x1a2281f0050 {
		t.Errorf("%+v", m)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ name, key, value string }{
		{"no key", "", ""},
		{"a key of version 1", "0001" + "00026964", "00"},
		{"a cut key", "0000" + "000969", "00"},
		{"half a version", "000000026964", "00"},
		{"a value of version 2", "000000026964", "0002"},
		{"a cut value", "000000026964", "00010000"},
		{"state 9", "000000026964", "0001000000000000007000000000ea600900000001a2281f0053ffffffffffffffff00"},
		{"Dead", "000000026964", "0001000000000000007000000000ea600600000001a2281f0053ffffffffffffffff00"},
		{"a negative producer id", "000000026964", "0001ffffffffffffff7000000000ea600000000001a2281f0053ffffffffffffffff00"},
		{"Empty with partitions", "000000026964", "0001000000000000007000000000ea60000206726d742d61020000000000000001a2281f0056000001a2281f005600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, _ := hex.DecodeString(c.key)
			value, _ := hex.DecodeString(c.value)
			err := New(DefaultConfig()).Load(wire.Record{Key: key, Value: value})
			var damage *RecordError
			if !errors.As(err, &damage) || damage.Error() == "" {
				t.Fatalf("Load gave %v, want a *RecordError", err)
			}
		})
	}
}

// FuzzLoad: no bytes of a record bring the coordinator down, and what it takes it serves.
func FuzzLoad(f *testing.F) {
	for _, c := range golden {
		value, _ := hex.DecodeString(c.value)
		f.Add([]byte{0, 0, 0, 2, 'i', 'd'}, value)
	}
	f.Add([]byte{0, 0, 0, 0}, []byte{0, 0})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := newMachine()
		m.log = nil
		c := New(m.cfg)
		if c.Load(wire.Record{Key: key, Value: value}) != nil {
			return
		}
		m.c = c
		m.apply(c.Loaded(m.nowMS, m.wall))
		m.pass(m.cfg.AbortIntervalMS)
		m.pass(m.cfg.ExpirationIntervalMS)
	})
}
