package tune

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/bench"
)

// surface is a node whose rate is known: 1,000/s times the factor of each setting, and noise.
type surface struct {
	factors map[string]float64 // of name=value; 1 if it is not there
	noise   float64
	random  *rand.Rand
	runs    int
}

func (s *surface) measure(_ context.Context, settings []bench.Setting) (Score, error) {
	s.runs++
	rate := 1000 * (1 + s.noise*(2*s.random.Float64()-1))
	seen := map[string]bool{}
	for _, set := range settings {
		if seen[set.Name] {
			return Score{}, fmt.Errorf("%s is set twice", set.Name)
		}
		seen[set.Name] = true
		if f, has := s.factors[set.Name+"="+set.Value]; has {
			rate *= f
		}
	}
	return Score{Rate: rate, P99Us: 1e6 / rate}, nil
}

var space = []Property{{"loops", []string{"0", "1", "2", "3", "4"}}, {"engine", []string{"auto", "epoll"}}, {"journal", []string{"64", "16", "256"}}}

func search(s *surface) Search {
	return Search{Space: space, Measure: s.measure, AA: 4, Pairs: 3, Passes: 3}
}

func newSurface(noise float64, factors map[string]float64) *surface {
	return &surface{factors: factors, noise: noise, random: rand.New(rand.NewPCG(1, 2))}
}

// What gains more than the noise is found among its rivals, with what it bought; what gains less, or loses, is not kept.
func TestSearch(t *testing.T) {
	s := newSurface(0.02, map[string]float64{"loops=2": 1.5, "loops=3": 1.2, "loops=4": 0.5, "engine=epoll": 0.8, "journal=256": 1.01, "journal=16": 1.15})
	r, err := search(s).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []bench.Setting{{Name: "loops", Value: "2"}, {Name: "journal", Value: "16"}}; !slices.Equal(r.Set, want) {
		t.Errorf("set %v, want %v", r.Set, want)
	}
	if gain := r.Best.Rate / r.Baseline.Rate; gain < 1.6 || gain > 1.85 || r.Noise <= 0 || r.Noise > 0.05 {
		t.Errorf("gain %v, noise %v", gain, r.Noise)
	}
	kept := 0
	for _, step := range r.Steps {
		if step.Kept {
			kept++
			if step.Pairs < 3 || step.Ratio < 1.1 || step.After.P99Us >= step.Before.P99Us {
				t.Errorf("%+v", step)
			}
		}
	}
	if kept != 2 {
		t.Errorf("%d steps kept: %+v", kept, r.Steps)
	}
	if s.runs > 60 {
		t.Errorf("%d measurements", s.runs)
	}
}

// In noise alone nothing is kept, and the search ends after a pass.
func TestNoise(t *testing.T) {
	s := newSurface(0.1, nil)
	r, err := search(s).Run(t.Context())
	if err != nil || len(r.Set) > 0 || r.Best != r.Baseline || s.runs > 40 {
		t.Errorf("set %v after %d measurements, %v", r.Set, s.runs, err)
	}
}

// A value may be taken back when another property has made it a loss.
func TestTakenBack(t *testing.T) {
	s := newSurface(0.01, nil)
	look := search(s)
	look.Measure = func(ctx context.Context, settings []bench.Setting) (Score, error) {
		s.factors = map[string]float64{"loops=1": 1.3, "loops=2": 0.9, "loops=3": 0.9, "loops=4": 0.9, "engine=epoll": 1.5}
		if slices.Contains(settings, bench.Setting{Name: "engine", Value: "epoll"}) {
			s.factors["loops=1"] = 0.93
		}
		return s.measure(ctx, settings)
	}
	r, err := look.Run(t.Context())
	if want := []bench.Setting{{Name: "engine", Value: "epoll"}}; err != nil || !slices.Equal(r.Set, want) {
		t.Errorf("set %v, want %v, %v", r.Set, want, err)
	}
}

// It breaks off with what it found, and has nothing to say where nothing holds.
func TestBreaksOff(t *testing.T) {
	s := newSurface(0.01, map[string]float64{"loops=2": 1.5})
	broken := errors.New("the node is gone")
	look := search(s)
	look.Measure = func(ctx context.Context, settings []bench.Setting) (Score, error) {
		if slices.Contains(settings, bench.Setting{Name: "engine", Value: "epoll"}) {
			return Score{}, broken
		}
		return s.measure(ctx, settings)
	}
	r, err := look.Run(t.Context())
	if !errors.Is(err, broken) || len(r.Set) != 1 || r.Error != "engine=epoll: the node is gone" {
		t.Errorf("%+v, %v", r, err)
	}
	look.Measure = func(context.Context, []bench.Setting) (Score, error) { return Score{}, nil }
	if _, err := look.Run(t.Context()); !errors.Is(err, ErrNoBaseline) {
		t.Error(err)
	}
}
