package replicate_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// TestFetcherTranscripts plays testdata/fetcher/*.txt. A partition is T-I: the topic whose id is T, the index I. now=, in milliseconds,
// holds until the next one. Commands:
//
//	fetcher [min=]                                     replica.fetch.wait.max.ms 500, backoff 1000 ms, from min on
//	add T-I epoch= offset= [last=] [start=] [throttled] [unsettled]
//	remove T-I, ready T-I offset= [last=] [start=], backoff T-I
//	next [budget=]                                     the request, or when there will be one
//	answer [session=] [error=]                         a response; its partitions stand below, one a line:
//	                                                   T-I [hw=] [bytes=] [error=] [diverging=epoch,end] [start=] [leader=]
//	lost
func TestFetcherTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/fetcher", func(t *testing.T, file string) {
		f := &fetcherPlayer{}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			f.t, f.d, f.out = t, d, &strings.Builder{}
			f.run()
			return f.out.String()
		})
	})
}

type fetcherPlayer struct {
	t   *testing.T
	d   *datadriven.TestData
	out *strings.Builder
	now time.Duration
	f   *replicate.Fetcher
}

func (f *fetcherPlayer) run() {
	if f.d.HasArg("now") {
		f.now = time.Duration(f.num("now", 0)) * time.Millisecond
	}
	command := map[string]func(){
		"fetcher": f.make, "add": f.add, "next": f.next, "answer": f.answer,
		"remove":  func() { topic, index := f.partition(f.d.CmdArgs[0].Key); f.f.Remove(topic, index) },
		"backoff": func() { topic, index := f.partition(f.d.CmdArgs[0].Key); f.f.BackOff(topic, index, f.now) },
		"ready": func() {
			topic, index := f.partition(f.d.CmdArgs[0].Key)
			f.f.Ready(topic, index, f.position(), wire.Offset(f.num("start", 0)))
		},
		"lost": func() { f.f.Lost() },
	}[f.d.Cmd]
	if command == nil {
		f.d.Fatalf(f.t, "unknown command %q", f.d.Cmd)
	}
	command()
}

func (f *fetcherPlayer) printf(format string, args ...any) { fmt.Fprintf(f.out, format+"\n", args...) }

func (f *fetcherPlayer) num(name string, def int64) int64 {
	if f.d.HasArg(name) {
		f.d.ScanArgs(f.t, name, &def)
	}
	return def
}

func (f *fetcherPlayer) must(err error) {
	if err != nil {
		f.d.Fatalf(f.t, "%v", err)
	}
}

// partition reads T-I.
func (f *fetcherPlayer) partition(word string) (topic wire.TopicID, index wire.PartitionIndex) {
	t, i, _ := strings.Cut(word, "-")
	n, err := strconv.Atoi(i)
	f.must(err)
	topic[0] = t[0]
	return topic, wire.PartitionIndex(n)
}

func (f *fetcherPlayer) position() replicate.Position {
	return replicate.Position{Offset: wire.Offset(f.num("offset", 0)), LastEpoch: wire.LeaderEpoch(f.num("last", f.num("epoch", 1)))}
}

func (f *fetcherPlayer) make() {
	f.f = replicate.NewFetcher(replicate.FetcherConfig{
		Replica: 2, BrokerEpoch: 7, WaitMaxMS: 500, MinBytes: 1, MaxBytes: 1000, PartitionMaxBytes: 100, Backoff: time.Second,
		BackoffMin: time.Duration(f.num("min", 0)) * time.Millisecond,
	})
}

func (f *fetcherPlayer) add() {
	topic, index := f.partition(f.d.CmdArgs[0].Key)
	f.f.Add(replicate.FetchTarget{
		Ref: f.d.CmdArgs[0].Key, Topic: topic, Index: index, Epoch: wire.LeaderEpoch(f.num("epoch", 1)), Position: f.position(),
		LogStart: wire.Offset(f.num("start", 0)), Throttled: f.d.HasArg("throttled"),
	}, !f.d.HasArg("unsettled"))
}

