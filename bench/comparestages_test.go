package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// staged is a run whose node says how long produces were in two stages, in microseconds, and that fetches took no time.
func staged(at int, appended, synced float64) *Report {
	r := &Report{Verdict: VerdictValid, Started: time.Unix(int64(at), 0), Stages: &ReportStages{}}
	r.Produced.RecordsPerSecond = 1000
	q := RequestStages{API: "Produce", MeanUs: appended + synced + 10, P99Stage: "synced", Stages: []StageFigure{{Stage: "queued", MeanUs: 10}, {Stage: "appended", MeanUs: appended}}}
	if synced > 0 {
		q.Stages = append(q.Stages, StageFigure{Stage: "synced", MeanUs: synced})
	}
	r.Stages.Requests = []RequestStages{{API: "Metadata", MeanUs: 1}, q}
	return r
}

// The stage that makes the difference is told where there is one beyond doubt, whatever else the nodes say.
func TestStagesCompared(t *testing.T) {
	runs := func(appended, synced float64, n int) (all []*Report) {
		for i := range n {
			all = append(all, staged(i, appended+float64(i)/10, synced))
		}
		return all
	}
	for name, c := range map[string]struct {
		a, b         []*Report
		want, synced string
	}{
		"synced":                {runs(100, 500, 6), runs(110, 1500, 6), "Produce took 610 µs on average in A's node and 1.62 ms in B's: worse, made by synced, from 500 µs to 1.5 ms, 99 % of the difference.", VerdictWorse},
		"better":                {runs(110, 1500, 6), runs(100, 500, 6), "better, made by synced", VerdictBetter},
		"one has none":          {runs(100, 500, 6), runs(100, 0, 6), "better, made by synced, from 500 µs to 0 µs", VerdictBetter},
		"the other one":         {runs(100, 0, 4), runs(100, 500, 4), "worse, made by synced, from 0 µs to 500 µs", VerdictWorse},
		"one has none, too few": {runs(100, 500, 3), runs(100, 0, 3), "too few runs for a verdict.", VerdictTooFew},
		"both":                  {runs(100, 100, 6), runs(200, 200, 6), "worse, made by", VerdictWorse},
		"the same":              {runs(100, 500, 6), runs(100, 500, 6), "no difference seen.", VerdictSame},
		"too few":               {runs(100, 500, 2), runs(100, 1500, 2), "too few runs for a verdict.", VerdictTooFew},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Compare(c.a, c.b)
			if err != nil || got.Stages == nil || len(got.Stages.Readings) != 1 || !strings.Contains(got.Stages.Readings[0], c.want) {
				t.Fatalf("%v: %+v", err, got.Stages)
			}
			var stages []string
			for _, s := range got.Stages.Stages {
				stages = append(stages, s.API+" "+s.Stage)
				if want, is := c.synced, s.Stage == "synced"; is && s.Verdict != want {
					t.Errorf("synced is %s, want %s: %+v", s.Verdict, want, s)
				}
			}
			if want := []string{"Produce queued", "Produce appended", "Produce synced", "Produce total"}; !slices.Equal(stages, want) {
				t.Errorf("%v", stages)
			}
		})
	}
	bare := runs(1, 1, 4)
	for _, r := range bare {
		r.Stages = nil
	}
	if got, err := Compare(bare, runs(1, 1, 4)); err != nil || got.Stages != nil {
		t.Errorf("%+v, %v", got.Stages, err)
	}
	if got := P99Stage(append(bare, runs(1, 1, 2)...), "Produce"); got != "synced" {
		t.Errorf("%q makes the p99", got)
	}
	if got := P99Stage(bare, "Produce"); got != "" {
		t.Errorf("%q makes the p99 of what said nothing", got)
	}
}
