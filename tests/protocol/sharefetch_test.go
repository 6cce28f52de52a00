package protocol

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// shareReader is a member of a share group with a session of its own on partition 0 of a topic.
type shareReader struct {
	*conn
	group  string
	topic  [16]byte
	member string
	epoch  int32

	waitMS, maxBytes, maxRecords, batchSize int32
}

// shared is a share group that begins at the start of a topic.
type shared struct {
	*shareState
	node    *harness.Node
	name    string
	members byte // that joined
}

func openShared(t *testing.T) *shared {
	t.Helper()
	node := sharingNode(t)
	s := &shared{shareState: &shareState{conn: dial(t, node), group: harness.Name("shared")}, node: node, name: node.CreateTopic(t, "shared", 1)}
	s.topic = s.topicID(s.name)
	s.awaitShareCoordinator(s.group + ":" + base64ID(s.topic) + ":0")
	harness.Await(t, "share coordinator", func() bool { return s.initialize(0, 0) == "ok" })
	return s
}

// patienceMS is the wait of who is about to get something.
const patienceMS = int32(patience / 2 / time.Millisecond)

func (s *shared) join() *shareReader {
	s.members++
	return &shareReader{
		conn: dial(s.t, s.node), group: s.group, topic: s.topic, member: base64ID([16]byte{15: s.members}),
		waitMS: 300, maxBytes: 1 << 20, maxRecords: 500, batchSize: 500,
	}
}

// fetch asks once, with acknowledgements "first-last:types", each type a digit.
func (m *shareReader) fetch(acks ...string) string {
	m.t.Helper()
	p := kmsg.NewShareFetchRequestTopicPartition()
	for _, text := range acks {
		first, last, types := readAck(m.t, text)
		p.AcknowledgementBatches = append(p.AcknowledgementBatches, kmsg.ShareFetchRequestTopicPartitionAcknowledgementBatch{FirstOffset: first, LastOffset: last, AcknowledgeTypes: types})
	}
	var parts []kmsg.ShareFetchRequestTopicPartition
	if m.epoch == 0 || len(acks) > 0 {
		parts = append(parts, p)
	}
	return m.fetchParts(parts...)
}

func (m *shareReader) fetchParts(parts ...kmsg.ShareFetchRequestTopicPartition) string {
	m.t.Helper()
	req := kmsg.NewPtrShareFetchRequest()
	req.GroupID, req.MemberID, req.ShareSessionEpoch = &m.group, &m.member, m.epoch
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.MaxRecords, req.BatchSize = m.waitMS, 1, m.maxBytes, m.maxRecords, m.batchSize
	if len(parts) > 0 {
		req.Topics = []kmsg.ShareFetchRequestTopic{{TopicID: m.topic, Partitions: parts}}
	}
	m.epoch++
	return m.told(ask[*kmsg.ShareFetchResponse](m.conn, 1, req))
}

// told prints an answer: "partition: error, ack error, first-last/deliveries … [batches]".
func (m *shareReader) told(res *kmsg.ShareFetchResponse) string {
	m.t.Helper()
	if res.ErrorCode != 0 {
		return said(res.ErrorCode, res.ErrorMessage)
	}
	var all []string
	for _, topic := range res.Topics {
		for _, p := range topic.Partitions {
			words := []string{fmt.Sprintf("%d:", p.Partition)}
			if p.ErrorCode != 0 {
				words = append(words, said(p.ErrorCode, p.ErrorMessage))
			}
			if p.AcknowledgeErrorCode != 0 {
				words = append(words, "ack "+said(p.AcknowledgeErrorCode, p.AcknowledgeErrorMessage))
			}
			for _, a := range p.AcquiredRecords {
				words = append(words, fmt.Sprintf("%d-%d/%d", a.FirstOffset, a.LastOffset, a.DeliveryCount))
			}
			for _, b := range batchesIn(m.t, p.Records) {
				words = append(words, fmt.Sprintf("[%d-%d]", b.FirstOffset, b.FirstOffset+int64(b.LastOffsetDelta)))
			}
			all = append(all, strings.Join(words, " "))
		}
	}
	return strings.Join(all, "; ")
}

func batchesIn(t *testing.T, records []byte) (all []kmsg.RecordBatch) {
	t.Helper()
	for len(records) > 0 {
		var b kmsg.RecordBatch
		if err := b.ReadFrom(records); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
		records = records[12+int(b.Length):]
	}
	return all
}

