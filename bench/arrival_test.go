package bench

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

// dueUntil are all events of pacers up to an instant, in order, in seconds.
func dueUntil(until Instant, pacers ...*Pacer) (all []float64) {
	for _, p := range pacers {
		for due := p.Next(); due < until; due = p.Next() {
			all = append(all, time.Duration(due).Seconds())
		}
	}
	slices.Sort(all)
	return all
}

// dispersion is the variance of the events in windows of a length to their mean: 1 for Poisson's law, 0 for events that come evenly.
func dispersion(events []float64, length, total float64) float64 {
	counts := make([]float64, int(total/length))
	for _, at := range events {
		if i := int(at / length); i < len(counts) {
			counts[i]++
		}
	}
	mean, squares := float64(len(events))*length/total, 0.0
	for _, c := range counts {
		squares += (c - mean) * (c - mean)
	}
	return squares / float64(len(counts)) / mean
}

func pacersOf(arrival string, seed uint64, producers int, rate float64) (all []*Pacer) {
	parsed, err := ParseArrival(arrival)
	if err != nil {
		panic(err)
	}
	t := Trial{Topics: 1, Producers: producers, Rate: rate, arrival: parsed, Seed: seed}
	for i := range producers {
		all = append(all, t.pacer(0, t.producerRate(), 1, i))
	}
	return all
}

// Gaps of an exponential distribution, by the Kolmogorov-Smirnov distance that 1 of 100 samples exceeds, and counts of Poisson's law, also where
// several producers make the load together.
func TestPoissonArrivals(t *testing.T) {
	for _, producers := range []int{1, 7} {
		for _, seed := range []uint64{0, 1, 12345} {
			events := dueUntil(Instant(100*time.Second), pacersOf("poisson", seed, producers, 1000)...)
			if n := float64(len(events)); math.Abs(n-100_000) > 3*math.Sqrt(100_000) {
				t.Errorf("%d producers, seed %d: %v events of 100,000", producers, seed, n)
			}
			gaps, last := make([]float64, len(events)), 0.0
			for i, at := range events {
				gaps[i], last = at-last, at
			}
			slices.Sort(gaps)
			n, distance := float64(len(gaps)), 0.0
			for i, gap := range gaps {
				law := 1 - math.Exp(-gap*1000)
				distance = max(distance, math.Abs(law-float64(i)/n), math.Abs(law-float64(i+1)/n))
			}
			if most := 1.63 / math.Sqrt(n); distance > most {
				t.Errorf("%d producers, seed %d: distance %.5f, at most %.5f", producers, seed, distance, most)
			}
			for _, length := range []float64{0.001, 0.01, 0.1} {
				windows := 100 / length
				if d := dispersion(events, length, 100); math.Abs(d-1) > 4*math.Sqrt(2/windows) {
					t.Errorf("%d producers, seed %d: dispersion %.3f in windows of %v s", producers, seed, d, length)
				}
			}
		}
	}
}

// A seed makes one schedule; another one, or another producer, another.
func TestArrivalsOfASeed(t *testing.T) {
	schedule := func(seed uint64, producer int) []float64 {
		return dueUntil(Instant(time.Second), pacersOf("poisson", seed, 3, 300)[producer])
	}
	if !slices.Equal(schedule(5, 1), schedule(5, 1)) {
		t.Error("the same seed has two schedules")
	}
	for _, other := range [][]float64{schedule(6, 1), schedule(5, 2), schedule(0, 1)} {
		if slices.Equal(schedule(5, 1), other) {
			t.Error("two schedules are one")
		}
	}
}

// So many at once, each time as many, and in the mean as often as was asked for; producers one after the other.
func TestBurstArrivals(t *testing.T) {
	events := dueUntil(Instant(10*time.Second), pacersOf("burst:50", 0, 2, 1000)...)
	if len(events) != 10_000 {
		t.Fatalf("%d events of 10,000", len(events))
	}
	for i, at := range events {
		if want := float64(i/50) * 0.05; math.Abs(at-want) > 1e-9 {
			t.Fatalf("event %d at %v s, want %v", i, at, want)
		}
	}
	if trial := (Trial{Topics: 1, Producers: 1, arrival: Arrival{kind: arrivalBurst, burst: 50}}); trial.pacer(0, 100, 10, 0).burst != 5 || trial.pacer(0, 100, 100, 0).burst != 1 {
		t.Error("a burst of 50 records is 5 batches of 10, and one of 100")
	}
}

func TestUniformArrivals(t *testing.T) {
	events := dueUntil(Instant(10*time.Second), pacersOf("", 0, 4, 1000)...)
	for i, at := range events {
		if math.Abs(at-float64(i)/1000) > 1e-6 || len(events) != 10_000 {
			t.Fatalf("event %d of %d at %v s", i, len(events), at)
		}
	}
}

func TestUnusableArrivals(t *testing.T) {
	for _, text := range []string{"Poisson", "poisson:1", "burst", "burst:", "burst:0", "burst:x", "burst:1000001", "even", "trace", "trace:", "trace:/nowhere"} {
		if _, err := ParseArrival(text); !errors.Is(err, ErrWorkload) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
