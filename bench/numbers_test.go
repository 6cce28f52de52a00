package bench

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestRange(t *testing.T) {
	r := Range[float64]{Least: 1, Most: 10, Or: []float64{-1}}
	for number, right := range map[float64]bool{1: true, 10: true, -1: true, 0: false, 10.5: false, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false} {
		if err := r.Check("x", number); (err == nil) != right || err != nil && (!errors.Is(err, ErrWorkload) || !strings.Contains(err.Error(), "from 1 to 10, or -1")) {
			t.Errorf("%v: %v", number, err)
		}
	}
	if r.Or0().Check("x", 0) != nil || r.Check("x", 0) == nil || r.from(2).Check("x", 1) == nil {
		t.Error("a range is another one's")
	}
}

// What is due later than can be counted is never due; it is not due in the past.
func TestInstantAfter(t *testing.T) {
	for nanoseconds, want := range map[float64]Instant{0: 5, 10.9: 15, 1e19: never, math.MaxInt64: never, math.Inf(1): never, math.NaN(): never} {
		if got := Instant(5).after(nanoseconds); got != want {
			t.Errorf("%v: %d, want %d", nanoseconds, got, want)
		}
	}
}

// A window in which nothing was acknowledged is not valid.
func TestNothingMeasuredIsInvalid(t *testing.T) {
	o := &Outcome{Produced: newFigures(), Lag: NewHistogram(), Elapsed: time.Second, ClientCores: 1}
	if reasons := o.Invalid(); len(reasons) != 1 || !strings.Contains(reasons[0], "nothing was measured") {
		t.Errorf("%v", reasons)
	}
}

// A rehearsal's rate is one that a run may have, however many producers there are.
func TestRehearsalRate(t *testing.T) {
	for topics, want := range map[int]float64{1: 16 * 1000 * 500, 1000: Rates.Most} {
		trial := Trial{Topics: topics, Producers: 1000, BatchRecords: 500}.rehearsal()
		if trial.Rate != want || Rates.Check("rate", trial.Rate) != nil {
			t.Errorf("%d topics: %v records/s", topics, trial.Rate)
		}
	}
}
