package bench

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func traceOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return "trace:" + path
}

// Instants and gaps, of any unit and from any beginning, are one load, which is repeated when it has ended; producers share its records, and its gaps
// are stretched to make the rate.
func TestTraceArrivals(t *testing.T) {
	for name, text := range map[string]string{
		"seconds":   "10\n10.1\n10.1\n\n# a pause\n10.6\n",
		"units":     "0s\n100ms\n100000us\n600ms",
		"gaps":      "+3\n+0.1\n+0\n+500ms\n",
		"both":      "1700000000\n+100ms\n1700000000.1\n1700000000.6",
		"from zero": "0\n0.1\n0.1\n0.6",
	} {
		t.Run(name, func(t *testing.T) {
			arrival := traceOf(t, text)
			parsed, err := ParseArrival(arrival)
			if err != nil || math.Abs(parsed.Rate()-5) > 1e-6 { // 4 records in 0.6 s and a mean gap of 0.2 s
				t.Fatalf("a rate of %v: %v", parsed.Rate(), err)
			}
			want := []float64{0, 0.1, 0.1, 0.6, 0.8, 0.9, 0.9, 1.4, 1.6, 1.7, 1.7, 2.2}
			for _, producers := range []int{1, 2, 3, 7} {
				for _, stretch := range []float64{1, 10, 0.01} {
					events := dueUntil(Instant(2.3*stretch*1e9), pacersOf(arrival, 0, producers, 5/stretch)...)
					same := slices.EqualFunc(events, want, func(a, b float64) bool { return math.Abs(a-b*stretch) < 1e-6*stretch })
					if !same {
						t.Errorf("%d producers, stretched by %v: due at %v, want %v", producers, stretch, events, want)
					}
				}
			}
		})
	}
}

// A raw client's requests come when the last record of each has come; lanes of different shares make the rate together.
func TestTraceOfRequests(t *testing.T) {
	parsed, err := ParseArrival(traceOf(t, "0\n1\n"))
	if err != nil {
		t.Fatal(err)
	}
	trial := Trial{Topics: 1, Producers: 1, Rate: 1000, arrival: parsed}
	var lanes []*Pacer
	for _, share := range []struct{ of, before float64 }{{0.5, 0}, {0.25, 0.5}, {0.25, 0.75}} {
		p := trial.pacer(0, trial.Rate*share.of/10, 10, 0)
		p.replay.phase = share.before
		lanes = append(lanes, p)
	}
	for i, p := range lanes {
		want := []int{500, 250, 250}[i] / 10 * 10
		if n := len(dueUntil(Instant(10*time.Second), p)); n < want-1 || n > want+1 {
			t.Errorf("lane %d sends %d requests, want %d", i, n, want)
		}
	}
}

func TestUnusableTraces(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "two instants",
		"1\n":                               "two instants",
		"1\n1\n1\n":                         "two instants",
		"1\nx\n":                            `line 2: "x": seconds`,
		"2\n\n1\n":                          `line 3: "1" is before`,
		"0\n+-1s\n":                         "a gap below zero",
		"0\nNaN\n":                          "line 2",
		"0\n1e300\n":                        "line 2",
		"9e9\n+9e9\n":                       "beyond",
		strings.Repeat("\x00", 1000) + "\n": "line 1: \"" + strings.Repeat(`\x00`, 40) + "…\": seconds",
		"0\n1 second\n":                     "line 2",
		"0\n1;2\n0.5 # no\n":                "line 2",
	} {
		if _, err := ParseArrival(traceOf(t, text)); !errors.Is(err, ErrWorkload) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
