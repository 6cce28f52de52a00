package bench_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// A node that takes D for each request and has one at a time is a queue whose waits are known: with gaps of an exponential distribution D ρ / 2 (1 - ρ)
// in the mean (Pollaczek and Khinchine), with N at once D (N - 1) / 2, evenly none.
func TestQueuesWaitAsTheyMust(t *testing.T) {
	const d = time.Millisecond
	for _, client := range []bench.ClientKind{bench.ClientRaw, bench.ClientFranz} {
		for arrival, c := range map[string]struct{ rate, wait, within float64 }{
			"uniform":  {500, 0, 0.01},
			"poisson":  {500, 0.5 / (2 * (1 - 0.5)), 0.04},
			"burst:20": {500, 19.0 / 2, 0.01},
		} {
			if client == bench.ClientFranz && arrival != "uniform" {
				continue // it makes batches of what waits
			}
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, benchtest.Constant(d))
				defer s.Close()
				trial := inBubble(s)
				trial.Client, trial.Arrival, trial.Rate, trial.MaxInFlight, trial.Duration, trial.Seed = client, arrival, c.rate, 1, 20*time.Second, 1
				got, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want := (1 + c.wait) * float64(d)
				if mean := float64(got.Produced.Latency.Mean()); math.Abs(mean-want) > c.within*want {
					t.Errorf("%s, %s: a mean response of %v, want %v", client, arrival, time.Duration(mean), time.Duration(want))
				}
				if config := trial.Config(); config.Seed != 1 || arrival != "uniform" && config.Arrival != arrival {
					t.Errorf("config %+v", config)
				}
			})
		}
	}
}

// Keys of which few are most make partitions of which few have most, also by producers that have partitions of their own.
func TestSkewReachesPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(6, benchtest.Constant(time.Millisecond)) // a partition each
		defer s.Close()
		trial := inBubble(s)
		trial.Keys, trial.KeyChoice, trial.Partitions, trial.Producers, trial.Consumers = 5, "zipf:1", 6, 2, 1
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]float64, 6)
		for _, a := range s.Answers() {
			counts[a.Partition]++
		}
		sum := 1 + 1.0/2 + 1.0/3 + 1.0/4 + 1.0/5
		for k := range 5 { // one key a partition, and none of the sixth
			if want := trialRate * 10 / float64(k+1) / sum; math.Abs(counts[k]-want) > 4*math.Sqrt(want) {
				t.Errorf("partition %d has %v batches, want %.0f", k, counts[k], want)
			}
		}
		if counts[5] != 0 || got.Lost != 0 || math.Abs(float64(got.Produced.Requests)-10*trialRate) > 5 {
			t.Errorf("partition 5 has %v batches; %d requests, %d lost", counts[5], got.Produced.Requests, got.Lost)
		}
	})
}
