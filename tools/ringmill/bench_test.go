package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// benchServer is a server on the loopback that takes 20 ms for a batch.
func benchServer(t *testing.T) *benchtest.Server {
	t.Helper()
	s := benchtest.New(1, benchtest.Constant(20*time.Millisecond))
	t.Cleanup(s.Close)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	return s
}

// benchRun runs bench run for a second and gives the exit status, the report, if there is one, and what was said.
func benchRun(t *testing.T, ctx context.Context, s *benchtest.Server, args ...string) (int, *bench.Report, string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	code := a.run(ctx, append([]string{"bench", "run", "--bootstrap-server", strings.Join(s.Addresses(), ","), "-o", "json",
		"--warm-up", "100ms", "--duration", "1s", "--rate", "100", "--timeout", "2s"}, args...))
	if out.Len() == 0 {
		return code, nil, errs.String()
	}
	var report bench.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if report.Schema != bench.ReportSchema || report.Host.Kernel == "" || report.Config.RecordBytes != 100 {
		t.Errorf("schema %q, host %+v, config %+v", report.Schema, report.Host, report.Config)
	}
	return code, &report, errs.String()
}

// A busy machine makes a generator late, which is what invalid says: both are right, if the status says the same as the report.
func TestBenchRun(t *testing.T) {
	for _, client := range []string{"raw", "franz"} {
		t.Run(client, func(t *testing.T) {
			s, dir := benchServer(t), t.TempDir()
			code, report, said := benchRun(t, t.Context(), s, "--client", client, "--result", filepath.Join(dir, "run.json"), "--hlog", filepath.Join(dir, "run.hlog"))
			want := map[string]int{bench.VerdictValid: statusOK, bench.VerdictInvalid: statusInvalid}
			if report == nil {
				t.Fatal(said)
			}
			if status, known := want[report.Verdict]; !known || status != code || (code == statusOK) != (len(report.Reasons) == 0) {
				t.Errorf("status %d of a run that is %s: %v, %s", code, report.Verdict, report.Reasons, said)
			}
			if report.Produced.Records != 100 || report.Consumed.Records != 100 || report.Produced.Latency.P50Us < 19_900 || report.LostRequests != 0 {
				t.Errorf("produced %+v, consumed %+v", report.Produced, report.Consumed)
			}
			if code == statusOK && said != "" || len(s.Topics()) > 0 {
				t.Errorf("topics %v after %s", s.Topics(), said)
			}
			if written, err := os.ReadFile(filepath.Join(dir, "run.json")); err != nil || !json.Valid(written) {
				t.Errorf("--result wrote %s: %v", written, err)
			}
			if log, err := os.ReadFile(filepath.Join(dir, "run.hlog")); err != nil || !strings.Contains(string(log), "Tag=response,") {
				t.Errorf("--hlog wrote %s: %v", log, err)
			}
		})
	}
}

// One key goes to one partition, by franz-go as by Kafka's own clients; what records carry is in the result and the command.
func TestBenchKeysAndSizes(t *testing.T) {
	for _, client := range []string{"raw", "franz"} {
		s := benchServer(t)
		_, report, said := benchRun(t, t.Context(), s, "--client", client, "-p", "3", "--keys", "1", "--size", "50-150")
		if report == nil || report.Config.Values != "50-150" || report.Config.Keys != 1 || !strings.Contains(report.Command, "--size 50-150") || report.Produced.Bytes == 0 || report.Produced.Bytes != report.Consumed.Bytes {
			t.Fatalf("%s: %+v: %s", client, report, said)
		}
		partitions := map[int32]bool{}
		for _, a := range s.Answers() {
			partitions[a.Partition] = true
		}
		if want := map[string]int{"raw": 3, "franz": 1}[client]; len(partitions) != want {
			t.Errorf("%s: batches in partitions %v, want %d", client, partitions, want)
		}
	}
}

