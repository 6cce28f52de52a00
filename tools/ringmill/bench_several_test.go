package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/limits"
	"github.com/ringmill/ringmill/bench/quick"
	"github.com/ringmill/ringmill/node/config"
)

// told runs the program and decodes what it prints as JSON, if it prints any.
func told(t *testing.T, v any, args ...string) (code int, said string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	code = a.run(t.Context(), append(args, "-o", "json"))
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), v); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
	}
	return code, errs.String()
}

var briefly = []string{"--warm-up", "50ms", "--duration", "500ms", "--timeout", "30s"}

// ab takes both targets in turn, keeps what compare reads, and leaves no topic.
func TestBenchAB(t *testing.T) {
	a, b, dir := benchServer(t), benchServer(t), t.TempDir()
	files := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}
	var live, kept bench.Comparison
	args := append([]string{"bench", "ab", a.Addresses()[0], b.Addresses()[0], "--pairs", "4", "--rate", "100", "--result-a", files[0], "--result-b", files[1], "--report", filepath.Join(dir, "ab.html")}, briefly...)
	code, said := told(t, &live, args...)
	if live.Schema != bench.CompareSchema || code != statusOK && code != statusInvalid { // a busy machine makes runs invalid
		t.Errorf("status %d, %+v: %s", code, live, said)
	}
	var order []string
	for line := range strings.Lines(said) {
		if name, _, ok := strings.Cut(line, " of 4"); ok {
			order = append(order, name)
		}
	}
	if want := "[A 1 B 1 B 2 A 2 A 3 B 3 B 4 A 4]"; fmt.Sprint(order) != want {
		t.Errorf("order %v, want %s", order, want)
	}
	if again, said := told(t, &kept, append([]string{"bench", "compare"}, files...)...); again != code || !reflect.DeepEqual(live, kept) {
		t.Errorf("compare: status %d, %+v, want %+v: %s", again, kept, live, said)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "ab.html")); err != nil || !bytes.Contains(page, []byte("ringmill bench ab "+a.Addresses()[0]+" "+b.Addresses()[0]+" ")) {
		t.Errorf("--report: %v", err)
	}
	if topics := len(a.Topics()) + len(b.Topics()); topics > 0 {
		t.Errorf("%d topics left", topics)
	}
}

