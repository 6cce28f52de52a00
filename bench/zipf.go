package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// zipf draws numbers from 0 to n-1 of which k has a probability proportional to (first+k)^-exponent. With first = 1 that is Zipf's law; math/rand/v2
// has it for exponents above 1 alone, and most loads are below (YCSB's is 0.99).
//
// Rejection-inversion: W. Hörmann and G. Derflinger, Rejection-inversion to generate variates from monotone discrete distributions, ACM TOMACS 6 (1996).
// Its integral of y^-exponent is above each bar of the distribution since the function is convex, and bar 0 is met exactly.
type zipf struct {
	exponent, first float64
	n               int
	from, to        float64 // of the integral
}

func newZipf(exponent, first float64, n int) *zipf {
	z := &zipf{exponent: exponent, first: first, n: n}
	z.from = z.integral(first+0.5) - z.density(first)
	z.to = z.integral(first + float64(n) - 0.5)
	return z
}

func (z *zipf) density(y float64) float64 { return math.Pow(y, -z.exponent) }

// integral is that of density, the logarithm for an exponent of 1 and near it.
func (z *zipf) integral(y float64) float64 {
	log := math.Log(y)
	return expRatio((1-z.exponent)*log) * log
}

// inverse is the y of an integral.
func (z *zipf) inverse(x float64) float64 {
	return math.Exp(logRatio((1-z.exponent)*x) * x)
}

// expRatio and logRatio are (e^x - 1)/x and log(1 + x)/x, and their limits at 0.
func expRatio(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 + x/2
	}
	return math.Expm1(x) / x
}

func logRatio(x float64) float64 {
	if math.Abs(x) < 1e-8 {
		return 1 - x/2
	}
	return math.Log1p(x) / x
}

func (z *zipf) next(r *rand.Rand) int {
	for {
		x := z.to + r.Float64()*(z.from-z.to)
		k := min(max(int(z.inverse(x)-z.first+0.5), 0), z.n-1)
		y := z.first + float64(k)
		if x >= z.integral(y+0.5)-z.density(y) {
			return k
		}
	}
}

// exactTerms is how many bars are added up one by one; those behind are so flat that their integral is as good.
const exactTerms = 1000

// mass is the sum of all bars, in units in which bar k is (first+k)^-exponent.
func (z *zipf) mass() (sum float64) {
	exact := min(z.n, exactTerms)
	for k := range exact {
		sum += z.density(z.first + float64(k))
	}
	if exact < z.n {
		sum += z.to - z.integral(z.first+float64(exact)-0.5)
	}
	return sum
}

// partitionZipf is the law of the keys of one partition, those whose number modulo the partitions is its own, numbered from 0; nil if it has none.
// Among them key k has the weight (1 + partition + k × partitions)^-exponent, which is partitions^-exponent times the zipf's own.
func partitionZipf(exponent float64, keys, partition, partitions int) *zipf {
	own := (keys - partition + partitions - 1) / partitions
	if own <= 0 {
		return nil
	}
	return newZipf(exponent, float64(1+partition)/float64(partitions), own)
}

// partitionShares are the parts of all records whose keys belong to each partition.
func partitionShares(exponent float64, keys, partitions int) []float64 {
	shares, sum := make([]float64, partitions), 0.0
	for p := range shares {
		if z := partitionZipf(exponent, keys, p, partitions); z != nil {
			shares[p] = z.mass()
		}
		sum += shares[p]
	}
	for p := range shares {
		shares[p] /= sum
	}
	return shares
}

// zipfExponent reads zipf:EXPONENT, as a choice of keys is given; ok is false of another choice.
func zipfExponent(choice string) (exponent float64, ok bool, err error) {
	text, ok := strings.CutPrefix(choice, keysZipf+":")
	if !ok {
		return 0, false, nil
	}
	exponent, err = strconv.ParseFloat(text, 64)
	if err != nil || !(exponent > 0 && exponent <= 10) {
		return 0, true, fmt.Errorf("%w: a choice of keys %q: an exponent above 0, to 10", ErrWorkload, choice)
	}
	return exponent, true, nil
}
