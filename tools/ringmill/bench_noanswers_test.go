package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/page"
	"github.com/ringmill/ringmill/bench/quick"
	"github.com/ringmill/ringmill/bench/tune"
)

// noLatency is what people must not be shown of nothing: 0 ms would be the best that there is.
var noLatency = regexp.MustCompile(`\b0(\.0+)? ?(µs|ms)|  0\.00\b|NaN|\bInf\b`)

// silent is a report of a run in which nothing was answered, and the generator was late.
func silent(loop string) *bench.Report {
	r := &bench.Report{Schema: bench.ReportSchema, Verdict: bench.VerdictInvalid, Reasons: []string{"nothing was measured"}, Loop: loop, WindowSeconds: 3, ElapsedSeconds: 3, Consumed: &bench.ReportStream{},
		Client: bench.ReportClient{Processors: 2}}
	r.Produced.Histogram = bench.NewHistogram().Encode()
	r.Config = bench.ReportConfig{Addresses: []string{"127.0.0.1:1"}, RecordBytes: 100, RatePerSecond: 100, Client: "raw", LingerSeconds: 0.005}
	return r
}

func TestNoAnswersAreNoLatency(t *testing.T) {
	empty := &bench.Figures{Latency: bench.NewHistogram(), Lag: bench.NewHistogram()}
	late := &bench.Figures{Latency: bench.NewHistogram(), Lag: bench.NewHistogram()}
	late.Lag.Record(3 * time.Millisecond)
	for _, s := range []bench.Second{{Number: 1, Window: 3 * time.Second, Produced: empty}, {Number: 1, Window: 3 * time.Second, Produced: late, Consumed: empty}} {
		l := &live{seconds: make(chan liveSecond, 1)}
		l.progress(s)
		second := <-l.seconds
		if line := second.line(); !strings.HasPrefix(line, "   2 s          0 records/s  no answers") || strings.Contains(line, "nothing consumed") != (s.Consumed != nil) || noLatency.MatchString(line) {
			t.Errorf("%s", line)
		}
		shown := &screen{trial: &bench.Trial{Rate: 100, RecordBytes: 100, Duration: 3 * time.Second}}
		shown.take(second)
		if text := strings.Join(shown.lines(79), "\n"); strings.Contains(text, "invalid") || strings.Contains(text, "in time") || noLatency.MatchString(text) {
			t.Errorf("%s", text)
		}
	}
	for _, loop := range []string{"open", "closed"} {
		r := silent(loop)
		results := []page.Named{{Name: "a", Report: r}, {Name: "b", Report: r}}
		sweep := &bench.Sweep{Schema: bench.SweepSchema, Bounds: []string{}, Points: []bench.SweepPoint{{Runs: []*bench.Report{r}}}}
		for name, show := range map[string]func(*bytes.Buffer) error{
			"line":    func(b *bytes.Buffer) error { b.WriteString(benchLine(r)); return nil },
			"summary": func(b *bytes.Buffer) error { benchSummary(b, r); return nil },
			"table":   func(b *bytes.Buffer) error { benchTable(b, results); return nil },
			"points":  func(b *bytes.Buffer) error { benchPoints(b, sweep); return nil },
			"quick": func(b *bytes.Buffer) error {
				benchQuickScreen(b, &quick.Report{Capacity: &quick.Load{Run: r}})
				return nil
			},
			"score":           func(b *bytes.Buffer) error { b.WriteString(tune.Score{}.String()); return nil },
			"page of one":     func(b *bytes.Buffer) error { return page.Run(b, r) },
			"page of several": func(b *bytes.Buffer) error { return page.Several(b, results) },
			"page of a sweep": func(b *bytes.Buffer) error { return page.Sweep(b, sweep, "") },
			"page of a quick": func(b *bytes.Buffer) error {
				return page.Quick(b, &quick.Report{Capacity: &quick.Load{Run: r}, ClientAlone: r, Points: []quick.Point{{OfFound: 0.5, Load: quick.Load{Run: r}}}, Limits: nil})
			},
		} {
			var out bytes.Buffer
			if err := show(&out); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			text := out.String()
			if _, body, is := strings.Cut(text, "</style>"); is {
				text = body
			}
			if at := noLatency.FindStringIndex(text); at != nil {
				t.Errorf("%s of a loop that is %s: %q in\n%s", name, loop, text[at[0]:at[1]], text[max(0, at[0]-200):min(len(text), at[1]+100)])
			}
		}
	}
}