func readAck(t *testing.T, text string) (first, last int64, types []int8) {
	t.Helper()
	var digits string
	if n, _ := fmt.Sscanf(text, "%d-%d:%s", &first, &last, &digits); n < 2 {
		t.Fatalf("%q is no acknowledgement", text)
	}
	for _, d := range digits {
		types = append(types, int8(d-'0'))
	}
	return first, last, types
}

// acknowledge sends a ShareAcknowledge.
func (m *shareReader) acknowledge(acks ...string) string {
	m.t.Helper()
	req := kmsg.NewPtrShareAcknowledgeRequest()
	req.GroupID, req.MemberID, req.ShareSessionEpoch = &m.group, &m.member, m.epoch
	p := kmsg.NewShareAcknowledgeRequestTopicPartition()
	for _, text := range acks {
		first, last, types := readAck(m.t, text)
		p.AcknowledgementBatches = append(p.AcknowledgementBatches, kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch{FirstOffset: first, LastOffset: last, AcknowledgeTypes: types})
	}
	if len(acks) > 0 {
		req.Topics = []kmsg.ShareAcknowledgeRequestTopic{{TopicID: m.topic, Partitions: []kmsg.ShareAcknowledgeRequestTopicPartition{p}}}
	}
	m.epoch++
	res := ask[*kmsg.ShareAcknowledgeResponse](m.conn, 1, req)
	if res.ErrorCode != 0 || len(res.Topics) == 0 {
		return said(res.ErrorCode, res.ErrorMessage)
	}
	return said(res.Topics[0].Partitions[0].ErrorCode, res.Topics[0].Partitions[0].ErrorMessage)
}

func TestShareFetchAcknowledges(t *testing.T) {
	s := openShared(t)
	s.mustProduce(s.name, newBatch(record("a"), record("b"), record("c")))
	s.mustProduce(s.name, newBatch(record("d"), record("e")))
	one, two := s.join(), s.join()
	one.waitMS, two.waitMS = patienceMS, patienceMS
	want(t, "first fetch", one.fetch(), "0: 0-4/1 [0-2] [3-4]")
	two.waitMS = 100
	want(t, "nothing is left", two.fetch(), "0:")
	want(t, "nothing new", two.fetch(), "")
	want(t, "another's records", code(two.acknowledge("0-1:1")), "INVALID_RECORD_STATE")
	want(t, "some of them", one.acknowledge("0-0:1", "1-2:23"), "ok")
	two.waitMS = patienceMS
	want(t, "what was given back", two.fetch(), "0: 1-1/2 [0-2]")
	want(t, "twice", two.acknowledge("1-1:1"), "ok")
	want(t, "twice", two.acknowledge("1-1:1"), "ok")
	want(t, "after the end", two.acknowledge("4-9:1"), "INVALID_REQUEST Batch record not found. The last offset in request is past acquired records.")
	want(t, "after the end", two.acknowledge("7-9:1"), "INVALID_REQUEST Batch record not found. The first offset in request is past acquired records.")
	want(t, "the rest", one.acknowledge("3-4:1"), "ok")
	want(t, "of nothing", one.acknowledge("5-5:1"), "INVALID_RECORD_STATE Batch record not found. The request batch offsets are not found in the cache.")
	one.waitMS = 100
	want(t, "all is done", one.fetch(), "")
	s.mustProduce(s.name, newBatch(record("f")))
	one.waitMS = patienceMS
	want(t, "the next", one.fetch(), "0: 5-5/1 [5-5]")
	one.waitMS = 100
	want(t, "with the next fetch", strings.ReplaceAll(one.fetch("5-5:3"), " ", ""), "0:")
}

func TestShareFetchLimits(t *testing.T) {
	s := openShared(t)
	for i := range 6 {
		s.mustProduce(s.name, newBatch(record(fmt.Sprint("a", i)), record("b"), record("c")))
	}
	m := s.join()
	m.waitMS = patienceMS
	m.maxRecords = 0
	want(t, "no records", m.fetch(), "0:")
	m.maxRecords = 4
	want(t, "four records are two batches", m.fetch(), "0: 0-5/1 [0-2] [3-5]")
	m.batchSize = 2
	want(t, "ranges of two records", m.fetch(), "0: 6-8/1 9-11/1 [6-8] [9-11]")
	m.batchSize, m.maxRecords = 500, 1
	want(t, "one record", m.fetch(), "0: 12-14/1 [12-14]")
	m.maxRecords, m.maxBytes = 500, 1
	want(t, "one byte", m.fetch(), "0: 15-17/1 [15-17]")
}

// code is what an answer says without the message.
func code(said string) string { return strings.Fields(said)[0] }

