package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// limited is a node that holds all rates up to a limit, by a client that counts its runs.
func limited(limit float64, runs *int) func(context.Context, float64) (string, error) {
	return func(_ context.Context, rate float64) (string, error) {
		*runs++
		if rate > limit {
			return fmt.Sprintf("%.0f is above %.0f", rate, limit), nil
		}
		return "", nil
	}
}

func TestSearch(t *testing.T) {
	for _, limit := range []float64{3, 100, 999, 1000, 1001, 12_345, 1e7} {
		var n int
		found, err := Search{From: 1000, Precision: 1.1, Confirm: 3, Try: limited(limit, &n)}.Run(t.Context())
		if err != nil || found.Rate > limit || found.Above <= limit || found.Above/found.Rate > 1.1 || found.Broken == "" || n > 25 {
			t.Errorf("limit %v: %+v after %d runs, %v", limit, found, n, err)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	var n int
	found, err := Search{From: 1000, To: 5000, Precision: 1.1, Confirm: 3, Try: limited(1e9, &n)}.Run(t.Context())
	if err != nil || found != (Found{Rate: 5000}) || n != 6 { // 1,000, 2,000, 4,000, and 5,000 three times
		t.Errorf("a highest rate that holds: %+v after %d runs, %v", found, n, err)
	}
	if found, err := (Search{From: 1000, Precision: 1.1, Confirm: 1, Try: limited(0, &n)}).Run(t.Context()); !errors.Is(err, ErrNoRate) || found.Rate != 0 {
		t.Errorf("a node that holds nothing: %+v, %v", found, err)
	}
	gone := errors.New("gone")
	found, err = Search{From: 1000, Precision: 1.1, Confirm: 1, Try: func(ctx context.Context, rate float64) (string, error) {
		if rate > 3000 {
			return "", gone
		}
		return "", nil
	}}.Run(t.Context())
	if !errors.Is(err, gone) || found.Rate != 2000 {
		t.Errorf("a node that goes: %+v, %v", found, err)
	}
}

// A rate near the limit holds by luck: having to hold three times, what is found is hardly ever above what holds in half of all runs.
func TestSearchConfirms(t *testing.T) {
	const limit, rounds = 10_000.0, 200
	above := func(confirm int) (n int) {
		for seed := range uint64(rounds) {
			r := rand.New(rand.NewPCG(seed, 1))
			found, err := Search{From: 1000, Precision: 1.05, Confirm: confirm, Try: func(_ context.Context, rate float64) (string, error) {
				if rate > limit*math.Exp(0.1*r.NormFloat64()) {
					return "late", nil
				}
				return "", nil
			}}.Run(t.Context())
			if err != nil || found.Rate == 0 {
				t.Fatalf("seed %d: %+v, %v", seed, found, err)
			}
			if found.Rate > limit*1.05 {
				n++
			}
		}
		return n
	}
	if once, thrice := above(1), above(3); thrice > rounds/20 || once < 2*thrice {
		t.Errorf("too high in %d of %d searches that confirm, in %d of those that do not", thrice, rounds, once)
	}
}

func TestHeld(t *testing.T) {
	bound, err := ParseBound("p99 < 10ms")
	if err != nil || bound.String() != "p99<10ms" {
		t.Fatal(bound, err)
	}
	report := func(change func(*Report)) *Report {
		r := runs(9.9)[0]
		r.WindowSeconds = 8
		for i := range 8 {
			s := SecondFigures{Second: i}
			s.Produced.Records, s.Produced.Latency.P50Us = 1, 1000
			r.Seconds = append(r.Seconds, s)
		}
		change(r)
		return r
	}
	for _, test := range []struct {
		change func(*Report)
		broken string
	}{
		{func(*Report) {}, ""},
		{func(r *Report) { r.Produced.Latency.P99Us = 10_000 }, "p99 is 10ms"},
		{func(r *Report) { r.Produced.Latency.Count = 0 }, "nothing was measured for p99"},
		{func(r *Report) { r.Verdict, r.Error = VerdictPartial, "gone" }, "gone"},
		{func(r *Report) { r.Verdict, r.Reasons = VerdictInvalid, []string{"late"} }, ""},
		{func(r *Report) {
			r.Verdict, r.Reasons, r.Produced.Latency.P99Us = VerdictInvalid, []string{"late", "busy"}, 10_000
		}, "p99 is 10ms; late; busy"},
		{func(r *Report) { r.Verdict, r.LostRequests = VerdictInvalid, 2 }, "2 acknowledged requests reached no consumer"},
		{func(r *Report) { r.Seconds[6].Produced.Latency.P50Us, r.Seconds[7].Produced.Latency.P50Us = 7001, 7001 }, "the median response grows by 6.001ms over the window"},
	} {
		if broken := Held(report(test.change), []Bound{bound}); broken != test.broken {
			t.Errorf("%q, want %q", broken, test.broken)
		}
	}
	for _, bad := range []string{"", "p99", "p99<", "p98<1ms", "p99<-1ms", "rate<1ms", "p99<10"} {
		if _, err := ParseBound(bad); !errors.Is(err, ErrWorkload) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	late := report(func(r *Report) { r.Verdict, r.Reasons = VerdictInvalid, []string{"late"} })
	if broken := Held(late, nil); broken != "late" {
		t.Errorf("an invalid run without bounds: %q", broken)
	}
	if b, err := ParseBound("e2e-p99.9<1s"); err != nil || b.Max != time.Second || b.Measure.Name != "e2e-p99.9" {
		t.Errorf("%+v, %v", b, err)
	}
	if broken := Held(report(func(*Report) {}), []Bound{{Measures[7], time.Second}}); broken != "nothing was measured for e2e-p90" {
		t.Errorf("a bound about consumers where there are none: %q", broken)
	}
}

// backlogRun is a run at 1,000/s in 10 s with what was acknowledged and consumed in each.
func backlogRun(acknowledged, consumed func(second int) int64) *Report {
	r := &Report{WindowSeconds: 10, Config: ReportConfig{RatePerSecond: 1000, Subscriptions: 2}}
	for i := range 12 { // two behind the window
		r.Seconds = append(r.Seconds, SecondFigures{Second: i, Produced: StreamFigures{Records: acknowledged(i)}, Consumed: &StreamFigures{Records: consumed(i)}})
	}
	return r
}

func TestHeldBacklog(t *testing.T) {
	steady := func(n int64) func(int) int64 { return func(int) int64 { return n } }
	late := func(second int) int64 { // 700 are on their way at any time
		if second == 0 {
			return 300
		}
		return 1000
	}
	for name, c := range map[string]struct {
		run    *Report
		limit  int64
		broken string
	}{
		"kept up":                   {backlogRun(steady(1000), steady(2000)), 1000, ""},
		"some on their way":         {backlogRun(late, func(i int) int64 { return 2 * late(i) }), 1000, ""},
		"producers fall behind":     {backlogRun(steady(980), steady(1960)), 1000, "producers fell 120 records behind the schedule"},
		"within 1 %":                {backlogRun(steady(990), steady(1980)), 1000, ""},
		"within the limit only":     {backlogRun(steady(990), steady(1980)), 80, "producers fell 90 records behind the schedule"},
		"consumers behind":          {backlogRun(steady(1000), steady(1900)), 1000, "consumers were 200 records behind what was acknowledged"},
		"one subscription too slow": {backlogRun(steady(1000), steady(1000)), 1000, "consumers were 1000 records behind what was acknowledged"},
	} {
		if got := HeldBacklog(c.run, c.limit); got != c.broken {
			t.Errorf("%s: %q, want %q", name, got, c.broken)
		}
	}
}

// A run that lost something is not invalid for the client's sake; one in which nothing was measured says no more than is known.
func TestClientsFault(t *testing.T) {
	for _, c := range []struct {
		verdict       string
		records, lost int64
		before, want  bool
	}{
		{VerdictInvalid, 10, 0, false, true}, {VerdictInvalid, 0, 0, false, false}, {VerdictInvalid, 0, 0, true, true}, {VerdictInvalid, 10, 1, true, false},
		{VerdictValid, 10, 0, true, false}, {VerdictPartial, 10, 0, true, false}, {VerdictPartial, 0, 0, true, false},
	} {
		r := &Report{Verdict: c.verdict, LostRequests: c.lost}
		if r.Produced.Records = c.records; r.ClientsFault(c.before) != c.want {
			t.Errorf("%+v: %v", c, r.ClientsFault(c.before))
		}
	}
}
