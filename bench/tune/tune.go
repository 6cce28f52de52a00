// Package tune looks for settings of a node with which it holds a higher rate.
//
// It goes from one property to the next. The values of one compete with what is set now, each measurement beside one of that, and the worse half of
// them is left out after each round (successive halving); the last one is kept if the median of its ratios is above what two measurements of the same
// settings differ by, which is measured first (A/A). The search ends when a pass over all properties gains nothing.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringmill/ringmill/bench"
)

// Schema names the form of a Result, as bench.ReportSchema does of a run's.
const Schema = "ringmill.bench.tune/1"

// Property may be set. The first of its Values is what it is without being set.
type Property struct {
	Name   string
	Values []string
}

// Score is what a node does with some settings.
type Score struct {
	// Rate is the highest, in records a second, that holds the bounds; P99Us and CPUSecondsPerGB are at that rate, the latter 0 if it is not known.
	Rate            float64 `json:"ratePerSecond"`
	P99Us           float64 `json:"p99Us"`
	CPUSecondsPerGB float64 `json:"cpuSecondsPerGB,omitempty"`
}

// Step is a value that was tried.
type Step struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Instead is the value that it was held against, Before and After are medians with either.
	Instead string `json:"instead"`
	Before  Score  `json:"before"`
	After   Score  `json:"after"`
	// Ratio is the median of the ratios of the rates, After to Before, of neighbours in time; Pairs is how many.
	Ratio float64 `json:"ratio"`
	Pairs int     `json:"pairs"`
	Kept  bool    `json:"kept"`
}

// Result is what a Search has found.
type Result struct {
	Schema  string     `json:"schema"`
	Host    bench.Host `json:"host"`
	Command string     `json:"command,omitempty"`
	Bounds  []string   `json:"bounds"`
	// Error is why the search broke off; what it found until then counts.
	Error string `json:"error,omitempty"`
	// Noise is by how much the rates of the same settings differ, as a part: a gain below it is none.
	Noise    float64 `json:"noise"`
	Baseline Score   `json:"baseline"`
	Best     Score   `json:"best"`
	// Set are the properties to set, Steps all that were tried in their order.
	Set   []bench.Setting `json:"set"`
	Steps []Step          `json:"steps"`
}

// Search is what is asked for.
type Search struct {
	Space []Property
	// Measure gives the score with settings that are not as they are; the rest is. A Rate of 0: no rate holds.
	Measure func(ctx context.Context, settings []bench.Setting) (Score, error)
	// Rehearse, if not nil, comes first: its error is why nothing is measured.
	Rehearse func(ctx context.Context) error
	// AA is how often the baseline is measured, at least 2; Pairs how often a value that is kept has been held against what was set; Passes bounds the
	// passes over all properties.
	AA, Pairs, Passes int
	// Progress, if not nil, is told in words what has been done.
	Progress func(string)
}

// ErrNoBaseline: with the settings as they are no rate holds, so that there is nothing to compare with.
var ErrNoBaseline = errors.New("bench: no rate holds with the settings as they are")

// Run searches. With an error, what was found until then is returned too.
func (s Search) Run(ctx context.Context) (*Result, error) {
	r := &Result{Schema: Schema, Host: bench.ReadHost(), Bounds: []string{}, Set: []bench.Setting{}, Steps: []Step{}}
	err := s.run(ctx, r)
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}

func (s Search) run(ctx context.Context, r *Result) error {
	if s.Rehearse != nil {
		if err := s.Rehearse(ctx); err != nil {
			return err
		}
	}
	if err := s.baseline(ctx, r); err != nil {
		return err
	}
	for range s.Passes {
		gained := false
		for _, p := range s.Space {
			kept, err := s.compete(ctx, r, p)
			if err != nil {
				return err
			}
			gained = gained || kept
		}
		if !gained {
			return nil
		}
	}
	return nil
}

// baseline measures what is, and how much that varies.
func (s Search) baseline(ctx context.Context, r *Result) error {
	var scores []Score
	for range s.AA {
		score, err := s.Measure(ctx, nil)
		if err != nil {
			return err
		}
		s.say("as it is: %s", score)
		if score.Rate <= 0 {
			return ErrNoBaseline
		}
		scores = append(scores, score)
	}
	least, greatest := rates(scores).Range()
	r.Baseline, r.Noise = median(scores), greatest/least-1
	r.Best = r.Baseline
	return nil
}

