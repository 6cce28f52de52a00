package bench

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stagesPage is a node's metrics: of each stage how many requests were in it for up to 1 ms, 10 ms, and longer, and for how long in all.
func stagesPage(api string, stages map[string][4]float64) string {
	var page strings.Builder
	page.WriteString("# TYPE ringmill_request_stage_seconds histogram\nringmill_requests_total{api=\"Produce\"} 7\n")
	for stage, v := range stages {
		labels := fmt.Sprintf(`api=%q,stage=%q`, api, stage)
		fmt.Fprintf(&page, "ringmill_request_stage_seconds_bucket{%s,le=\"0.001\"} %g\n", labels, v[0])
		fmt.Fprintf(&page, "ringmill_request_stage_seconds_bucket{%s,le=\"0.01\"} %g\n", labels, v[0]+v[1])
		fmt.Fprintf(&page, "ringmill_request_stage_seconds_bucket{%s,le=\"+Inf\"} %g\n", labels, v[0]+v[1]+v[2])
		fmt.Fprintf(&page, "ringmill_request_stage_seconds_sum{%s} %g\nringmill_request_stage_seconds_count{%s} %g\n", labels, v[3], labels, v[0]+v[1]+v[2])
	}
	return page.String()
}

func stagesOf(t *testing.T, page string) stageCounts {
	t.Helper()
	c, err := parseStages([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// Of 1,000 produces 900 took up to 1 ms and 100 up to 10 ms, after the 50 that there were before.
func TestStageFigures(t *testing.T) {
	before := stagesOf(t, stagesPage("Produce", map[string][4]float64{"total": {50, 0, 0, 0.01}, "queued": {50, 0, 0, 0}, "synced": {50, 0, 0, 0.01}}))
	after := stagesOf(t, stagesPage("Produce", map[string][4]float64{
		"total": {950, 100, 0, 1.01}, "queued": {1050, 0, 0, 0.1}, "synced": {950, 100, 0, 0.91}, "mailbox": {20, 0, 0, 0.01}, "throttled": {0, 0, 0, 0},
	}))
	if err := after.since(before); err != nil {
		t.Fatal(err)
	}
	all := after.figures()
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	// p50: the 500th of 900 in (0, 1 ms]; p99: the 90th of 100 in (1 ms, 10 ms].
	r := all[0]
	if r.API != "Produce" || r.Count != 1000 || !near(r.MeanUs, 1000) || !near(r.P50Us, 1000*500.0/900) || !near(r.P99Us, 1000+9000*0.9) {
		t.Errorf("%+v", r)
	}
	want := []StageFigure{
		{Stage: "queued", Count: 1000, MeanUs: 100, P50Us: 500, P99Us: 990, Share: 0.1},
		{Stage: "mailbox", Count: 20, MeanUs: 10, P99Us: 1000 * 10 / 20, Share: 0.01}, // the 10th of the 20 that passed it, of 1,000
		{Stage: "synced", Count: 1000, MeanUs: 900, P50Us: 1000 * 500.0 / 900, P99Us: 9100, Share: 0.9},
	}
	if len(r.Stages) != len(want) {
		t.Fatalf("%+v", r.Stages)
	}
	for i, w := range want {
		if got := r.Stages[i]; got.Stage != w.Stage || got.Count != w.Count || !near(got.MeanUs, w.MeanUs) || !near(got.P50Us, w.P50Us) || !near(got.P99Us, w.P99Us) || !near(got.Share, w.Share) {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	if want := "Produce took 9.1 ms at p99 in the node, made by synced, with 9.1 ms and 90 % of the mean; next is queued with 990 µs."; r.Reading != want || r.P99Stage != "synced" {
		t.Errorf("%s: %q, want %q", r.P99Stage, r.Reading, want)
	}
}

func TestStageReadings(t *testing.T) {
	stage := func(name string, p99 float64) StageFigure { return StageFigure{Stage: name, P99Us: p99, Share: 0.25} }
	for want, r := range map[string]RequestStages{
		"X took 0 µs at p99 in the node.": {},
		"X took 9 ms at p99 in the node, which no stage makes alone: most is appended, with 4 ms and 25 % of the mean; next is synced with 3 ms.": {P99Us: 9000, Stages: []StageFigure{stage("synced", 3000), stage("appended", 4000)}},
		"X took 2 ms at p99 in the node; throttled was above it, with 3 s; next is synced with 2 ms.":                                             {P99Us: 2000, Stages: []StageFigure{stage("synced", 2000), stage("throttled", 3e6)}},
		"X took 2 ms at p99 in the node, made by sent, with 2 ms and 25 % of the mean.":                                                           {P99Us: 2000, Stages: []StageFigure{stage("sent", 2000), stage("queued", 0)}},
	} {
		r.API = "X"
		if r.read(); r.Reading != want {
			t.Errorf("%q, want %q", r.Reading, want)
		}
	}
}

func TestQuantilesBeyondTheBounds(t *testing.T) {
	b := buckets{bounds: []float64{1, 2, math.Inf(1)}, counts: []float64{0, 0, 10}}
	if got := b.quantile(0.5, 10); got != 2 {
		t.Errorf("above all bounds: %g", got)
	}
	if got := b.quantile(0.5, 20); got != 0 {
		t.Errorf("half of all did not pass it: %g", got)
	}
	if got := (&buckets{}).quantile(0.5, 10); got != 0 {
		t.Errorf("nothing: %g", got)
	}
}

// What nodes tell is added up; those that tell nothing are named.
func TestBeside(t *testing.T) {
	serve := func(pages ...string) string {
		at := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path != "/metrics" {
				t.Errorf("asked for %s", req.URL.Path)
			}
			fmt.Fprint(w, pages[min(at, len(pages)-1)])
			at++
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	page := func(n float64) string {
		return stagesPage("Produce", map[string][4]float64{"total": {n, 0, 0, n / 1000}})
	}
	one, two := serve(page(100), page(150)), serve(page(7), page(37))
	restarted, other := serve(page(100), page(9)), serve("up 1\n")
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	trial := Trial{StatusAddresses: []string{one, strings.TrimPrefix(two, "http://"), restarted, other, dead.URL}, PIDs: []int{os.Getpid(), 1 << 30}}.withDefaults()
	b := beginBeside(&trial)
	sleepOften()
	found := b.end()
	if len(found.Nodes) != 2 || len(found.Requests) != 1 || found.Requests[0].Count != 80 || !near(found.Requests[0].MeanUs, 1000) {
		t.Errorf("%+v", found)
	}
	if len(found.Processes) != 1 || found.Processes[0].PID != os.Getpid() || found.Processes[0].ResidentBytes == 0 || found.Processes[0].VoluntarySwitches < sleeps {
		t.Errorf("%+v", found.Processes)
	}
	for i, want := range []string{"process 1073741824: ", "stages of " + restarted + ": the node was restarted", "stages of " + other + ": no ringmill_request_stage_seconds", "stages of " + dead.URL + ": metrics: "} {
		if len(found.Missing) != 4 || !strings.HasPrefix(found.Missing[i], want) {
			t.Errorf("%q, want %s", found.Missing, want)
		}
	}
	if waited := b.waited(); waited.Voluntary < sleeps {
		t.Errorf("%+v", waited)
	}
}

const sleeps = 20

// sleepOften gives up the processor so often, on a thread that is still there afterwards.
func sleepOften() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range sleeps {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e5}, nil)
	}
}

func TestSchedstat(t *testing.T) {
	for text, want := range map[string]ThreadCounters{
		"123456 7000 42\n": {Waited: 7 * time.Microsecond, Runs: 42},
		"":                 {},
		"0 0\n":            {},
	} {
		if waited, runs := parseSchedstat([]byte(text)); waited != want.Waited || runs != want.Runs {
			t.Errorf("%q: %v, %d", text, waited, runs)
		}
	}
}

// A client that waits for processors is one more reason not to believe a run.
func TestStarvedClient(t *testing.T) {
	outcome := func(waited time.Duration, runs int64) *Outcome {
		f := newFigures()
		f.Records = 100
		for range 100 {
			f.Latency.Record(time.Millisecond)
		}
		return &Outcome{Produced: f, Lag: NewHistogram(), ClientWaits: ThreadCounters{Waited: waited, Runs: runs}, Elapsed: time.Second, ClientCores: 2}
	}
	if reasons := outcome(400*time.Millisecond, 1000).Invalid(); len(reasons) > 0 {
		t.Errorf("400 µs each time, of 1 ms: %v", reasons)
	}
	if reasons := outcome(600*time.Millisecond, 1000).Invalid(); len(reasons) != 1 || !strings.Contains(reasons[0], "waited 600 µs for a processor") {
		t.Errorf("600 µs each time, of 1 ms: %v", reasons)
	}
	if reasons := outcome(0, 0).Invalid(); len(reasons) > 0 {
		t.Errorf("a kernel that does not count: %v", reasons)
	}
}

func TestProcessFigure(t *testing.T) {
	before := Counters{Usage: Usage{User: 2 * time.Second, System: time.Second}, Disk: &DiskBytes{10, 20}, Threads: map[int]ThreadCounters{
		1: {Voluntary: 10, Involuntary: 1, Runs: 100, Waited: time.Second}, 2: {Voluntary: 1000, Involuntary: 1000, Runs: 1000, Waited: time.Hour},
	}}
	after := Counters{Usage: Usage{User: 5 * time.Second, System: 3 * time.Second, ResidentBytes: 7, PeakBytes: 9}, Command: "java", Disk: &DiskBytes{15, 50}, Threads: map[int]ThreadCounters{
		1: {Voluntary: 15, Involuntary: 3, Runs: 150, Waited: 3 * time.Second}, 3: {Voluntary: 7, Involuntary: 8, Runs: 9, Waited: time.Second}, // 2 has ended, 3 is new
	}}
	got := after.figure(4711, &before, 10*time.Second)
	if got.DiskReadBytes == nil || *got.DiskReadBytes != 5 || *got.DiskWrittenBytes != 30 {
		t.Errorf("disk: %+v", got)
	}
	got.DiskReadBytes, got.DiskWrittenBytes = nil, nil
	want := ProcessFigure{PID: 4711, Command: "java", CPUSeconds: 5, UserSeconds: 3, Processors: 0.5, VoluntarySwitches: 12, InvoluntarySwitches: 10, Runs: 59, WaitedSeconds: 3, ResidentBytes: 7, PeakBytes: 9}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if before.Disk = nil; after.figure(4711, &before, time.Second).DiskReadBytes != nil {
		t.Error("disk bytes that could not be read")
	}
}
