package page

import (
	"math"
	"strconv"

	"github.com/ringmill/ringmill/bench"
)

// scale maps values to the share of an axis, from 0 to 1, and says where its ticks are.
type scale interface {
	at(v float64) float64
	ticks() []tick
}

// tick is a value with its label.
type tick struct {
	value float64
	label string
}

// linear is from 0 to above.
type linear struct {
	above float64
	step  float64
	label func(float64) string
}

// newLinear makes an axis of some four to seven ticks, of 1, 2 or 5 times a power of ten, from 0 to the first one that is not below most.
func newLinear(most float64, label func(float64) string) linear {
	s := newSpan(most, label)
	s.above = math.Ceil(s.above/s.step-1e-9) * s.step
	return s
}

// newSpan makes such an axis that ends at most, wherever the ticks are.
func newSpan(most float64, label func(float64) string) linear {
	if !(most > 0) {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, times := range []float64{1, 2, 5, 10} {
		if most/(step*times) <= 6 {
			step *= times
			break
		}
	}
	return linear{above: most, step: step, label: label}
}

func (s linear) at(v float64) float64 { return v / s.above }

func (s linear) ticks() (all []tick) {
	for i := 0; float64(i)*s.step <= s.above*(1+1e-9); i++ {
		all = append(all, tick{float64(i) * s.step, s.label(float64(i) * s.step)})
	}
	return all
}

// logarithmic is from 10^low to 10^high.
type logarithmic struct {
	low, high float64
	label     func(float64) string
}

// newLogarithmic makes an axis that has room for the values between least and most, which are above 0.
func newLogarithmic(least, most float64, label func(float64) string) logarithmic {
	if !(least > 0) || !(most >= least) {
		least, most = 1, 10
	}
	s := logarithmic{low: math.Floor(math.Log10(least) + 1e-9), high: math.Ceil(math.Log10(most) - 1e-9), label: label}
	if s.high <= s.low {
		s.high = s.low + 1
	}
	return s
}

func (s logarithmic) at(v float64) float64 {
	return min(max((math.Log10(v)-s.low)/(s.high-s.low), 0), 1)
}

// ticks are the powers of ten, with 2 and 5 times them where there are few.
func (s logarithmic) ticks() (all []tick) {
	times := []float64{1}
	if s.high-s.low <= 2 {
		times = []float64{1, 2, 5}
	}
	for power := s.low; power <= s.high; power++ {
		for _, t := range times {
			if v := t * math.Pow(10, power); power < s.high || t == 1 {
				all = append(all, tick{v, s.label(v)})
			}
		}
	}
	return all
}

// tail is quantiles by how little is beyond them: 0, 90, 99, 99.9 % are as far from each other. From 0 to 1-10^-nines.
type tail struct{ nines float64 }

// newTail makes an axis for the quantiles that so many values tell.
func newTail(count int64) tail { return tail{max(1, math.Log10(float64(max(count, 1))))} }

func (s tail) at(q float64) float64 { return min(-math.Log10(max(1-q, 1e-300))/s.nines, 1) }

func (s tail) ticks() []tick {
	all := []tick{{0, "0 %"}}
	if s.nines < 5 {
		all = append(all, tick{0.5, "50"})
	}
	for n := 1; float64(n) <= s.nines+1e-9; n++ {
		q := 1 - math.Pow(10, -float64(n))
		all = append(all, tick{q, strconv.FormatFloat(q*100, 'f', max(n-2, 0), 64)})
	}
	return all
}

// measureNamed is one of bench.Measures.
func measureNamed(name string) bench.Measure {
	m, err := bench.MeasureNamed(name)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return m
}

// perUnit is what a measure's values are multiplied with for their label: milliseconds are shown from microseconds.
func perUnit(unit string) float64 {
	if unit == "ms" {
		return 1e3
	}
	return 1
}

// labelOf writes the values of a measure, times perUnit.
func labelOf(unit string) func(float64) string {
	if unit == "ms" {
		return latencyLabel
	}
	return rateLabel
}

// measured is a value in its unit, for a table.
func measured(v float64, unit string) string {
	if unit == "ms" {
		return bench.FormatLatency(v * perUnit(unit))
	}
	return bench.FormatCount(v) + "/s"
}

func latencyLabel(us float64) string { return bench.FormatLatency(us) }

// rateLabel is a number of three digits: 12.5k, 1M.
func rateLabel(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func secondLabel(s float64) string { return strconv.FormatFloat(s, 'g', 6, 64) }