// contender is a value with what was measured of it, and beside it of what is set.
type contender struct {
	value         string
	before, after []Score
	ratios        bench.Sample
}

// compete has the values of a property compete with what is set, and keeps the best if its gain is no noise.
func (s Search) compete(ctx context.Context, r *Result, p Property) (kept bool, err error) {
	var left []*contender
	set := valueOf(r.Set, p)
	for _, value := range p.Values {
		if value != set {
			left = append(left, &contender{value: value})
		}
	}
	for round := 0; len(left) > 0; round++ {
		if err := s.round(ctx, r, p, left, round%2 == 1); err != nil {
			return kept, err
		}
		slices.SortStableFunc(left, func(a, b *contender) int { return cmp.Compare(b.ratios.Median(), a.ratios.Median()) })
		stay := (len(left) + 1) / 2
		for stay > 0 && left[stay-1].ratios.Median() <= 1 {
			stay--
		}
		for _, c := range left[stay:] {
			r.Steps = append(r.Steps, c.step(p.Name, set))
		}
		if left = left[:stay]; len(left) == 1 && len(left[0].ratios) >= s.Pairs {
			step := left[0].step(p.Name, set)
			if step.Kept = step.Ratio > 1+r.Noise; step.Kept {
				r.Set, r.Best, kept = with(r.Set, p, step.Value), step.After, true
			}
			r.Steps = append(r.Steps, step)
			return kept, nil
		}
	}
	return kept, nil
}

// round measures all that are left beside what is set, which comes first or last.
func (s Search) round(ctx context.Context, r *Result, p Property, left []*contender, last bool) error {
	var before Score
	var err error
	if !last {
		if before, err = s.Measure(ctx, r.Set); err != nil {
			return err
		}
	}
	scores := make([]Score, len(left))
	for i, c := range left {
		if scores[i], err = s.Measure(ctx, with(r.Set, p, c.value)); err != nil {
			return fmt.Errorf("%s=%s: %w", p.Name, c.value, err)
		}
		s.say("%s=%s: %s", p.Name, c.value, scores[i])
	}
	if last {
		if before, err = s.Measure(ctx, r.Set); err != nil {
			return err
		}
	}
	s.say("%s as it is: %s", p.Name, before)
	for i, c := range left {
		c.before, c.after = append(c.before, before), append(c.after, scores[i])
		c.ratios = append(c.ratios, scores[i].Rate/max(before.Rate, 1))
	}
	return nil
}

func (c *contender) step(name, instead string) Step {
	return Step{Name: name, Value: c.value, Instead: instead, Before: median(c.before), After: median(c.after), Ratio: c.ratios.Median(), Pairs: len(c.ratios)}
}

// valueOf is what a property is.
func valueOf(settings []bench.Setting, p Property) string {
	for _, s := range settings {
		if s.Name == p.Name {
			return s.Value
		}
	}
	return p.Values[0]
}

// with are the settings with another value of a property, which is none of them if it is its first one.
func with(settings []bench.Setting, p Property, value string) []bench.Setting {
	others := slices.DeleteFunc(slices.Clone(settings), func(s bench.Setting) bool { return s.Name == p.Name })
	if value == p.Values[0] {
		return others
	}
	return append(others, bench.Setting{Name: p.Name, Value: value})
}

func rates(scores []Score) (s bench.Sample) {
	for _, score := range scores {
		s = append(s, score.Rate)
	}
	return s
}

// median is that of each figure.
func median(scores []Score) Score {
	var p99, cpu bench.Sample
	for _, score := range scores {
		p99, cpu = append(p99, score.P99Us), append(cpu, score.CPUSecondsPerGB)
	}
	return Score{rates(scores).Median(), p99.Median(), cpu.Median()}
}

// String is a score for people.
func (s Score) String() string {
	if s.Rate <= 0 {
		return "no rate holds"
	}
	said := fmt.Sprintf("%s records/s, p99 %s", bench.FormatCount(s.Rate), bench.FormatLatency(s.P99Us))
	if s.CPUSecondsPerGB > 0 {
		said += fmt.Sprintf(", %.2f s of CPU a GB", s.CPUSecondsPerGB)
	}
	return said
}

func (s Search) say(format string, args ...any) {
	if s.Progress != nil {
		s.Progress(fmt.Sprintf(format, args...))
	}
}
