package bench

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// law is Zipf's: what part of all is each of n numbers.
func law(exponent, first float64, n int) []float64 {
	parts, sum := make([]float64, n), 0.0
	for k := range parts {
		parts[k] = math.Pow(first+float64(k), -exponent)
		sum += parts[k]
	}
	for k := range parts {
		parts[k] /= sum
	}
	return parts
}

// distance is Pearson's chi-square of counts against a law, in standard deviations above its mean. Numbers of which fewer than 10 are expected
// count as one.
func distance(counts []int, parts []float64, drawn int) float64 {
	chi, classes := 0.0, 0
	rest, restCount := 0.0, 0
	add := func(count int, expected float64) {
		chi += (float64(count) - expected) * (float64(count) - expected) / expected
		classes++
	}
	for k, part := range parts {
		if expected := part * float64(drawn); expected >= 10 {
			add(counts[k], expected)
		} else {
			rest, restCount = rest+expected, restCount+counts[k]
		}
	}
	if rest >= 10 {
		add(restCount, rest)
	}
	freedom := float64(classes - 1)
	return (chi - freedom) / math.Sqrt(2*freedom)
}

const drawnKeys = 50_000

func TestZipf(t *testing.T) {
	for _, exponent := range []float64{0.3, 0.99, 1, 1.2, 2.5} {
		for _, first := range []float64{0.1, 1, 3.4} {
			for _, n := range []int{2, 10, 3000} {
				z, random, counts := newZipf(exponent, first, n), rand.New(rand.NewPCG(1, 2)), make([]int, n)
				for range drawnKeys {
					counts[z.next(random)]++
				}
				if d := distance(counts, law(exponent, first, n), drawnKeys); d > 4 {
					t.Errorf("exponent %v from %v of %d: %.1f standard deviations away", exponent, first, n, d)
				}
			}
		}
	}
	if got := newZipf(1, 1, 1).next(rand.New(rand.NewPCG(1, 2))); got != 0 {
		t.Errorf("the only one of one is %d", got)
	}
}

// The integral stands for the sum where there are many.
func TestZipfMass(t *testing.T) {
	for _, exponent := range []float64{0.3, 1, 2} {
		sum := 0.0
		for k := range 1_000_000 {
			sum += math.Pow(0.25+float64(k), -exponent)
		}
		if got := newZipf(exponent, 0.25, 1_000_000).mass(); math.Abs(got-sum) > sum*1e-7 {
			t.Errorf("exponent %v: %v, want %v", exponent, got, sum)
		}
	}
}

// Keys of partitions in the parts that belong to each make Zipf's law of all keys, as keys without partitions do.
func TestKeysByZipf(t *testing.T) {
	trial := &Trial{Topics: 1, Keys: 100, Partitions: 3, Producers: 1, KeyChoice: "zipf:0.99"}
	chosen, given := newKeys(trial, 0), newKeys(trial, 0)
	turns, _ := trial.turns(0, []int32{0, 1, 2}, []int32{0, 1, 2}, trial.partitionShares())
	ofAll, byPartition := make([]int, 100), make([]int, 100)
	number := func(key []byte) int {
		n, err := strconv.Atoi(string(key))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range drawnKeys {
		ofAll[number(chosen.next())]++
		key, partition := make([]byte, keyBytes), turns.next()
		given.put(key, partition)
		n := number(key)
		if byPartition[n]++; n%3 != int(partition) {
			t.Fatalf("key %d in partition %d", n, partition)
		}
	}
	for name, counts := range map[string][]int{"chosen of all": ofAll, "by partitions": byPartition} {
		if d := distance(counts, law(0.99, 1, 100), drawnKeys); d > 4 {
			t.Errorf("%s: %.1f standard deviations away", name, d)
		}
	}
}

// What all producers send to a partition is the part of its keys, however they share partitions and whoever leads them.
func TestRatesByZipf(t *testing.T) {
	for _, producers := range []int{1, 2, 3, 5, 8} {
		trial := &Trial{Topics: 2, Keys: 10, Partitions: 4, Producers: producers, KeyChoice: "zipf:1.5", Rate: 1000}
		load, sums := Workload{Partitions: 4}, make([]float64, 4)
		for i := range producers {
			mine := load.share(i, producers)
			for _, p := range mine { // each partition has a leader of its own
				_, rate := trial.turns(i, []int32{p}, mine, trial.partitionShares())
				sums[p] += rate
			}
		}
		want := make([]float64, 4)
		for k, part := range law(1.5, 1, 10) {
			want[k%4] += part * 500
		}
		for p := range want {
			if math.Abs(sums[p]-want[p]) > 1e-9 {
				t.Errorf("%d producers: %v records/s to partition %d, want %v", producers, sums[p], p, want[p])
			}
		}
	}
}