// fetchSome asks until there is something: what is given back is there when it is written down.
func (m *shareReader) fetchSome() (told string) {
	m.t.Helper()
	harness.Await(m.t, "records for "+m.member, func() bool {
		told = m.fetch()
		return strings.Contains(told, "/")
	})
	return told
}

func TestShareFetchGivesBack(t *testing.T) {
	s := openShared(t)
	s.mustProduce(s.name, newBatch(record("a"), record("b")))
	one, two := s.join(), s.join()
	want(t, "first", one.fetchSome(), "0: 0-1/1 [0-1]")
	one.epoch = -1
	want(t, "the end of a session", one.acknowledge("0-0:1"), "ok")
	want(t, "what it had is given back", two.fetchSome(), "0: 1-1/1 [0-1]")
	two.epoch = -1
	want(t, "its end, by a fetch", two.fetch("1-1:2"), "0:")
	two.epoch = 0
	want(t, "anew", two.fetchSome(), "0: 1-1/2 [0-1]")
	two.net.Close()
	one.epoch = 0
	want(t, "what a closed connection had", one.fetchSome(), "0: 1-1/2 [0-1]")
}

func TestShareSessionErrors(t *testing.T) {
	s := openShared(t)
	m := s.join()
	m.waitMS = 50
	const notFound, badEpoch = "SHARE_SESSION_NOT_FOUND <null>", "INVALID_SHARE_SESSION_EPOCH <null>"
	for _, epoch := range []int32{-1, 1, 7} {
		m.epoch = epoch
		want(t, "fetch without a session", m.fetch(), notFound)
		m.epoch = epoch
		want(t, "acknowledgement without one", m.acknowledge("0-0:1"), notFound)
	}
	m.epoch = 0
	want(t, "acknowledgement of the first epoch", m.acknowledge("0-0:1"), badEpoch)
	m.epoch = 0
	want(t, "acknowledgements in the first fetch", m.fetch("0-0:1"), "INVALID_REQUEST <null>")
	m.epoch = 0
	want(t, "first", m.fetch(), "0:")
	want(t, "second", m.fetch(), "")
	m.epoch = 1
	want(t, "the second once more", m.fetch(), badEpoch)
	m.epoch = 3
	want(t, "one left out", m.acknowledge("0-0:1"), badEpoch)
	m.epoch = 0
	m.member = "short"
	want(t, "a member that is no UUID", m.fetch(), "UNKNOWN_SERVER_ERROR <null>")
}

func TestShareAcknowledgementsAreChecked(t *testing.T) {
	s := openShared(t)
	s.mustProduce(s.name, newBatch(record("a"), record("b"), record("c")))
	m := s.join()
	m.waitMS = patienceMS
	want(t, "first", m.fetch(), "0: 0-2/1 [0-2]")
	for _, bad := range [][]string{{"1-0:1"}, {"0-2:"}, {"0-2:12"}, {"0-2:4"}, {"1-1:1", "0-0:1"}} {
		want(t, fmt.Sprint(bad), m.acknowledge(bad...), "INVALID_REQUEST <null>")
	}
	want(t, "a record twice", code(m.acknowledge("0-1:1", "1-2:1")), "INVALID_RECORD_STATE")
	want(t, "all or none of it", m.acknowledge("0-2:1"), "ok")
}

func TestShareFetchOfNoPartition(t *testing.T) {
	s := openShared(t)
	m := s.join()
	m.waitMS = 50
	part := func(index int32) kmsg.ShareFetchRequestTopicPartition {
		p := kmsg.NewShareFetchRequestTopicPartition()
		p.Partition = index
		return p
	}
	want(t, "no such partition", m.fetchParts(part(9)), "9: UNKNOWN_TOPIC_OR_PARTITION <null>")
	want(t, "again", m.fetch(), "9: UNKNOWN_TOPIC_OR_PARTITION <null>")
	m.epoch, m.topic[5] = 0, m.topic[5]^0xff
	unknown := departure(s.node, "UNKNOWN_SERVER_ERROR <null>", "0: UNKNOWN_TOPIC_ID <null>", "Kafka 4.1.1 meets a topic without a name")
	want(t, "no such topic", m.fetch(), unknown)
	want(t, "again", m.fetch(), unknown)
	want(t, "acknowledged", m.acknowledge("0-0:1"), "UNKNOWN_TOPIC_ID <null>")
}

// A group whose state was never begun has nothing to fetch.
func TestShareFetchWithoutState(t *testing.T) {
	s := openShared(t)
	m := s.join()
	m.group = harness.Name("stateless")
	m.waitMS = patienceMS
	want(t, "fetch", m.fetch(), "0: UNKNOWN_SERVER_ERROR <null>")
}
