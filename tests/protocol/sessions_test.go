package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// session is one incremental fetch session (KIP-227) on a topic of two partitions.
type session struct {
	*conn
	topic string
	id    int32
	epoch int32
}

func openSession(t *testing.T) *session {
	t.Helper()
	return openSessionAt(t, harness.Shared(t))
}

func openSessionAt(t *testing.T, node *harness.Node) *session {
	t.Helper()
	s := &session{conn: dial(t, node), topic: node.CreateTopic(t, "session", 2)}
	res := s.ask(map[int32]int64{0: 0, 1: 0})
	if res.SessionID == 0 {
		t.Fatal("no session")
	}
	want(t, "partitions in the first answer", count(res), 2)
	s.id = res.SessionID
	return s
}

// ask sends the next request of the session with the partitions named, and counts its epoch.
func (s *session) ask(offsets map[int32]int64, forget ...int32) *kmsg.FetchResponse {
	s.t.Helper()
	req := fetchRequest(s.topic, 0, 0)
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	req.Topics[0].Partitions = nil
	for partition := range int32(2) {
		if offset, ok := offsets[partition]; ok {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
		}
	}
	if len(offsets) == 0 {
		req.Topics = nil
	}
	if len(forget) > 0 {
		req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: s.topic, Partitions: forget}}
	}
	s.epoch++
	return ask[*kmsg.FetchResponse](s.conn, fetchVersion, req)
}

func count(res *kmsg.FetchResponse) (partitions int) {
	for _, t := range res.Topics {
		partitions += len(t.Partitions)
	}
	return partitions
}

func TestSessionAnswersChangesOnly(t *testing.T) {
	t.Parallel()
	s := openSession(t)
	res := s.ask(nil)
	want(t, "session", res.SessionID, s.id)
	want(t, "nothing new", count(res), 0)
	s.mustProduce(s.topic, newBatch(record("v")))
	res = s.ask(nil)
	if count(res) != 1 || res.Topics[0].Partitions[0].Partition != 0 {
		t.Fatalf("after a produce to partition 0: %+v", res.Topics)
	}
	want(t, "high watermark", res.Topics[0].Partitions[0].HighWatermark, 1)
	want(t, "read on", count(s.ask(map[int32]int64{0: 1})), 0)
}

func TestSessionForgets(t *testing.T) {
	t.Parallel()
	s := openSession(t)
	s.mustProduce(s.topic, newBatch(record("v")))
	want(t, "forgotten partition is silent", count(s.ask(nil, 0)), 0)
	want(t, "and comes back when it is asked for", count(s.ask(map[int32]int64{0: 0})), 1)
}

func TestSessionErrors(t *testing.T) {
	t.Parallel()
	s := openSession(t)
	for _, row := range []struct {
		name      string
		id, epoch int32
		want      *kerr.Error
	}{
		{"unknown session", s.id + 12345, 1, kerr.FetchSessionIDNotFound},
		{"an epoch too far", s.id, 7, kerr.InvalidFetchSessionEpoch},
		{"an epoch again", s.id, 9, kerr.InvalidFetchSessionEpoch},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := fetchRequest(s.topic, 0, 0)
			req.SessionID, req.SessionEpoch = row.id, row.epoch
			res := ask[*kmsg.FetchResponse](s.conn, fetchVersion, req) // a session is used where it was opened
			wantCode(t, row.name, res.ErrorCode, row.want)
			want(t, "topics", len(res.Topics), 0)
		})
	}
	want(t, "the session is as it was", count(s.ask(nil)), 0)
}

// Epoch -1 with an id ends the session: the id is unknown afterwards.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	s := openSession(t)
	last := fetchRequest(s.topic, 0, 0)
	last.SessionID, last.SessionEpoch = s.id, -1
	res := ask[*kmsg.FetchResponse](s.conn, fetchVersion, last)
	wantCode(t, "last fetch", res.ErrorCode, nil)
	want(t, "session", res.SessionID, 0)
	wantCode(t, "after the end", s.ask(nil).ErrorCode, kerr.FetchSessionIDNotFound)
}

// A client that opens a session with each fetch fills the cache (linkedin/Burrow#621): it is served all the same, without a
// session once no slot is free, and a session in use stays. The node is its own: a full cache would fail the other tests.
func TestSessionFlood(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	s := openSessionAt(t, node)
	other := dial(t, node)
	for range 1500 { // above max.incremental.fetch.session.cache.slots
		req := fetchRequest(s.topic, 0, 0)
		req.SessionEpoch = 0
		res := ask[*kmsg.FetchResponse](other, fetchVersion, req)
		wantCode(t, "fetch", res.ErrorCode, nil)
		want(t, "partitions", count(res), 1)
	}
	res := s.ask(nil)
	wantCode(t, "the session that was there before", res.ErrorCode, nil)
	want(t, "its id", res.SessionID, s.id)
}