// Limits are broken by a difference that is beyond them and beyond doubt.
func TestBenchFailIf(t *testing.T) {
	dir := t.TempDir()
	side := func(name string, p99 ...float64) string {
		path := filepath.Join(dir, name)
		for _, ms := range p99 {
			r := &bench.Report{Schema: bench.ReportSchema, Verdict: bench.VerdictValid}
			r.Produced.RecordsPerSecond, r.Produced.Latency = 1e6/ms, bench.LatencyFigure{Count: 1, P99Us: ms * 1000}
			if err := appendResult(path, r); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	quick, slow, wild, few := side("quick", 10, 11, 12, 13), side("slow", 20, 22, 24, 26), side("wild", 5, 50, 6, 60), side("few", 20, 22, 24)
	if code, said := told(t, new(bench.Comparison), "bench", "compare", quick, few, "--fail-if", "p99>+5%"); code != statusInvalid || !strings.Contains(said, "4 and 3 valid runs say nothing of p99>+5%") {
		t.Errorf("a limit that too few runs are held to: status %d: %s", code, said)
	}
	for _, test := range []struct {
		a, b, limit, said string
	}{
		{quick, slow, "p99>+50%", "breaks p99>+50%"}, {quick, slow, "rate<-20%", "breaks rate<-20%"}, {quick, slow, "p99>+0%", "breaks p99>+0%"},
		{quick, slow, "p99>+150%", ""}, {quick, slow, "rate<-80%", ""}, {slow, quick, "p99>+0%", ""}, {quick, wild, "p99>+50%", ""}, {quick, slow, "p50>+5%", ""},
	} {
		var c bench.Comparison
		code, said := told(t, &c, "bench", "compare", test.a, test.b, "--fail-if", test.limit)
		if want := map[bool]int{true: statusOK, false: statusFailed}[test.said == ""]; code != want || !strings.Contains(said, test.said) {
			t.Errorf("%s %s %s: status %d: %s", filepath.Base(test.a), filepath.Base(test.b), test.limit, code, said)
		}
	}
}

// A server that takes 20 ms for each batch, one at a time, does not hold 100/s of single records, whatever the machine.
func TestBenchSweep(t *testing.T) {
	s := benchServer(t)
	base := append([]string{"bench", "sweep", "-b", s.Addresses()[0]}, briefly...)
	t.Run("bound", func(t *testing.T) {
		var sweep bench.Sweep
		code, said := told(t, &sweep, append(base, "--bound", "p50<1ms", "--rate", "20")...)
		if p := sweep.Points; len(p) != 1 || code != map[bool]int{false: statusFailed, true: statusInvalid}[p[0].ClientLimited] || p[0].Failed == "" || !strings.Contains(said, "no rate holds") || p[0].Found != nil {
			t.Errorf("status %d, %+v: %s", code, p, said)
		}
	})
	t.Run("over", func(t *testing.T) {
		var sweep bench.Sweep
		dir := t.TempDir()
		code, said := told(t, &sweep, append(base, "--over", "size=100,200", "--over", "batch=1,2", "--rate", "50", "--repeats", "2", "--report", filepath.Join(dir, "sweep.html"))...)
		if sweep.Schema != bench.SweepSchema || len(sweep.Points) != 4 || code != statusOK && code != statusInvalid {
			t.Fatalf("status %d, %+v: %s", code, sweep, said)
		}
		if page, err := os.ReadFile(filepath.Join(dir, "sweep.html")); err != nil || !bytes.Contains(page, []byte("--over size=100,200 --over batch=1,2")) && !bytes.Contains(page, []byte("--over batch=1,2 --over size=100,200")) {
			t.Errorf("--report: %v", err)
		}
		for i, p := range sweep.Points {
			want := fmt.Sprintf("size=%d batch=%d: ", 100*(1+i/2), 1+i%2)
			if settingsPrefix(p.Settings) != want || len(p.Runs) != 2 || p.Runs[1].Config.BatchRecords != 1+i%2 || p.Runs[1].Config.RecordBytes != 100*(1+i/2) {
				t.Errorf("%s: %+v", want, p)
			}
		}
	})
	if len(s.Topics()) > 0 {
		t.Errorf("topics %v are left", s.Topics())
	}
}

// A number of loops is a node's own, which the sweep starts and ends, and whose stages and process it reads; nothing of it is left.
func TestBenchSweepLoops(t *testing.T) {
	dir, program := t.TempDir(), linkProgram(t)
	var sweep bench.Sweep
	code, said := told(t, &sweep, append([]string{"bench", "sweep", "--serve", program, "--dir", dir, "--over", "loops=1,2", "--over", "batch=1,5", "--rate", "50", "--repeats", "1", "-p", "2"}, briefly...)...)
	if len(sweep.Points) != 4 || code != statusOK && code != statusInvalid {
		t.Fatalf("status %d, %+v: %s", code, sweep, said)
	}
	pids := map[int]bool{}
	for i, p := range sweep.Points {
		want := fmt.Sprintf("loops=%d batch=%d: ", 1+i/2, 1+4*(i%2))
		if settingsPrefix(p.Settings) != want || len(p.Runs) != 1 || p.Runs[0].Produced.Records == 0 || p.Runs[0].Stages == nil || len(p.Runs[0].Processes) != 1 {
			t.Fatalf("%s: %+v", want, p)
		}
		pids[p.Runs[0].Processes[0].PID] = true
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || len(pids) != 4 {
		t.Errorf("%d nodes, left behind: %v, %v", len(pids), left, err)
	}
}

// A search that ended without a rate says so where the rate would be.
func TestRowOfABrokenSearch(t *testing.T) {
	if row := benchPointRow(&bench.SweepPoint{}, nil, true); len(row) != 1 || row[0] != "no rate: it broke off" {
		t.Errorf("row %q", row)
	}
}

// A node that does not start says why.
func TestBenchSweepNoNode(t *testing.T) {
	var none any
	if code, said := told(t, &none, append([]string{"bench", "sweep", "--serve", "/bin/false", "--dir", t.TempDir(), "--over", "loops=1"}, briefly...)...); code != statusFailed || !strings.Contains(said, "loops=1: the node ended with exit status 1 before it served") {
		t.Errorf("status %d: %s", code, said)
	}
}

// What is wrong is said in one line before anything runs.
func TestBenchSeveralUsage(t *testing.T) {
	for _, args := range [][]string{
		{"ab", "x:1"}, {"ab", "x:1", "y:1", "--pairs", "0"}, {"ab", "x:1", "y:1", "-b", "z:1"}, {"ab", "x:1", "y:1", "--fail-if", "p99"},
		{"ab", "x:1", "y:1", "--fail-if", "p99<-5%"}, {"ab", "x:1", "y:1", "--fail-if", "p98>+5%"}, {"ab", "x:1", "y:1", "--fail-if", "p99>-5%"},
		{"compare", "a.json"}, {"sweep"}, {"sweep", "--bound", "p99"}, {"sweep", "--bound", "p99<1ms", "--rate", "0"}, {"sweep", "--over", "size"}, {"sweep", "--bound", "e2e-p99<1ms", "--consumers", "0"},
		{"quick", "--bound", "p99"}, {"quick", "--duration", "1s"}, {"quick", "--dir", "/nowhere"}, {"quick", "--size", "7"}, {"quick", "--bound", "e2e-p99<1ms", "--consumers", "0"}, {"quick", "x"},
		{"tune", "--over", "ringmill.loops"}, {"tune", "--over", "ringmill.loops=1"}, {"tune", "--over", "no.such=1,2"}, {"tune", "--over", "retention.ms=1,2"}, {"tune", "--running", "--over", "ringmill.loops=0,1"},
		{"tune", "--running", "--dir", "."}, {"tune", "-b", "x:1"}, {"tune", "--dir", "/nowhere"}, {"tune", "--rate", "0"}, {"tune", "--bound", "p99"}, {"tune", "--pairs", "0"},
		{"sweep", "--over", "loops=1,2", "-b", "x:1"}, {"sweep", "--over", "loops=x"}, {"sweep", "--over", "loops=-1"}, {"sweep", "--over", "loops="}, {"sweep", "--over", "loops=1", "--dir", "/nowhere"}, {"sweep", "--over", "size=1", "--dir", "."},
		{"sweep", "--over", "size=big"}, {"sweep", "--over", "duration=1s"}, {"sweep", "--over", "codec=zstd"}, {"sweep", "--bound", "p99<1ms", "--over", "rate=1,2"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			var none any
			if code, said := told(t, &none, append([]string{"bench"}, args...)...); code != statusUsage || strings.Count(said, "\n") != 1 || none != nil {
				t.Errorf("status %d: %s", code, said)
			}
		})
	}
	var none any
	if code, said := told(t, &none, "bench", "compare", "/nowhere/a.json", "/nowhere/b.json"); code != statusFailed || said != "ringmill: open /nowhere/a.json: no such file or directory\n" {
		t.Errorf("status %d: %s", code, said)
	}
}

// quick has its result as a screen, as JSON, in a file and as a page, and leaves no topic; a busy machine makes it invalid, or has no rate hold.
func TestBenchQuick(t *testing.T) {
	s, dir := benchServer(t), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	var r quick.Report
	code, said := told(t, &r, "bench", "quick", "-b", s.Addresses()[0], "-d", "3s", "--batch", "10", "-p", "2", "--bound", "p99<20s", "--dir", dir, "--timeout", "30s", "--result", file("r.json"), "--report", file("r.html"))
	if r.Schema != quick.Schema || r.Capacity == nil || r.Bottleneck.Said == "" || r.Directory != dir || !strings.HasPrefix(r.Command, "ringmill bench quick --bootstrap "+s.Addresses()[0]+" ") {
		t.Fatalf("status %d, %+v: %s", code, r, said)
	}
	want := statusOK
	if r.Failed != "" && !r.ClientLimited {
		want = statusFailed
	} else if r.Verdict == bench.VerdictInvalid {
		want = statusInvalid
	}
	if code != want {
		t.Errorf("status %d, want %d: %s", code, want, said)
	}
	var kept quick.Report
	if text, err := os.ReadFile(file("r.json")); err != nil || json.Unmarshal(text, &kept) != nil || !reflect.DeepEqual(kept, r) {
		t.Errorf("%v: --result wrote %s", err, text)
	}
	if page, err := os.ReadFile(file("r.html")); err != nil || !bytes.Contains(page, []byte("How near each limit was")) {
		t.Errorf("--report: %v", err)
	}
	var screen bytes.Buffer
	benchQuickScreen(&screen, &r)
	for _, want := range []string{"fdatasync", "the client", "capacity (closed loop)", r.Bottleneck.Said} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("no %q in\n%s", want, screen.String())
		}
	}
	if len(s.Topics()) > 0 {
		t.Errorf("topics %v are left", s.Topics())
	}
	s.Stop(0)
	r = quick.Report{}
	if code, said := told(t, &r, "bench", "quick", "-b", s.Addresses()[0], "--timeout", "2s"); code != statusFailed || r.Verdict != bench.VerdictPartial || !strings.Contains(said, "connection refused") {
		t.Errorf("status %d, %+v: %s", code, r, said)
	}
}

