package wire

import (
	"bytes"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The files of testdata/golden hold one line a version. Those from Produce 3 and Fetch 4 on were written by Apache Kafka
// 4.1.1's own message classes, the ones below, which it no longer has, by kmsg.

// goldenLines reads a file of lines of fields.
func goldenLines(t testing.TB, name string) [][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(string(data)) {
		lines = append(lines, strings.Fields(line))
	}
	if len(lines) == 0 {
		t.Fatalf("%s is empty", name)
	}
	return lines
}

// goldenVersions calls check with each version's bytes.
func goldenVersions(t *testing.T, name string, check func(t *testing.T, v APIVersion, want []byte)) {
	for _, line := range goldenLines(t, name) {
		t.Run("v"+line[0], func(t *testing.T) {
			check(t, APIVersion(atoi(t, line[0])), unhex(t, line[1]))
		})
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// counting gives n bytes: 0xa0, 0xa1, ...
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(0xa0 + i)
	}
	return b
}

var goldenID = TopicID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

// nameOrID gives what a version carries of a topic.
func nameOrID(name string, byID bool) ([]byte, TopicID) {
	if byID {
		return nil, goldenID
	}
	return []byte(name), TopicID{}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", what, got, want)
	}
}

func equalBytes(t *testing.T, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func TestGoldenProduceRequest(t *testing.T) {
	goldenVersions(t, "produce_request.txt", func(t *testing.T, v APIVersion, src []byte) {
		name, id := nameOrID("orders", v >= 13)
		want := ProduceRequest{TransactionalID: []byte("txn"), Acks: -1, TimeoutMS: 30000, Topics: []ProduceTopic{{
			Name: name, ID: id, Partitions: []ProducePartition{{Index: 7, Records: counting(5)}, {Index: 8}}}}}
		if v < 3 {
			want.TransactionalID = nil
		}
		var got ProduceRequest
		if err := got.Read(src, v); err != nil {
			t.Fatal(err)
		}
		got.partitions = nil
		equal(t, "request", got, want)
	})
}

func TestGoldenProduceResponse(t *testing.T) {
	goldenVersions(t, "produce_response.txt", func(t *testing.T, v APIVersion, want []byte) {
		name, id := nameOrID("orders", v >= 13)
		bad := FailedProduce(7, InvalidRecord, "bad")
		bad.LogStartOffset = 3
		bad.RecordErrors = []ProduceRecordError{{BatchIndex: 2, Message: "no key"}, {BatchIndex: 4}}
		r := ProduceResponse{ThrottleMS: 11, Topics: []ProduceTopicResponse{{Name: name, ID: id,
			Partitions: []ProducePartitionResponse{bad, {
				Index: 8, ErrorCode: NotLeaderOrFollower, BaseOffset: 1 << 40, LogAppendTime: 1700000000000, LogStartOffset: 5,
				CurrentLeader: CurrentLeader{Set: true, Leader: 2, Epoch: 9}}}}},
			NodeEndpoints: []NodeEndpoint{{Node: 2, Host: "node-2", Port: 9092, Rack: "r1"}, {Node: 3, Host: "node-3", Port: 9093}}}
		equalBytes(t, r.AppendTo(nil, v), want)
	})
}

func TestGoldenFetchRequest(t *testing.T) {
	goldenVersions(t, "fetch_request.txt", func(t *testing.T, v APIVersion, src []byte) {
		var got FetchRequest
		if err := got.Read(src, v); err != nil {
			t.Fatal(err)
		}
		equalBytes(t, got.AppendTo(nil, v), src)
		got.partitions, got.forgotten = nil, nil
		equal(t, "request", got, goldenFetchRequest(v))
	})
}

// goldenFetchRequest is what of the golden request version v carries, and defaults for the rest.
func goldenFetchRequest(v APIVersion) FetchRequest {
	name, id := nameOrID("orders", v >= 13)
	gone, _ := nameOrID("gone", v >= 13)
	first := FetchPartition{Index: 7, CurrentLeaderEpoch: 5, FetchOffset: 1 << 40, LastFetchedEpoch: 2, LogStartOffset: 6,
		MaxBytes: 1048576, ReplicaDirectoryID: goldenID, HighWatermark: 99}
	second := FetchPartition{Index: 8, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1, LogStartOffset: -1, MaxBytes: 10,
		HighWatermark: math.MaxInt64}
	r := FetchRequest{ReplicaID: 4, ReplicaEpoch: 77, MaxWaitMS: 500, MinBytes: 1, MaxBytes: 52428800, IsolationLevel: 1,
		SessionID: 12, SessionEpoch: 3, RackID: []byte("r1"), ClusterID: []byte("cluster"),
		Forgotten: []ForgottenTopic{{Name: gone, ID: id, Partitions: []PartitionIndex{1, 2}}}}
	if v < 18 {
		first.HighWatermark = math.MaxInt64
	}
	if v < 17 {
		first.ReplicaDirectoryID = TopicID{}
	}
	if v < 15 {
		r.ReplicaEpoch = -1
	}
	if v < 12 {
		r.ClusterID, first.LastFetchedEpoch = nil, -1
	}
	if v < 11 {
		r.RackID = nil
	}
	if v < 9 {
		first.CurrentLeaderEpoch = -1
	}
	if v < 4 {
		r.IsolationLevel = 0
	}
	if v < 3 {
		r.MaxBytes = math.MaxInt32
	}
	if v < 7 {
		r.Forgotten, r.SessionID, r.SessionEpoch = nil, 0, -1
	}
	if v < 5 {
		first.LogStartOffset = -1
	}
	r.Topics = []FetchTopic{{Name: name, ID: id, Partitions: []FetchPartition{first, second}}}
	return r
}

func TestGoldenFetchResponse(t *testing.T) {
	goldenVersions(t, "fetch_response.txt", func(t *testing.T, v APIVersion, want []byte) {
		r := goldenFetchResponse(v)
		dst, pieces := r.AppendTo([]byte("head"), v, nil)
		if len(pieces) != 2 || SizeWithRecords(len(dst), pieces) != int64(len("head")+len(want)) {
			t.Fatalf("pieces %v for %d bytes, want %d in all", pieces, len(dst), len("head")+len(want))
		}
		equalBytes(t, interleave(dst, pieces, counting)[len("head"):], want)
	})
}

// goldenFetchResponse is the golden response; version v may have less.
func goldenFetchResponse(v APIVersion) FetchResponse {
	name, id := nameOrID("orders", v >= 13)
	failed := FailedFetch(8, NotLeaderOrFollower)
	failed.DivergingEpoch = EpochEndOffset{Set: true, Epoch: 4, EndOffset: 44}
	failed.CurrentLeader = CurrentLeader{Set: true, Leader: 2, Epoch: 9}
	failed.SnapshotID = EpochEndOffset{Set: true, Epoch: 3, EndOffset: 33}
	return FetchResponse{ThrottleMS: 11, SessionID: 12, Topics: []FetchTopicResponse{{Name: name, ID: id,
		Partitions: []FetchPartitionResponse{
			{Index: 7, HighWatermark: 100, LastStableOffset: 90, LogStartOffset: 3, PreferredReadReplica: 2, RecordsLength: 5,
				Aborted: []AbortedTransaction{{ProducerID: 1000, FirstOffset: 50}}},
			failed,
			{Index: 9, HighWatermark: 100, LastStableOffset: 100, PreferredReadReplica: -1, RecordsLength: 200,
				Aborted: []AbortedTransaction{}}}}},
		NodeEndpoints: []NodeEndpoint{{Node: 2, Host: "node-2", Port: 9092, Rack: "r1"}}}
}

// TestGoldenFetchResponseView: what is read of the golden response is what was put into it, as far as its version goes and but for
// what a follower passes over.
func TestGoldenFetchResponseView(t *testing.T) {
	goldenVersions(t, "fetch_response.txt", func(t *testing.T, v APIVersion, src []byte) {
		var got FetchResponseView
		if err := got.Read(src, v); err != nil {
			t.Fatal(err)
		}
		want := goldenFetchResponse(v)
		if v < 7 {
			want.SessionID = 0
		}
		if v < 1 {
			want.ThrottleMS = 0
		}
		equal(t, "throttle, session", []int32{got.ThrottleMS, got.SessionID}, []int32{want.ThrottleMS, want.SessionID})
		compareFetchView(t, &got, &want, v)
	})
}

// compareFetchView compares the topics of what was read with those of what was written.
func compareFetchView(t *testing.T, got *FetchResponseView, want *FetchResponse, v APIVersion) {
	t.Helper()
	equal(t, "topics", len(got.Topics), len(want.Topics))
	for i := range got.Topics {
		g, w := &got.Topics[i], &want.Topics[i]
		compareTopic(t, g.Name, g.ID, string(w.Name), w.ID, v >= 13)
		equal(t, "partitions", len(g.Partitions), len(w.Partitions))
		for j := range g.Partitions {
			p := w.Partitions[j]
			p.forVersion(v)
			equal(t, "partition", g.Partitions[j].FetchPartitionResponse, p)
			equal(t, "records", len(g.Partitions[j].Records), int(p.RecordsLength))
			if p.RecordsLength > 0 {
				equalBytes(t, g.Partitions[j].Records, counting(int(p.RecordsLength)))
			}
		}
	}
}

// forVersion makes p what a view of version v has of it.
func (p *FetchPartitionResponse) forVersion(v APIVersion) {
	p.Aborted = nil
	if v < 12 {
		p.DivergingEpoch, p.CurrentLeader, p.SnapshotID = EpochEndOffset{}, CurrentLeader{}, EpochEndOffset{}
	}
	if v < 11 {
		p.PreferredReadReplica = NoNode
	}
	if v < 5 {
		p.LogStartOffset = NoOffset
	}
	if v < 4 {
		p.LastStableOffset = NoOffset
	}
}

// interleave puts records where pieces say, as a connection does.
func interleave(dst []byte, pieces []FetchPiece, records func(n int) []byte) (out []byte) {
	from := 0
	for _, p := range pieces {
		out = append(out, dst[from:p.HeaderEnd]...)
		out = append(out, records(int(p.RecordsLength))...)
		from = p.HeaderEnd
	}
	return append(out, dst[from:]...)
}

func TestGoldenHeaders(t *testing.T) {
	known := 0
	for _, line := range goldenLines(t, "request_header.txt") {
		key, v := APIKey(atoi(t, line[0])), APIVersion(atoi(t, line[1]))
		if _, ok := LookupAPI(key); !ok {
			continue // of Kafka's controllers
		}
		known++
		want := RequestHeader{Key: key, Version: v, CorrelationID: 0x01020304, ClientID: []byte("client-a")}
		src := unhex(t, line[2])
		got, body, err := ReadRequestHeader(append(src, "body"...))
		if err != nil || string(body) != "body" {
			t.Errorf("%v v%d: body %q, error %v", key, v, body, err)
		}
		equal(t, key.String(), got, want)
		equalBytes(t, AppendRequestHeader(nil, want), src)
		equalBytes(t, AppendResponseHeader(nil, key, v, 0x01020304), unhex(t, line[3]))
	}
	if known < 70 {
		t.Errorf("only %d keys compared", known)
	}
}