// next prints the request as the leader reads it.
func (f *fetcherPlayer) next() {
	r := f.f.Next(f.now, f.num("budget", math.MaxInt64))
	if r == nil {
		at, ok := f.f.NextDue()
		f.printf("none: out %v, settling %d, due at %d %v", f.f.Out(), f.f.Settling(), at.Milliseconds(), ok)
		return
	}
	var in wire.FetchRequest
	f.must(in.Read(r.AppendTo(nil, 17), 17))
	f.printf("replica %d (%d), session %d epoch %d, wait %d", in.ReplicaID, in.ReplicaEpoch, in.SessionID, in.SessionEpoch, in.MaxWaitMS)
	for _, t := range in.Topics {
		for _, p := range t.Partitions {
			f.printf("fetch %c-%d from %d of epoch %d, log start %d, in epoch %d", t.ID[0], p.Index, p.FetchOffset, p.LastFetchedEpoch, p.LogStartOffset, p.CurrentLeaderEpoch)
		}
	}
	for _, t := range in.Forgotten {
		for _, index := range t.Partitions {
			f.printf("forget %c-%d", t.ID[0], index)
		}
	}
}

var fetchCodes = []wire.ErrorCode{
	wire.None, wire.FetchSessionIDNotFound, wire.InvalidFetchSessionEpoch, wire.ClusterAuthorizationFailed, wire.NotLeaderOrFollower, wire.OffsetOutOfRange,
}

func (f *fetcherPlayer) code(name string) wire.ErrorCode {
	for _, code := range fetchCodes {
		if code.String() == name {
			return code
		}
	}
	f.d.Fatalf(f.t, "unknown code %q", name)
	return 0
}

// answer writes the response that the input describes, and prints what is to be done about it.
func (f *fetcherPlayer) answer() {
	name := "NONE"
	if f.d.HasArg("error") {
		f.d.ScanArgs(f.t, "error", &name)
	}
	out := wire.FetchResponse{SessionID: int32(f.num("session", 0)), ErrorCode: f.code(name)}
	for _, line := range strings.Split(f.d.Input, "\n") {
		if line != "" {
			f.addAnswer(&out, strings.Fields(line))
		}
	}
	dst, pieces := out.AppendTo(nil, 17, nil)
	var whole []byte
	from := 0
	for _, p := range pieces {
		whole = append(append(whole, dst[from:p.HeaderEnd]...), make([]byte, p.RecordsLength)...)
		from = p.HeaderEnd
	}
	var in wire.FetchResponseView
	f.must(in.Read(append(whole, dst[from:]...), 17))
	actions, code := f.f.Answer(f.now, &in)
	if code != wire.None {
		f.printf("refused: %s", code)
	}
	for i := range actions {
		f.show(&actions[i])
	}
}

func (f *fetcherPlayer) addAnswer(out *wire.FetchResponse, words []string) {
	topic, index := f.partition(words[0])
	p := wire.FetchPartitionResponse{Index: index, PreferredReadReplica: wire.NoNode}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "hw":
			p.HighWatermark = wire.Offset(n)
		case "start":
			p.LogStartOffset = wire.Offset(n)
		case "bytes":
			p.RecordsLength = int32(n)
		case "error":
			p.ErrorCode = f.code(value)
		case "leader":
			p.CurrentLeader = wire.CurrentLeader{Set: true, Leader: wire.NodeID(n), Epoch: 9}
		case "diverging":
			p.DivergingEpoch.Set = true
			_, err := fmt.Sscanf(value, "%d,%d", &p.DivergingEpoch.Epoch, &p.DivergingEpoch.EndOffset)
			f.must(err)
		default:
			f.d.Fatalf(f.t, "unknown word %q", word)
		}
	}
	out.AddTopic(nil, topic)
	out.AddPartition(p)
}

var fetchKinds = map[replicate.FetchKind]string{
	replicate.FetchNews: "news", replicate.FetchRecords: "records", replicate.FetchDiverged: "diverged",
	replicate.FetchOutOfRange: "out of range", replicate.FetchFailed: "failed",
}

func (f *fetcherPlayer) show(a *replicate.FetchAction) {
	f.printf("%v: %s, asked from %d of epoch %d in %d, high watermark %d, log start %d, %d bytes", a.Ref, fetchKinds[a.Kind], a.Offset, a.LastEpoch, a.Epoch,
		a.HighWatermark, a.LogStart, len(a.Records))
	switch {
	case a.Kind == replicate.FetchFailed:
		f.printf("  %s, leader %d in epoch %d", a.Code, a.Leader.Leader, a.Leader.Epoch)
		if a.Lasting {
			f.printf("  lasting")
		}
	case a.Kind == replicate.FetchDiverged:
		f.printf("  epoch %d ends at %d", a.Diverging.Epoch, a.Diverging.EndOffset)
	case a.Kind == replicate.FetchOutOfRange:
		f.printf("  the leader's end is %d", a.LeaderEnd)
	case a.Throttled:
		f.printf("  throttled")
	}
}