// What tune tries by itself begins with what the properties are by default.
func TestTunable(t *testing.T) {
	for _, p := range tunable(8) {
		known, has := config.LookupBroker(p.Name)
		if !has || known.Default != p.Values[0] || len(p.Values) < 2 {
			t.Errorf("%v, whose default is %q", p, known.Default)
		}
	}
	if loops := tunable(8)[0].Values; fmt.Sprint(loops) != "[0 1 4 7]" {
		t.Errorf("loops of 8 processors: %v", loops)
	}
}

func TestBenchLimits(t *testing.T) {
	dir := t.TempDir()
	for command, items := range map[string]int{"disk": 7, "loop": 9} {
		var report limits.Report
		if code, said := told(t, &report, "bench", command, "--dir", dir, "--each", "20ms"); code != statusOK || report.Schema != limits.Schema || len(report.Limits) != items || report.Host.Kernel == "" {
			t.Errorf("%s: status %d, %+v: %s", command, code, report, said)
		}
		var none any
		for _, args := range [][]string{{"--each", "0s"}, {"--dir", dir + "/none"}, {"extra"}} {
			if code, said := told(t, &none, append([]string{"bench", command}, args...)...); code != statusUsage || strings.Count(said, "\n") != 1 || none != nil {
				t.Errorf("%s %v: status %d: %s", command, args, code, said)
			}
		}
	}
}

