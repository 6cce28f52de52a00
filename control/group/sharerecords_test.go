package group

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// shareGolden are records of share groups as Apache Kafka 4.1.1 wrote them to __consumer_offsets; those without a value are
// tombstones.
var shareGolden = []struct{ what, key, value string }{
	{"a member", "000a0019726d672d313739353937353633383831373633313238302d67000161",
		"00000002630b2f3132372e302e302e310100"},
	{"a member in a rack", "000a0019726d672d313739353937353530363334323337353131322d67000161",
		"0000027202630b2f3132372e302e302e31021b726d672d313739353937353530363334323337353131322d743100"},
	{"no member", "000a001a726d672d313739353937353633323837383633313037352d6732000161", ""},
	{"a group", "000b001a726d672d313739353937353633323837383633313037352d6732",
		"000000000001e400c99b42d952e800"},
	{"no group", "000b0019726d672d313739353937353633383831373633313238302d67", ""},
	{"the targets' epoch", "000c001a726d672d313739353937353633323837383633313037352d6732", "00000000000100"},
	{"no targets", "000c0019726d672d313739353937353633383831373633313238302d67", ""},
	{"a target", "000d0019726d672d313739353937353530313230303731323737342d670005616c706861",
		"0000020ecaa5dbc0454aaa9b04b55809132cfa040000000100000003000000040000"},
	{"a target of nothing", "000d001a726d672d313739353937353633323837383633313037352d6732000161", "00000100"},
	{"no target", "000d001a726d672d313739353937353633323837383633313037352d6732000161", ""},
	{"where a member stands", "000e0019726d672d313739353937353530313230303731323737342d670005616c706861",
		"0000000000030000000200020ecaa5dbc0454aaa9b04b55809132cfa05000000000000000100000003000000040000"},
	{"a member that is gone", "000e001a726d672d313739353937353633323837383633313037352d6732000161", ""},
	{"states under way", "000f001a726d672d313739353937353635343637343636313939302d6732",
		"0000021904209617d848918ac93a7ca7c88e121b726d672d313739353937353635343637343636313939302d743204000000" +
			"01000000020000000300021904209617d848918ac93a7ca7c88e121b726d672d313739353937353635343637343636313939" +
			"302d74320200000000000100"},
	{"states", "000f0019726d672d313739353937353530363334323337353131322d67",
		"000002c756851873444aa59168e8e302bf524f1b726d672d313739353937353530363334323337353131322d743104000000" +
			"00000000010000000200010100"},
	{"states that go", "000f001a726d672d313739353937353633323837383633313037352d6732",
		"0000010102dabc8f80f6a04fa780394473e0d141b11b726d672d313739353937353633323837383633313037352d74330000"},
	{"no states", "000f0019726d672d313739353937353633383831373633313238302d67", ""},
}

// TestShareRecordsAreKafkas reads each record and writes it again.
func TestShareRecordsAreKafkas(t *testing.T) {
	for _, c := range shareGolden {
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
			if got := shareWrittenAgain(t, kind, rec.Value[2:]); !bytes.Equal(got, rec.Value) {
				t.Errorf("value\n%x, want\n%x", got, rec.Value)
			}
		})
	}
}

// shareWrittenAgain reads a value and gives it as it would be written.
func shareWrittenAgain(t *testing.T, kind recordKind, value []byte) []byte {
	r := &flexibleReader{rest: value}
	l := &loadedShare{members: map[string]*loadedSharer{}}
	readShareValue(kind, "m", r)(l)
	if r.failed || len(r.rest) > 0 {
		t.Fatalf("it was not read: failed %t, %d bytes left", r.failed, len(r.rest))
	}
	g := newGroup("g", 0)
	g.share = newShareGroup()
	g.share.epoch, g.share.metadataHash, g.share.targetEpoch = l.epoch, l.metadataHash, l.targetEpoch
	if l.topics != nil {
		g.share.topics = *l.topics
	}
	m := newShareMember("m", g)
	g.share.members["m"] = m
	from := l.member("m")
	if from.metadata != nil {
		m.shareMetadata = *from.metadata
	}
	if from.current != nil {
		m.shareCurrent = *from.current
	}
	if from.target != nil {
		m.target, m.hasTarget = *from.target, true
	}
	return g.shareValue(recordName{kind, "m"})
}
