package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// runs are valid results whose response p99 is given in milliseconds.
func runs(p99 ...float64) (all []*Report) {
	for i, v := range p99 {
		r := &Report{Schema: ReportSchema, Verdict: VerdictValid, Started: time.Unix(int64(i), 0), Config: ReportConfig{Codec: "none"}}
		r.Produced.RecordsPerSecond = 1000
		r.Produced.Latency = LatencyFigure{Count: 1, P99Us: v * 1000}
		all = append(all, r)
	}
	return all
}

func figure(t *testing.T, c *Comparison, name string) Contrast {
	t.Helper()
	for _, f := range c.Figures {
		if f.Measure == name {
			return f
		}
	}
	t.Fatalf("no %s in %+v", name, c.Figures)
	return Contrast{}
}

// The values of p are R's, wilcox.test(a, b, exact=TRUE); the interval of the first row is by hand: of 16 ratios the least and the greatest are left
// out, since P(U ≤ 0) is 1/70 and P(U ≤ 1) 2/70.
func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name      string
		a, b      []float64
		verdict   string
		p         float64
		low, high float64
	}{
		{"twice", []float64{10, 11, 12, 13}, []float64{20, 22, 24, 26}, VerdictWorse, 2.0 / 70, 20.0 / 13, 26.0 / 10},
		{"half", []float64{20, 22, 24, 26}, []float64{10, 11, 12, 13}, VerdictBetter, 2.0 / 70, 10.0 / 26, 13.0 / 20},
		{"mixed", []float64{10, 12, 14, 16}, []float64{11, 13, 15, 17}, VerdictSame, 48.0 / 70, 11.0 / 16, 17.0 / 10},
		{"three", []float64{10, 11, 12}, []float64{20, 22, 24}, VerdictTooFew, 2.0 / 20, 0, 0},
		{"one", []float64{10}, []float64{20}, VerdictTooFew, 1, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Compare(runs(test.a...), runs(test.b...))
			if err != nil {
				t.Fatal(err)
			}
			f := figure(t, c, "p99")
			near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
			if f.Verdict != test.verdict || !near(f.P, test.p) || !near(f.Low, test.low) || !near(f.High, test.high) {
				t.Errorf("%+v, want p %v, %v to %v", f, test.p, test.low, test.high)
			}
			if rate := figure(t, c, "rate"); rate.Verdict != VerdictSame && rate.Verdict != VerdictTooFew || rate.Ratio != 1 {
				t.Errorf("equal rates: %+v", rate)
			}
		})
	}
}

// Where there is no difference a verdict is given in one of twenty comparisons at most, and the interval holds the true ratio in 95 of 100
// at least; where there is twice as much it is seen.
func TestCompareHolds(t *testing.T) {
	const rounds = 500
	r := rand.New(rand.NewPCG(1, 2))
	tailed := func(n int, scale float64) (values []float64) {
		for range n {
			values = append(values, scale*math.Exp(0.1*r.NormFloat64()/max(r.Float64(), 0.2)))
		}
		return values
	}
	for _, ratio := range []float64{1, 2} {
		var held, worse, better int
		for range rounds {
			c, err := Compare(runs(tailed(8, 10)...), runs(tailed(8, 10*ratio)...))
			if err != nil {
				t.Fatal(err)
			}
			f := figure(t, c, "p99")
			if f.Low <= ratio && ratio <= f.High {
				held++
			}
			switch f.Verdict {
			case VerdictWorse:
				worse++
			case VerdictBetter:
				better++
			}
		}
		if held < rounds*94/100 {
			t.Errorf("ratio %v: %d of %d intervals hold it", ratio, held, rounds)
		}
		if ratio == 1 && worse+better > rounds*6/100 || ratio > 1 && (worse < rounds*9/10 || better > 0) {
			t.Errorf("ratio %v: worse %d, better %d of %d", ratio, worse, better, rounds)
		}
	}
}

func TestCompareLeavesOut(t *testing.T) {
	a, b := runs(10, 10, 10, 10), runs(10, 10, 10, 10, 99, 99)
	b[4].Verdict, b[4].Reasons = VerdictInvalid, []string{"late"}
	b[5].Verdict, b[5].Error, b[5].LostRequests = VerdictPartial, "gone", 3
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if c.A.Runs != 4 || c.B.Runs != 4 || fmt.Sprint(c.B.LeftOut) != "[invalid: late partial: gone]" || c.B.LostRequests != 3 || figure(t, c, "p99").B != 10 {
		t.Errorf("%+v", c)
	}
}

func TestCompareDiffers(t *testing.T) {
	a, b := runs(10, 10), runs(10, 10)
	for _, r := range b {
		r.Config.Codec, r.Config.Topic, r.Config.Addresses, r.Host.Kernel = "zstd", "other", []string{"other"}, "6.1"
	}
	c, err := Compare(a, b)
	if err != nil || fmt.Sprint(c.Differs) != "[codec: none, zstd kernel: , 6.1]" {
		t.Errorf("%v, %v", c.Differs, err)
	}
	if _, err := Compare(append(a, b...), b); !errors.Is(err, ErrCompare) || !strings.Contains(err.Error(), "codec: none, zstd") {
		t.Errorf("one side of two kinds: %v", err)
	}
}

func TestReadReports(t *testing.T) {
	text, err := json.Marshal(runs(1)[0])
	if err != nil {
		t.Fatal(err)
	}
	both := string(text) + "\n" + string(text)
	if all, err := ReadReports(strings.NewReader(both)); err != nil || len(all) != 2 || all[1].Produced.Latency.P99Us != 1000 {
		t.Errorf("%v, %v", all, err)
	}
	for _, bad := range []string{"", "{}", both[:len(both)-1], "x"} {
		if _, err := ReadReports(strings.NewReader(bad)); !errors.Is(err, ErrCompare) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestNoise(t *testing.T) {
	if n := noise(Sample{100, 110, 100}, Sample{50, 55}); math.Abs(n-0.1) > 1e-9 {
		t.Errorf("steps of a tenth: %v", n)
	}
	if n := noise(Sample{1}, Sample{2}); n != 0 {
		t.Errorf("no steps: %v", n)
	}
}