// People are shown the stages of both sides with their difference, and the sentences; nothing where nodes said nothing.
func TestBenchStagesCompared(t *testing.T) {
	var out bytes.Buffer
	benchStagesCompared(&out, nil)
	if out.Len() > 0 {
		t.Error(out.String())
	}
	benchStagesCompared(&out, &bench.StageComparison{Readings: []string{"A sentence."}, Stages: []bench.StageContrast{
		{API: "Produce", Stage: "synced", Contrast: bench.Contrast{A: 500, B: 1500, Verdict: bench.VerdictWorse}}, {API: "Produce", Stage: "sent", Contrast: bench.Contrast{A: 20, B: 10, Verdict: bench.VerdictBetter}}}})
	for _, want := range []string{"Produce synced", "500 µs", "1.5 ms", "+1 ms", "-10 µs", "worse", "A sentence.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
}

// That no rate holds is the node's failure, or if the client was in the way no word on it.
func TestStatusWithoutARate(t *testing.T) {
	for clients, want := range map[bool]struct {
		status int
		said   string
	}{
		false: {statusFailed, "ringmill: size=100: no rate holds: p99 is 7ms\n"},
		true:  {statusInvalid, "ringmill: the figures are invalid: size=100: no rate holds, for the client was in the way: p99 is 7ms\n"},
	} {
		var errs bytes.Buffer
		if status := (&app{stderr: &errs}).report(benchFault(noRate(clients, "size=100: ", "p99 is 7ms"))); status != want.status || errs.String() != want.said {
			t.Errorf("%v: status %d: %s", clients, status, errs.String())
		}
	}
}