func TestBenchStatuses(t *testing.T) {
	t.Run("capacity", func(t *testing.T) {
		code, report, said := benchRun(t, t.Context(), benchServer(t), "--rate", "0", "--consumers", "0")
		if report == nil || report.Loop != "closed" || report.Produced.Records == 0 || code != statusOK {
			t.Errorf("status %d: %s", code, said)
		}
	})
	t.Run("invalid", func(t *testing.T) {
		var errs bytes.Buffer
		if code := (&app{stderr: &errs}).report(benchFault(fmt.Errorf("%w: late", errInvalid))); code != statusInvalid || errs.String() != "ringmill: the figures are invalid: late\n" {
			t.Errorf("status %d: %s", code, errs.String())
		}
	})
	t.Run("dry run", func(t *testing.T) {
		var out, errs bytes.Buffer
		code := (&app{stdout: &out, stderr: &errs}).run(t.Context(), []string{"bench", "run", "--dry-run", "-b", "127.0.0.1:1"})
		if code != statusOK || !strings.Contains(out.String(), "made and removed") {
			t.Errorf("status %d: %s%s", code, out.String(), errs.String())
		}
	})
	for _, args := range [][]string{{"--acks", "0"}, {"--size", "7"}, {"--size", "@none"}, {"--size", "9-8"}, {"--keys", "-1"}, {"--client", "java"}, {"--codec", "zstd"}, {"--rate", "-1"}, {"extra"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			if code, _, said := benchRun(t, t.Context(), benchServer(t), args...); code != statusUsage || strings.Count(said, "\n") != 1 {
				t.Errorf("status %d: %s", code, said)
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		s := benchServer(t)
		s.Stop(0)
		if code, report, said := benchRun(t, t.Context(), s); code != statusFailed || report != nil || !strings.Contains(said, "connection refused") || strings.Contains(said, "left behind") {
			t.Errorf("status %d: %s", code, said)
		}
	})
}

// A result makes a page and the same summary again; several make another; what is no result is refused.
func TestBenchReport(t *testing.T) {
	s, dir := benchServer(t), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if _, report, said := benchRun(t, t.Context(), s, "--result", file("a b.json"), "--report", file("run.html"), "--max-in-flight", "7"); report == nil ||
		!strings.HasPrefix(report.Command, "ringmill bench run --bootstrap "+s.Addresses()[0]+" ") || !strings.Contains(report.Command, " --max-in-flight 7") || strings.Contains(report.Command, "html") {
		t.Fatalf("%+v: %s", report, said)
	}
	report := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := (&app{stdout: &out, stderr: &errs}).run(t.Context(), append([]string{"bench", "report"}, args...))
		return code, out.String(), errs.String()
	}
	code, out, said := report(file("a b.json"), "--html", file("again.html"))
	if code != statusOK || !strings.Contains(out, "produced 100 records") {
		t.Errorf("status %d: %s%s", code, out, said)
	}
	first, _ := os.ReadFile(file("run.html"))
	again, err := os.ReadFile(file("again.html"))
	if err != nil || !bytes.Equal(first, again) || !bytes.Contains(again, []byte("ringmill bench run --bootstrap")) {
		t.Errorf("pages of %d and %d bytes, %v", len(first), len(again), err)
	}
	if code, out, said := report(file("a b.json"), file("a b.json"), "--html", file("both.html")); code != statusOK || strings.Count(out, "\na b ") != 2 {
		t.Errorf("status %d: %s%s", code, out, said)
	}
	if both, err := os.ReadFile(file("both.html")); err != nil || !bytes.Contains(both, []byte("Latency against throughput")) {
		t.Errorf("%v", err)
	}
	if code, out, said := report("-o", "json", file("a b.json")); code != statusOK || !strings.HasPrefix(out, `[{"schema":`) {
		t.Errorf("status %d: %s%s", code, out, said)
	}
	for name, text := range map[string]string{"none.json": "no JSON", "other.json": `{"schema":"other/1"}`} {
		if err := os.WriteFile(file(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, said := report(file(name), "--html", file("none.html")); code != statusFailed || !strings.Contains(said, name) {
			t.Errorf("status %d: %s", code, said)
		}
	}
	if _, err := os.Stat(file("none.html")); err == nil {
		t.Error("a page of no result")
	}
}

func TestShellWords(t *testing.T) {
	for word, want := range map[string]string{"a:1,b=2": "a:1,b=2", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := shellWord(word); got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
}

// afterAnswers does something when a run is under way, or over.
func afterAnswers(ctx context.Context, s *benchtest.Server, do func()) {
	for len(s.Answers()) < 50 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	do()
}

// What breaks half way leaves a partial result, one line of error and no topic.
func TestBenchBrokenHalfWay(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*benchtest.Server, context.CancelFunc)
		said string
		left int
	}{
		"the node dies":       {func(s *benchtest.Server, _ context.CancelFunc) { s.Stop(0) }, "may be left behind", 1},
		"the topic vanishes":  {func(s *benchtest.Server, _ context.CancelFunc) { s.DropTopics() }, "the topic vanished", 0},
		"the user interrupts": {func(_ *benchtest.Server, cancel context.CancelFunc) { cancel() }, "broke off: interrupted", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := benchServer(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go afterAnswers(ctx, s, func() { c.harm(s, cancel) })
			code, report, said := benchRun(t, ctx, s, "--duration", "1m")
			if code != statusFailed || report == nil || report.Verdict != bench.VerdictPartial || report.Produced.Records == 0 {
				t.Fatalf("status %d, %+v: %s", code, report, said)
			}
			if last := said[strings.LastIndex(strings.TrimRight(said, "\n"), "\n")+1:]; !strings.HasPrefix(last, "ringmill: ") || !strings.Contains(last, c.said) || report.Error == "" {
				t.Errorf("said %s", last)
			}
			if len(s.Topics()) != c.left {
				t.Errorf("left behind: %v", s.Topics())
			}
		})
	}
}

func TestBenchFaultsAreToldWithoutThePackage(t *testing.T) {
	err := benchFault(fmt.Errorf("%w: %w", bench.ErrBroken, bench.ErrSilent))
	if err.Error() != "the run broke off: no progress" || !errors.Is(err, bench.ErrSilent) {
		t.Errorf("%v", err)
	}
}

// A recorded load runs at its own rate, and with --rate at another one.
func TestBenchTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, []byte("+1ms\n+5ms\n+15ms\n"), 0o644); err != nil { // three records in 20 ms and a mean gap
		t.Fatal(err)
	}
	run := func(args ...string) *bench.ReportConfig {
		var out, errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
		code := a.run(t.Context(), append([]string{"bench", "run", "-b", "127.0.0.1:1", "--dry-run", "-o", "json", "--arrival", "trace:" + path}, args...))
		config := new(bench.ReportConfig)
		if err := json.Unmarshal(out.Bytes(), config); err != nil || code != statusOK {
			t.Fatalf("status %d: %v: %s", code, err, errs.String())
		}
		return config
	}
	if c := run(); c.RatePerSecond < 99.9 || c.RatePerSecond > 100.1 || c.Arrival != "trace:"+path {
		t.Errorf("%+v", c)
	}
	if c := run("--rate", "7"); c.RatePerSecond != 7 {
		t.Errorf("%+v", c)
	}
	_, report, said := benchRun(t, t.Context(), benchServer(t), "--arrival", "trace:"+path, "--rate", "300", "--producers", "3", "-p", "3")
	if report == nil || report.Produced.Records < 295 || report.Produced.Records > 305 {
		t.Fatalf("%+v: %s", report, said)
	}
}
