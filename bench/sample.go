package bench

import (
	"math"
	"slices"
)

// Sample is one figure over several runs, in the order of the runs.
type Sample []float64

// Median is the middle value, or the mean of the two middle ones; NaN of nothing.
func (s Sample) Median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Quantile is the least value that is not below a share q of all (nearest rank): of 50 values the 0.99 quantile is the greatest. NaN of nothing.
func (s Sample) Quantile(q float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(q * float64(len(s))))
	return slices.Sorted(slices.Values(s))[min(max(rank, 1), len(s))-1]
}

// Range is the least and the greatest value; NaN of nothing.
func (s Sample) Range() (least, greatest float64) {
	if len(s) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(s), slices.Max(s)
}

// Ratios pairs run n of s with run n of base, which was its neighbour in time, so that what disturbed both does not show.
func (s Sample) Ratios(base Sample) Sample {
	ratios := make(Sample, min(len(s), len(base)))
	for i := range ratios {
		ratios[i] = s[i] / base[i]
	}
	return ratios
}
