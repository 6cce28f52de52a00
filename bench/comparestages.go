package bench

import (
	"fmt"
	"math"
	"slices"
)

// StageContrast is what a stage of one kind of request, or its total, takes in the nodes of both sides, on average over all requests: means add up.
// It is in microseconds.
type StageContrast struct {
	API   string `json:"api"`
	Stage string `json:"stage"`
	Contrast
}

// StageComparison is where the difference between two sides lies in their nodes, as far as these said what they did.
type StageComparison struct {
	Stages []StageContrast `json:"stages"`
	// Readings are a sentence for each kind of request: which stage makes the difference, if there is one.
	Readings []string `json:"readings"`
}

// comparedRequests are the kinds of requests whose stages are compared: those of a load.
var comparedRequests = []string{"Produce", "Fetch"}

// StageMeasures are the means of the stages of a kind of request, in the order of its way, with that of all of it (StageTotal) last; in microseconds.
func StageMeasures(api string) (all []Measure) {
	for _, stage := range append(slices.Clone(stageOrder), StageTotal) {
		all = append(all, stageMean(api, stage))
	}
	return all
}

// stageMean is the mean of a stage, or of all of a request, in one run. A stage that no request passed took none of their time.
func stageMean(api, stage string) Measure {
	return Measure{Name: stage, Unit: "us", of: func(r *Report) (float64, bool) {
		if r.Stages == nil {
			return 0, false
		}
		for i := range r.Stages.Requests {
			if q := &r.Stages.Requests[i]; q.API == api {
				return q.meanUs(stage)
			}
		}
		return 0, false
	}}
}

// meanUs is the mean of a stage, or of the total; false if the requests did not pass it.
func (q *RequestStages) meanUs(stage string) (float64, bool) {
	if stage == StageTotal {
		return q.MeanUs, true
	}
	for _, f := range q.Stages {
		if f.Stage == stage {
			return f.MeanUs, true
		}
	}
	return 0, false
}

// compareStages compares what nodes said of both sides' runs; nil if those of one side said nothing.
func compareStages(a, b []*Report) *StageComparison {
	c := &StageComparison{Stages: []StageContrast{}, Readings: []string{}}
	for _, api := range comparedRequests {
		total := stageMean(api, StageTotal)
		if len(total.Sample(a)) == 0 || len(total.Sample(b)) == 0 {
			continue
		}
		var whole, most StageContrast
		for _, m := range StageMeasures(api) {
			f, has := contrastOfStage(api, m, a, b)
			switch {
			case !has:
				continue
			case m.Name == StageTotal:
				whole = f
			case !outsideTotal(m.Name) && math.Abs(f.B-f.A) > math.Abs(most.B-most.A):
				most = f
			}
			c.Stages = append(c.Stages, f)
		}
		c.Readings = append(c.Readings, readingOfStages(api, &whole.Contrast, &most))
	}
	if len(c.Stages) == 0 {
		return nil
	}
	return c
}

// contrastOfStage compares a stage of both sides; false if requests of neither pass it.
func contrastOfStage(api string, m Measure, a, b []*Report) (f StageContrast, has bool) {
	x, y := m.Sample(a), m.Sample(b)
	f = StageContrast{API: api, Stage: m.Name}
	switch {
	case len(x) == 0 && len(y) == 0:
		return f, false
	case len(x) > 0 && len(y) > 0:
		f.Contrast = m.contrast(x, y)
	default: // requests of one side do not pass it
		total := stageMean(api, StageTotal)
		f.Contrast = m.contrastWithNone(x.padded(len(total.Sample(a))), y.padded(len(total.Sample(b))))
	}
	return f, true
}

// contrastWithNone compares values of which those of one side are all 0, so that there is a difference and no ratio. Less is better.
func (m Measure) contrastWithNone(a, b Sample) Contrast {
	c := m.medians(a, b)
	c.Verdict = VerdictSame
	switch {
	case leftOut(len(a), len(b)) == 0:
		c.Verdict = VerdictTooFew
	case c.P < alpha && c.A > c.B:
		c.Verdict = VerdictBetter
	case c.P < alpha && c.B > c.A:
		c.Verdict = VerdictWorse
	}
	return c
}

// padded has zeros for the runs that lack the value, of n in all.
func (s Sample) padded(n int) Sample { return append(s, make(Sample, max(n-len(s), 0))...) }

// readingOfStages says which stage makes the difference of the whole.
func readingOfStages(api string, whole *Contrast, most *StageContrast) string {
	said := fmt.Sprintf("%s took %s on average in A's node and %s in B's", api, FormatLatency(whole.A), FormatLatency(whole.B))
	difference := whole.B - whole.A
	switch {
	case whole.Verdict == VerdictTooFew:
		return said + "; there are too few runs for a verdict."
	case whole.Verdict == VerdictSame || most.Stage == "" || difference == 0:
		return said + ": no difference seen."
	}
	said += ": " + whole.Verdict
	change := fmt.Sprintf("%s, from %s to %s", most.Stage, FormatLatency(most.A), FormatLatency(most.B))
	switch share := (most.B - most.A) / difference; {
	case share < 0:
		return fmt.Sprintf("%s; no stage makes that: most changes %s.", said, change)
	case share < 0.5:
		return fmt.Sprintf("%s, which no stage makes alone: most is %s, %.0f %% of the difference.", said, change, share*100)
	default:
		return fmt.Sprintf("%s, made by %s, %.0f %% of the difference.", said, change, share*100)
	}
}

// P99Stage is the stage that makes the p99 of a kind of request in most of some runs, "" if their nodes did not say.
func P99Stage(runs []*Report, api string) string {
	counts, most := map[string]int{}, ""
	for _, r := range runs {
		if r.Stages == nil {
			continue
		}
		at := slices.IndexFunc(r.Stages.Requests, func(q RequestStages) bool { return q.API == api })
		if at < 0 {
			continue
		}
		stage := r.Stages.Requests[at].P99Stage
		if counts[stage]++; stage != "" && counts[stage] > counts[most] {
			most = stage
		}
	}
	return most
}
