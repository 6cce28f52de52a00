package bench_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// Consumers stop with the window until so much waits, then read it, and the window ends its duration later: all of it is read, none is lost, and what
// waited in the backlog waited as long as that.
func TestBacklog(t *testing.T) {
	for name, c := range map[string]struct {
		client        bench.ClientKind
		subscriptions int
		drained       float64
		build         float64 // seconds until 4 MB of 100 bytes wait, at 10,000 records/s for each subscription
	}{
		"raw":               {bench.ClientRaw, 1, 1, 4},
		"raw, half of it":   {bench.ClientRaw, 1, 0.5, 4},
		"two subscriptions": {bench.ClientRaw, 2, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, benchtest.Constant(time.Millisecond))
				defer s.Close()
				trial := inBubble(s)
				trial.Client, trial.Consumers, trial.Subscriptions, trial.WarmUp, trial.Duration = c.client, 1, c.subscriptions, time.Second, 3*time.Second
				trial.BatchRecords, trial.Rate, trial.Patience = 10, 10_000, 10*time.Second
				trial.Backlog = &bench.Backlog{Bytes: 4_000_000, Drained: c.drained}
				var lasted time.Duration
				var seconds []bench.Second
				trial.Progress = func(second bench.Second) {
					lasted += second.Lasted
					seconds = append(seconds, second)
				}
				got, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				b := got.Backlog
				if math.Abs(b.BuildSeconds-c.build) > 0.5 || b.Records < 40_000 || b.Records > 45_000 || b.DrainSeconds <= 0 || b.ConsumedPerSecond <= b.ProducedPerSecond {
					t.Errorf("%+v", b)
				}
				if most := max(1000, int64((1-c.drained)*40_000)); b.LeftRecords > most {
					t.Errorf("%d records are left, %d may be", b.LeftRecords, most)
				}
				if want := time.Duration((b.BuildSeconds + b.DrainSeconds + 3) * float64(time.Second)); (got.Window-want).Abs() > 20*time.Millisecond || got.Elapsed != got.Window || (lasted-got.Window).Abs() > time.Millisecond {
					t.Errorf("a window of %v, of which seconds lasted %v, and %v elapsed; want %v", got.Window, lasted, got.Elapsed, want)
				}
				if got.Lost != 0 || got.Consumed.Records != int64(c.subscriptions)*got.Produced.Records || math.Abs(float64(got.Produced.Records)-10_000*got.Window.Seconds()) > 50 {
					t.Errorf("%d lost, %d of %d consumed in %v", got.Lost, got.Consumed.Records, got.Produced.Records, got.Window)
				}
				checkProgress(t, seconds, got)
				if slowest := got.Consumed.Latency.Max().Seconds(); slowest < c.build-0.5 || got.Produced.Latency.Max() > 100*time.Millisecond {
					t.Errorf("slowest end to end %v s, produced %v", slowest, got.Produced.Latency.Max())
				}
			})
		})
	}
}

// checkProgress: seconds tell that a backlog builds and how much of it waits, and the window's length as soon as there is one.
func checkProgress(t *testing.T, seconds []bench.Second, got *bench.Outcome) {
	t.Helper()
	b, before := got.Backlog, int64(0)
	for _, s := range seconds {
		ends := float64(s.Number + 1)
		building, window := ends < b.BuildSeconds, got.Window
		if ends < b.BuildSeconds+b.DrainSeconds {
			window = 0
		}
		if s.Building != building || s.Window != window || building && s.Waiting <= before {
			t.Errorf("second %d: building %v, want %v; a window of %v, want %v; %d wait, before %d", s.Number, s.Building, building, s.Window, window, s.Waiting, before)
		}
		before = s.Waiting
	}
	if last := seconds[len(seconds)-1]; last.Waiting > 0 || last.Window != got.Window {
		t.Errorf("%d wait in the end of %v", last.Waiting, last.Window)
	}
}

// What became of a backlog is a sentence, and what waits is of all subscriptions.
func TestBacklogTold(t *testing.T) {
	for want, f := range map[string]bench.BacklogFigure{
		"The backlog of 4,000,000 bytes was not built.":               {Bytes: 4e6, BuildSeconds: 3},
		"A backlog of 40,040 records, built in 2 s, was not drained.": {Bytes: 4e6, BuildSeconds: 2.002, Records: 40_040},
		"A backlog of 40,040 records, built in 2 s, was drained to 70 in 21.9 ms: 1,827,964 records/s consumed beside 17,215 produced.": {
			Bytes: 4e6, BuildSeconds: 2.002, Records: 40_040, DrainSeconds: 0.0219, LeftRecords: 70, ProducedPerSecond: 17_215, ConsumedPerSecond: 1_827_964},
	} {
		if got := f.Reading(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	r := bench.Report{Config: bench.ReportConfig{Subscriptions: 2}}
	for _, n := range [][2]int64{{100, 0}, {100, 0}, {100, 500}, {0, 100}} {
		r.Seconds = append(r.Seconds, bench.SecondFigures{Produced: bench.StreamFigures{Records: n[0]}, Consumed: &bench.StreamFigures{Records: n[1]}})
	}
	if got := r.Waiting(); !slices.Equal(got, []int64{200, 400, 100, 0}) {
		t.Errorf("%v wait", got)
	}
}

// A backlog whose consumers are gone is a run that broke off, with what there was.
func TestBacklogBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.Consumers, trial.Backlog = 1, &bench.Backlog{Bytes: 1 << 40, Drained: 1}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		got, err := trial.Run(ctx)
		if !errors.Is(err, bench.ErrBroken) || got == nil || got.Backlog.Records != 0 || got.Window > 6*time.Second {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for name, change := range map[string]func(*bench.Trial){
		"nothing":       func(t *bench.Trial) { t.Backlog.Bytes = 0 },
		"too much of":   func(t *bench.Trial) { t.Backlog.Drained = 1.1 },
		"no number of":  func(t *bench.Trial) { t.Backlog.Drained = math.NaN() },
		"no consumers":  func(t *bench.Trial) { t.Consumers = 0 },
		"a closed loop": func(t *bench.Trial) { t.Rate = 0 },
	} {
		trial := bench.Trial{Addresses: []string{"x:1"}, Topic: "t", Partitions: 1, ReplicationFactor: 1, Producers: 1, Consumers: 1, RecordBytes: 100, Rate: 1, MaxInFlight: 1, Acks: -1, Duration: time.Second,
			Backlog: &bench.Backlog{Bytes: 1, Drained: 1}}
		if err := trial.Check(); err != nil {
			t.Fatal(err)
		}
		if change(&trial); !errors.Is(trial.Check(), bench.ErrWorkload) {
			t.Errorf("%s: %v", name, trial.Check())
		}
	}
}
