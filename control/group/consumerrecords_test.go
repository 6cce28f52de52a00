package group

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// consumerGolden are records of consumer groups as Apache Kafka 4.1.1 wrote them to __consumer_offsets; those without a
// value are tombstones.
var consumerGolden = []struct{ what, key, value string }{
	{"a member", "00050019726d672d313739353936393232383930313736343533322d73000173",
		"0000000002630b2f3132372e302e302e31021b726d672d313739353936393232383930313736343533322d74310100002710" +
			"0001000100"},
	{"a group", "00030019726d672d313739353936393232383930313736343533322d73",
		"0000000000010100081e3e9f45714c4b64"},
	{"a target", "00070019726d672d313739353936393232383930313736343533322d73000173",
		"0000022e74d793b8bc4a848514f20e5173d307040000000000000001000000020000"},
	{"the targets' epoch", "00060019726d672d313739353936393232383930313736343533322d73",
		"00000000000100"},
	{"what a member owns", "00080019726d672d313739353936393232383930313736343533322d73000173",
		"0000000000010000000000022e74d793b8bc4a848514f20e5173d30704000000000000000100000002000100"},
	{"a member that asks for an assignor", "00050019726d672d313739353936393233303237343135383138302d67000161",
		"0000000002630b2f3132372e302e302e31031b726d672d313739353936393233303237343135383138302d74311b726d672d" +
			"313739353936393233303237343135383138302d743201000027100672616e676501000100"},
	{"a member that has to revoke", "00080019726d672d313739353936393233353935363536353134322d67000161",
		"000000000001000000010102adc8833330d349f6a50ed2e14f75b5b002000000000002adc8833330d349f6a50ed2e14f75b5" +
			"b002000000010000"},
	{"nothing is owned any longer", "00080019726d672d313739353936393233353935363536353134322d67000161",
		""},
	{"no target", "00070019726d672d313739353936393233353935363536353134322d67000161",
		""},
	{"no member", "00050019726d672d313739353936393233353935363536353134322d67000161",
		""},
	{"a group that reads nothing", "00030019726d672d313739353936393232383930313736343533322d73",
		"00000000000200"},
	{"no targets", "00060019726d672d313739353936393233303237343135383138302d67",
		""},
	{"no old metadata", "00040019726d672d313739353936393233303237343135383138302d67",
		""},
	{"no group", "00030019726d672d313739353936393233303237343135383138302d67",
		""},
	{"a regular expression", "00100019726d672d313739353936393233323234373534313932372d67001b726d672d313739353936393233323234373534" +
		"313932372d742e2a",
		"0000031b726d672d313739353936393233323234373534313932372d74311b726d672d313739353936393233323234373534" +
			"313932372d74320000000000003358000001a2281bb15f00"},
	{"no regular expression", "00100019726d672d313739353936393233323234373534313932372d670019726d672d313739353936393233323234373534" +
		"313932372d74",
		""},
	{"a static member", "00050019726d672d313739353936393233343735323232323536342d67000161",
		"00000369310002630b2f3132372e302e302e31021b726d672d313739353936393233343735323232323536342d7431010000" +
			"27100001000100"},
	{"a member of the classic protocol", "00050019726d672d313739353936393233393134393936333632362d7300166332584b765755445259796c424f6441376955" +
		"6b7641",
		"000002690002630b2f3132372e302e302e31021b726d672d313739353936393233393134393936333632362d743101000027" +
			"100001003f0100002710020672616e676531000300000001001a726d672d313739353936393233393134393936333632362d" +
			"7431ffffffff00000000ffffffffffff0000"},
}

// TestConsumerRecordsAreKafkas reads each record and writes it again.
func TestConsumerRecordsAreKafkas(t *testing.T) {
	for _, c := range consumerGolden {
		t.Run(c.what, func(t *testing.T) {
			rec := goldenRecord(t, c.key, c.value)
			kind := recordKind(binary.BigEndian.Uint16(rec.Key))
			id, of, err := readConsumerKey(kind, rec.Key)
			if err != nil {
				t.Fatal(err)
			}
			if got := consumerKey(id, recordName{kind, of}); !bytes.Equal(got, rec.Key) {
				t.Errorf("key\n%x, want\n%x", got, rec.Key)
			}
			if rec.Value == nil {
				return
			}
			if got := writtenAgain(t, kind, rec.Value[2:]); !bytes.Equal(got, rec.Value) {
				t.Errorf("value\n%x, want\n%x", got, rec.Value)
			}
		})
	}
}

func goldenRecord(t testing.TB, key, value string) wire.Record {
	rec := wire.Record{Key: unhex(t, key)}
	if value != "" {
		rec.Value = unhex(t, value)
	}
	return rec
}

// writtenAgain reads a value and gives it as it would be written.
func writtenAgain(t *testing.T, kind recordKind, value []byte) (out []byte) {
	r := &flexibleReader{rest: value}
	g := newGroup("g", 0)
	g.consumer = newConsumerGroup()
	m := newConsumerMember("m", g)
	g.consumer.members["m"] = m
	name := recordName{kind, "m"}
	switch kind {
	case recordGroup:
		g.consumer.epoch, g.consumer.metadataHash = readGroup(r)
	case recordMember:
		m.memberMetadata = readMemberMetadata(r)
	case recordTargetEpoch:
		g.consumer.targetEpoch = r.int32()
		r.tags(nil)
	case recordTarget:
		m.target, m.hasTarget = r.assignment(), true
		r.tags(nil)
	case recordCurrent:
		m.memberCurrent = readMemberCurrent(r)
	case recordRegex:
		regex := readRegex(r)
		regex.topicsVersion = binary.BigEndian.Uint64(value[len(value)-17:])
		g.consumer.regexes["m"] = &regex
	}
	if r.failed || len(r.rest) > 0 {
		t.Fatalf("it was not read: failed %t, %d bytes left", r.failed, len(r.rest))
	}
	return g.consumerValue(name)
}

// TestMetadataHashIsKafkas: the hash in the record of a group that reads one topic of three partitions, of a broker in rack-1.
func TestMetadataHashIsKafkas(t *testing.T) {
	id := wire.TopicID(unhex(t, "2e74d793b8bc4a848514f20e5173d307"))
	m, err := (&image.Image{}).With(image.TopicRecord{Name: "rmg-1795969228901764532-t1", ID: id, Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	v := topicView{image: m, rack: "rack-1", hashes: map[string]topicHash{}}
	for range 2 { // the second time from what is kept
		if got := v.hashAll([]string{"missing", "rmg-1795969228901764532-t1"}); got != 0x1e3e9f45714c4b64 {
			t.Errorf("%#x", got)
		}
	}
	if got := v.hashAll([]string{"missing"}); got != 0 {
		t.Errorf("of no topic: %#x", got)
	}
}
