package group

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// Records as Apache Kafka 4.1.1 wrote them to __consumer_offsets.
var golden = []struct {
	name, key, value string
	record           func() wire.Record
}{
	{
		"a group without a generation",
		"0002001a726d672d313739353936343739363635353935363339312d6733",
		"0003000000000000ffffffff000001a227d8002800000000",
		func() wire.Record { return emptyGroupRecord(newGroup("rmg-1795964796655956391-g3", 0x1a227d80028)) },
	},
	{
		"a stable group with a static member",
		"00020019726d672d313739353936343932383733393631303033362d67",
		"00030008636f6e73756d657200000001000572616e6765002769312d62643237636663362d626332342d346663352d383631632d33393863" +
			"3961393936353663000001a227da02e400000001002769312d62643237636663362d626332342d346663352d383631632d3339386339" +
			"6139393635366300026931000163000a2f3132372e302e302e310000271000002710000000120000000000010006726d672d7431ffffffff" +
			"0000000161",
		goldenStaticGroup,
	},
	{
		"a commit",
		"00010019726d672d313739353936343831303335343232323631302d670006726d672d743100000000",
		"0004000000000000000500000007056d657461000001a227d8347700",
		func() wire.Record {
			return offsetRecord("rmg-1795964810354222610-g", "rmg-t1", 0,
				committedOffset{offset: 5, leaderEpoch: 7, metadata: "meta", committedAt: 0x1a227d83477, expiresAt: wire.NoTimestamp})
		},
	},
	{
		"a commit with a retention time",
		"00010019726d672d313739353936343831303335343232323631302d670006726d672d743100000001",
		"0001000000000000000b0000000001a227d8375c000001a227d921bc",
		func() wire.Record {
			return offsetRecord("rmg-1795964810354222610-g", "rmg-t1", 1,
				committedOffset{offset: 11, leaderEpoch: -1, committedAt: 0x1a227d8375c, expiresAt: 0x1a227d921bc})
		},
	},
	{
		"a deleted offset",
		"00010019726d672d313739353936343831303335343232323631302d670006726d672d743200000000", "",
		func() wire.Record { return offsetTombstone("rmg-1795964810354222610-g", "rmg-t2", 0) },
	},
	{
		"a deleted group",
		"00020019726d672d313739353936343831303335343232323631302d77", "",
		func() wire.Record { return groupTombstone("rmg-1795964810354222610-w") },
	},
}

func goldenStaticGroup() wire.Record {
	g := newGroup("rmg-1795964928739610036-g", 0x1a227da02e4)
	instance, name := "i1", "range"
	g.add(&member{
		id: "i1-bd27cfc6-bc24-4fc5-861c-398c9a99656c", instanceID: &instance, client: Client{ID: "c", Host: "/127.0.0.1"},
		sessionTimeoutMS: 10_000, rebalanceTimeoutMS: 10_000,
		protocols: []protocol{{name, subscription("rmg-t1")}}, assignment: []byte("a"),
	}, "consumer")
	g.generation, g.protocol = 1, &name
	return groupRecord(g, currentAssignment)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	return mustUnhex(s)
}

func mustUnhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func TestRecordsAreKafkas(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			got := c.record()
			if want := unhex(t, c.key); !bytes.Equal(got.Key, want) {
				t.Errorf("key\n%x, want\n%x", got.Key, want)
			}
			if want := unhex(t, c.value); !bytes.Equal(got.Value, want) || (got.Value == nil) != (c.value == "") {
				t.Errorf("value\n%x, want\n%x", got.Value, want)
			}
		})
	}
}

func TestLoadKafkasRecords(t *testing.T) {
	m := newMachine(measuredConfig())
	m.log = nil
	for _, c := range golden[:4] {
		m.log = append(m.log, wire.Record{Key: unhex(t, c.key), Value: unhex(t, c.value)})
	}
	if err := m.restart(); err != nil {
		t.Fatal(err)
	}
	m.c.checkAll()
	if len(m.c.groups) != 3 {
		t.Fatalf("%d groups were loaded, want 3", len(m.c.groups))
	}
	g := m.c.groups["rmg-1795964928739610036-g"]
	if g.state != Stable || g.generation != 1 || len(g.static) != 1 || !g.isSubscribed("rmg-t1") || g.isSubscribed("rmg-t2") {
		t.Errorf("the group was loaded as %+v", g)
	}
	if e := m.c.groups["rmg-1795964810354222610-g"].offsets.get("rmg-t1", 1); e.value.expiresAt != 0x1a227d921bc {
		t.Errorf("the offset was loaded as %+v", e)
	}
}

func TestLoadRefuses(t *testing.T) {
	group := func(value string) wire.Record {
		return wire.Record{Key: unhex(t, "0002000167"), Value: unhex(t, value)}
	}
	member := "00016d" + "ffff" + "0000" + "0000" + "00000001" + "00000001" + "00000000" + "00000000"
	for _, c := range []struct {
		name string
		rec  wire.Record
	}{
		{"no key", wire.Record{}},
		{"half a version", wire.Record{Key: []byte{0}}},
		{"a cut group key", wire.Record{Key: unhex(t, "0002000967")}},
		{"a cut offset key", wire.Record{Key: unhex(t, "00010001670001")}},
		{"an empty value", group("")},
		{"a group of version 5", group("0005")},
		{"an offset of version 5", wire.Record{Key: unhex(t, "000100016700017400000000"), Value: unhex(t, "0005")}},
		{"an offset that is cut", wire.Record{Key: unhex(t, "000100016700017400000000"), Value: unhex(t, "00030000")}},
		{"members that are not there", group("0003000163" + "00000001" + "0000" + "ffff" + "0000000000000000" + "7fffffff")},
		{"members without a protocol", group("0003000163" + "00000001" + "ffff" + "ffff" + "0000000000000000" + "00000001" + member)},
		{"a member twice", group("0003000163" + "00000001" + "0000" + "ffff" + "0000000000000000" + "00000002" + member + member)},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := New(DefaultConfig(), 1).Load(c.rec)
			var damage *RecordError
			if !errors.As(err, &damage) {
				t.Fatalf("Load gave %v, want a *RecordError", err)
			}
		})
	}
}

// TestLoadPassesOver: records of streams groups (17 and later) are of other keys, and 9 Kafka writes no longer.
func TestLoadPassesOver(t *testing.T) {
	for _, version := range []byte{9, 17, 18, 19, 20, 21, 22, 23} {
		c := New(DefaultConfig(), 1)
		if err := c.Load(wire.Record{Key: []byte{0, version, 0, 1, 'g'}, Value: []byte{0}}); err != nil || len(c.groups) != 0 {
			t.Errorf("key version %d: %v, %d groups", version, err, len(c.groups))
		}
	}
}
