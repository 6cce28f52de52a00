package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Bound is the most that a latency may be, as p99<10ms.
type Bound struct {
	Measure Measure
	Max     time.Duration
}

// ParseBound reads NAME<DURATION, with the name of one of the Measures that are latencies. Errors wrap ErrWorkload.
func ParseBound(text string) (Bound, error) {
	name, limit, ok := strings.Cut(text, "<")
	if !ok {
		return Bound{}, fmt.Errorf("%w: bound %q: as p99<10ms", ErrWorkload, text)
	}
	m, err := MeasureNamed(strings.TrimSpace(name))
	if err != nil {
		return Bound{}, err
	}
	most, err := time.ParseDuration(strings.TrimSpace(limit))
	if err != nil || most <= 0 || m.MoreBetter {
		return Bound{}, fmt.Errorf("%w: bound %q: as p99<10ms", ErrWorkload, text)
	}
	return Bound{m, most}, nil
}

func (b Bound) String() string { return fmt.Sprintf("%s<%v", b.Measure.Name, b.Max) }

// Held says why a run does not hold the bounds; "" if it does. What it must do besides: lose nothing, end, and not be slower at the end of the
// window than at its beginning, which a window that ends before the bound is reached would hide. That the generator was late or short of
// processors makes responses longer and never shorter: bounds that hold all the same hold, and only what breaks one is in doubt.
func Held(r *Report, bounds []Bound) (broken string) {
	switch {
	case r.Verdict == VerdictPartial:
		return r.Error
	case r.LostRequests > 0:
		return fmt.Sprintf("%d acknowledged requests reached no consumer", r.LostRequests)
	}
	broken = breaks(r, bounds)
	switch reasons := strings.Join(r.Reasons, "; "); {
	case r.Verdict != VerdictInvalid:
	case broken != "":
		return broken + "; " + reasons
	case len(bounds) == 0:
		return reasons
	}
	return broken
}

// ClientsFault tells of a run that does not hold whether that may be the client's fault: the client, and not what it measured, is why the run is invalid. One in
// which nothing was measured, as at a rate at which nothing is due in it, leaves it at what was known before.
func (r *Report) ClientsFault(before bool) bool {
	switch {
	case r.Verdict != VerdictInvalid || r.LostRequests > 0:
		return false
	case r.Produced.Records == 0:
		return before
	}
	return true
}

// breaks says which bound does not hold, or that responses grow.
func breaks(r *Report, bounds []Bound) string {
	least := time.Duration(math.MaxInt64)
	for _, b := range bounds {
		value, has := b.Measure.of(r)
		if !has {
			return "nothing was measured for " + b.Measure.Name
		}
		if latency := time.Duration(value * float64(time.Millisecond)); latency >= b.Max {
			return fmt.Sprintf("%s is %v", b.Measure.Name, latency.Round(time.Microsecond))
		}
		least = min(least, b.Max)
	}
	if growth := r.growth(); growth > least/2 {
		return fmt.Sprintf("the median response grows by %v over the window", growth.Round(time.Microsecond))
	}
	return ""
}

// growth is how much the median response of the window's last quarter is above that of its first.
func (r *Report) growth() time.Duration {
	var medians Sample
	for _, s := range r.Seconds {
		if s.Produced.Records > 0 && float64(s.Second) < r.WindowSeconds {
			medians = append(medians, s.Produced.Latency.P50Us)
		}
	}
	quarter := len(medians) / 4
	if quarter == 0 {
		return 0
	}
	grown := medians[len(medians)-quarter:].Median() - medians[:quarter].Median()
	return time.Duration(grown * float64(time.Microsecond))
}

// Search looks for the highest rate at which Try holds: it doubles the rate until it does not, halves the interval between in logarithms,
// and has what it found confirmed.
type Search struct {
	// From is the first rate; To is the highest to try, 0 for none.
	From, To float64
	// Precision is the ratio, above 1, of the lowest rate known not to hold to what was found.
	Precision float64
	// Confirm is how many runs the rate must hold in all. A rate that fails one is known not to hold.
	Confirm int
	// Try runs at a rate; broken is why it does not hold, "" if it does. An error ends the search.
	Try func(ctx context.Context, rate float64) (broken string, err error)
}

// Found is the end of a Search.
type Found struct {
	Rate float64 `json:"ratePerSecond"`
	// Above is the lowest rate that was seen not to hold, and Broken why; 0 if To held.
	Above  float64 `json:"above"`
	Broken string  `json:"broken"`
}

// ErrNoRate is wrapped by the error of a search in which not even the lowest rate held.
var ErrNoRate = errors.New("bench: no rate holds")

// descents bounds how often From is halved before the search is given up.
const descents = 10

// Run searches. With an error, what was found until then is returned too.
func (s Search) Run(ctx context.Context) (Found, error) {
	var f Found
	held := make(map[float64]int) // how often
	for {
		rate := s.next(f)
		switch {
		case rate == f.Rate && held[rate] >= s.Confirm:
			return f, nil
		case rate < s.From/(1<<descents):
			return f, fmt.Errorf("%w: at %.4g/s %s", ErrNoRate, f.Above, f.Broken)
		}
		broken, err := s.Try(ctx, rate)
		if err != nil {
			return f, err
		}
		if broken != "" {
			f.Above, f.Broken = rate, broken
		} else {
			held[rate]++
		}
		f.Rate = 0
		for r := range held {
			if f.Above == 0 || r < f.Above {
				f.Rate = max(f.Rate, r)
			}
		}
	}
}

// next is the rate to try next: the one that was found, again, where no other is left.
func (s Search) next(f Found) float64 {
	highest := s.To
	if highest == 0 {
		highest = math.Inf(1)
	}
	switch {
	case f.Rate == 0 && f.Above == 0:
		return min(s.From, highest)
	case f.Rate == 0:
		return f.Above / 2
	case f.Above == 0:
		return min(2*f.Rate, highest)
	case f.Above/f.Rate <= s.Precision:
		return f.Rate
	}
	return math.Sqrt(f.Rate * f.Above)
}

// HeldBacklog says why a run does not hold a backlog, "" if it does: nowhere in the window may consumers be more than limit records behind what is
// acknowledged, nor producers fall that far behind the schedule. Where 1 % of what was due is less than limit, that is the limit.
func HeldBacklog(r *Report, limit int64) (broken string) {
	due := func(seconds float64) int64 { return int64(r.Config.RatePerSecond * min(seconds, r.WindowSeconds)) }
	limit = min(limit, max(due(r.WindowSeconds)/100, 1))
	var acknowledged, first int64
	waiting := r.Waiting()
	for i, s := range r.Seconds {
		if float64(s.Second) >= r.WindowSeconds {
			break
		}
		acknowledged += s.Produced.Records
		behind := due(float64(s.Second+1)) - acknowledged
		if s.Second == 0 {
			first = behind // what is on its way at any time
		}
		if behind-first > limit {
			return fmt.Sprintf("producers fell %d records behind the schedule", behind-first)
		}
		if s.Consumed != nil && waiting[i] > limit {
			return fmt.Sprintf("consumers were %d records behind what was acknowledged", waiting[i])
		}
	}
	return ""
}
