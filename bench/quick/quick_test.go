package quick

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
	"github.com/ringmill/ringmill/bench/limits"
)

// over is a run with so many records a second, of 100 bytes.
func over(rate float64) *bench.Report {
	r := &bench.Report{Verdict: bench.VerdictValid, ElapsedSeconds: 10, Client: bench.ReportClient{CPUSeconds: 4, Processors: 2}}
	r.Produced.RecordsPerSecond, r.Produced.BytesPerSecond = rate, rate*100
	return r
}

// disk does 1,000 syncs a second of small groups, and 100 MB/s; its loopback has 1 GB/s.
func disk() *limits.NodeLimits {
	n := &limits.NodeLimits{Append: limits.Limit{BytesPerSecond: 100e6}, Stream: limits.Limit{BytesPerSecond: 1e9}}
	for range limits.SyncBytes {
		n.Syncs = append(n.Syncs, limits.Limit{OperationsPerSecond: 1000})
	}
	return n
}

// The sentence names the limit that is nearest, with its share; where none is near it says that, and where none was measured that.
func TestBottleneck(t *testing.T) {
	local := &Node{Local: true}
	for name, c := range map[string]struct {
		use      Use
		measured *limits.NodeLimits
		client   float64
		want     string
		near     bool
	}{
		"syncs":      {Use{SyncsPerSecond: 970, SyncRecords: 12, SyncBytes: 1200, DiskWrittenBytesPerSecond: 1e6, MachineBusy: 0.9}, disk(), 1e6, "the limit is syncs of the disk: 970 syncs a second of 12 records (1.2 kB) = 97 % of the 1,000 that the disk does.", true},
		"disk":       {Use{WrittenBytesPerSecond: 300e6, DiskWrittenBytesPerSecond: 85e6}, disk(), 1e6, "the limit is writing to the disk: 85 MB/s = 85 % of the 100 MB/s", true},
		"disk, full": {Use{DiskWrittenBytesPerSecond: 105e6}, disk(), 1e6, "the limit is writing to the disk: 105 MB/s = 100 % of the 100 MB/s", true},
		"no limit":   {Use{DiskWrittenBytesPerSecond: 150e6}, disk(), 100_000, "nothing that was measured is near its limit; the nearest is the client", false},
		"client":     {Use{}, disk(), 12_500, "the limit is the client: 10,000 records/s = 80 % of the 12,500", true},
		"thread":     {Use{BusiestThread: 0.99, Processors: 1.5}, disk(), 1e6, "the limit is one thread of the node: its busiest thread is busy 99 %", true},
		"processors": {Use{MachineBusy: 0.98, MachineProcessors: 2, Processors: 1.5}, disk(), 1e6, "the limit is the machine's processors: all 2 are busy 98 % of the time, with 1.50 of them for the node, 0.40 for the client and 0.06 for the kernel and others.", true},
		"none near":  {Use{SyncsPerSecond: 430, SyncRecords: 1, SyncBytes: 100}, disk(), 1e6, "nothing that was measured is near its limit; the nearest is syncs of the disk: 430 syncs", false},
		"far away":   {Use{}, nil, 100_000, "nothing that was measured is near its limit; the nearest is the client: 10,000 records/s = 10 %", false},
		"nothing":    {Use{}, nil, 0, "no limit could be measured", false},
	} {
		b := bottleneck(10_000, shares(over(10_000), c.use, local, c.measured, c.client))
		if !strings.HasPrefix(b.Said, "At 10,000 records/s, ") || !strings.Contains(b.Said, c.want) || b.Near != c.near {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// A ringmill node says which of its stages makes the p99, which the sentence goes on with.
func TestBottlenecksStage(t *testing.T) {
	b := Bottleneck{Said: "A sentence."}
	run := over(1)
	if b.stage(run); b.Said != "A sentence." || b.Stage != "" {
		t.Errorf("%+v of a node that says nothing", b)
	}
	run.Stages = &bench.ReportStages{Requests: []bench.RequestStages{{API: "Fetch", P99Stage: "sent", Reading: "Not this."}, {API: "Produce", P99Stage: "synced", Reading: "Produce took long."}}}
	if b.stage(run); b.Said != "A sentence. Produce took long." || b.Stage != "synced" {
		t.Errorf("%+v", b)
	}
}

// What was used is over the time between the samples, of that which both have.
func TestBetween(t *testing.T) {
	a := sample{at: 1e9, hasCPU: true, hasMetrics: true, hasMachineTime: true, threads: map[int]time.Duration{1: time.Second}, busy: time.Second, all: 2 * time.Second, told: told{2, 100, 1000, 10}}
	b := sample{at: 3e9, hasCPU: true, hasMetrics: true, hasMachineTime: true, hasIO: true, threads: map[int]time.Duration{1: 2 * time.Second, 2: 1500 * time.Millisecond}, busy: 4 * time.Second, all: 6 * time.Second, told: told{2, 300, 5000, 110}}
	b.node.User, b.written = 3*time.Second, 999
	a.hasDisk, b.hasDisk, a.disk, b.disk = true, true, 1000, 5000
	got := between(a, b)
	if got != (Use{Processors: 1.5, BusiestThread: 0.75, CPUSeconds: 3, MachineBusy: 0.75, MachineProcessors: 2, SyncsPerSecond: 100, SyncBytes: 20, SyncRecords: 0.5, DiskWrittenBytesPerSecond: 2000}) {
		t.Errorf("%+v", got)
	}
	if got := between(b, a); got != (Use{}) {
		t.Errorf("backwards: %+v", got)
	}
}

func TestParseMetrics(t *testing.T) {
	got, err := parseMetrics(strings.NewReader("# HELP x y\nringmill_sync_rounds_total{loop=\"0\"} 5\nringmill_sync_rounds_total{loop=\"1\"} 7\nringmill_appended_bytes_total{loop=\"0\"} 1e3\nringmill_appended_records_total{loop=\"0\"} 10\nother 1\n"))
	if err != nil || got != (told{2, 12, 1000, 10}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseMetrics(strings.NewReader("ringmill_sync_rounds_total{loop=\"0\"} many\n")); err == nil {
		t.Error("read what is no number")
	}
}

// asked is a quick look at a server, in a few seconds.
func asked(t *testing.T, s *benchtest.Server) *Quick {
	names := 0
	return &Quick{
		Trial:  bench.Trial{Addresses: s.Addresses(), Partitions: 2, ReplicationFactor: 1, Producers: 1, Consumers: 1, RecordBytes: 100, BatchRecords: 10, MaxInFlight: 2, Acks: -1, Patience: 30 * time.Second},
		Topic:  func() string { names++; return "quick-" + string(rune('a'+names)) },
		Bounds: []bench.Bound{{Measure: measure(t, "p99"), Max: 20 * time.Second}}, Duration: 3 * time.Second, Dir: t.TempDir(), Metrics: "127.0.0.1:1",
		Progress: func(what string) { t.Log(what) }}
}

func measure(t *testing.T, name string) bench.Measure {
	m, err := bench.MeasureNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func server(t *testing.T) *benchtest.Server {
	s := benchtest.New(1, benchtest.Constant(20*time.Millisecond))
	t.Cleanup(s.Close)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	return s
}

// A server that takes 20 ms for a batch acknowledges 2 requests of 10 records each 20 ms, whatever this machine can do: its capacity is known, and no
// limit of the machine's is near, unless the machine is busy with other things.
func TestRun(t *testing.T) {
	s := server(t)
	r, err := asked(t, s).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if rate := r.Capacity.Run.Produced.RecordsPerSecond; rate > 1010 || rate < 100 {
		t.Errorf("capacity %v, want 1,000 or, on a busy machine, less", rate)
	}
	if b := r.Bottleneck; b.Near && b.Name != "the machine's processors" && b.Name != "one thread of the node" && b.Name != "writing to the disk" {
		t.Errorf("%+v", b)
	}
	if len(r.Limits) != 5 || r.ClientAlone == nil || len(r.Shares) < 3 || !r.Node.Local || len(r.Node.PIDs) != 1 || r.Node.PIDs[0] != os.Getpid() || r.Node.Metrics != "" {
		t.Errorf("limits %v, shares %v, node %+v", r.Limits, r.Shares, r.Node)
	}
	if r.Failed == "" && (len(r.Points) != 3 || math.Abs(r.Points[0].Run.Config.RatePerSecond-r.Found.Rate/2) > 1 || r.Points[2].Use.ResidentBytes <= 0) {
		t.Errorf("%d points, found %+v", len(r.Points), r.Found)
	}
	if r.Found != nil && r.Found.Rate > r.Capacity.Run.Produced.RecordsPerSecond {
		t.Errorf("found %+v above what a closed loop does", r.Found)
	}
	for i := range r.Points {
		if c := r.Points[i].Run.Config; c.BatchRecords != 10 || r.Points[i].Run.Produced.Records == 0 {
			t.Errorf("point %d: %+v", i, c)
		}
	}
	if len(s.Topics()) > 0 || len(r.Reading()) < 2 {
		t.Errorf("topics %v, reading %v", s.Topics(), r.Reading())
	}
}

// Metrics are the node's if its process tells them, or if it is said so; of a cluster nobody's.
func TestFindNode(t *testing.T) {
	mine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `ringmill_sync_rounds_total{loop="0"} 5`)
	}))
	defer mine.Close()
	at := strings.TrimPrefix(mine.URL, "http://")
	one, two := bench.Trial{Addresses: server(t).Addresses()}, benchtest.New(2, benchtest.Constant(0))
	t.Cleanup(two.Close)
	if err := two.Listen(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		trial   bench.Trial
		metrics string
		trusted bool
		loops   int
	}{
		"its own":   {one, at, false, 1},
		"trusted":   {one, at, true, 1},
		"nobody's":  {one, "127.0.0.1:1", false, 0},
		"a cluster": {bench.Trial{Addresses: two.Addresses()}, at, true, 0},
	} {
		if n, err := findNode(t.Context(), c.trial, c.metrics, c.trusted); err != nil || n.Loops != c.loops || (n.Metrics != "") != (c.loops > 0) || !n.Local {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
	if n, err := findNode(t.Context(), one, "127.0.0.1:1", true); err == nil {
		t.Errorf("nobody tells metrics there: %+v", n)
	}
}

// It breaks off with what there is, and without a topic left behind; what can never be is said before anything is done.
func TestRunBreaksOff(t *testing.T) {
	s := server(t)
	q := asked(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	q.Progress = func(what string) {
		if strings.HasPrefix(what, "capacity") {
			cancel()
		}
	}
	r, err := q.Run(ctx)
	if err == nil || r.Verdict != bench.VerdictPartial || r.Capacity == nil || r.Found != nil || len(s.Topics()) > 0 {
		t.Errorf("%v, %+v, topics %v", err, r, s.Topics())
	}
	if q.Duration = time.Second; q.Check() == nil {
		t.Error("a second is enough for nothing")
	}
	s.Stop(0)
	if r, err := q.Run(t.Context()); err == nil || r.Verdict != bench.VerdictPartial || len(r.Limits) > 0 {
		t.Errorf("nobody there: %v, %+v", err, r)
	}
}

// A bound that nothing holds is the result, and no error.
func TestNoRateHolds(t *testing.T) {
	q := asked(t, server(t))
	q.Bounds[0].Max = time.Nanosecond
	if r, err := q.Run(t.Context()); err != nil || r.Failed == "" || r.Found != nil || len(r.Points) > 0 || !strings.Contains(r.Reading()[0], "No rate holds p99<1ns: at ") {
		t.Errorf("%v, %v", err, r.Reading())
	}
}

// That no rate holds for the client's sake is no word on the node: the result is invalid, and says so.
func TestNoRateOfTheClient(t *testing.T) {
	for _, starved := range []bool{true, false} {
		s := benchtest.New(1, benchtest.Constant(5*time.Millisecond))
		t.Cleanup(s.Close)
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		q := asked(t, s)
		q.Bounds[0].Max = time.Nanosecond
		reads := 0
		q.Trial.Threads = func() map[int]bench.ThreadCounters {
			reads++
			if !starved || len(s.Answers()) == 0 { // not while the client is alone
				return nil
			}
			return map[int]bench.ThreadCounters{1: {Runs: int64(reads), Waited: time.Duration(reads) * time.Hour}}
		}
		r, err := q.Run(t.Context())
		if err != nil || r.Failed == "" {
			t.Fatalf("%v, %+v", err, r)
		}
		said := strings.Contains(strings.Join(r.Reasons, "; "), "no rate holds, for the client was in the way")
		if said != r.ClientLimited || r.ClientLimited && r.Verdict != bench.VerdictInvalid || starved && !r.ClientLimited {
			t.Errorf("starved %v: %s: %v, limited %v", starved, r.Verdict, r.Reasons, r.ClientLimited)
		}
	}
}

// What has been asked for in vain is told: a directory where nodes are elsewhere, and the metrics of one of several.
func TestInVain(t *testing.T) {
	s := benchtest.New(2, benchtest.Constant(time.Millisecond))
	t.Cleanup(s.Close)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	for trusted, want := range map[bool]string{true: "there are 2 nodes: --metrics, which is one's, is not read", false: ""} {
		var said []string
		q := asked(t, s)
		q.MetricsTrusted, q.Progress = trusted, func(what string) { said = append(said, what) }
		ctx, cancel := context.WithCancel(t.Context())
		q.Topic = func() string { cancel(); return "quick" } // that is enough
		if _, err := q.Run(ctx); err == nil || strings.Join(said, "; ") != want {
			t.Errorf("%v: %v, %v", trusted, said, err)
		}
		said = nil
		if measured, err := q.limits(t.Context(), &Report{}); measured != nil || err != nil || len(said) != 1 || !strings.Contains(said[0], "not all nodes are on this machine") {
			t.Errorf("%v, %v, said %v", measured, err, said)
		}
		cancel()
	}
}
