package bench_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// scripted is a stream in memory: a record is acknowledged, and with its consumer, after a delay, or fails, or is lost.
type scripted struct {
	delay     time.Duration
	failAfter int // records; 0: none fails
	lose      int // every so-manieth record; 0: none
	freeze    time.Duration

	mu     sync.Mutex
	sent   int
	stored chan []byte
	out    sync.WaitGroup
}

func (s *scripted) Producer(context.Context, int) (bench.StreamProducer, error) { return s, nil }

func (s *scripted) Consumer(context.Context, int, int) (bench.StreamConsumer, error) {
	return scriptedReader{s}, nil
}

func (s *scripted) Send(_ context.Context, _ int32, value []byte, done func(error)) {
	s.mu.Lock()
	s.sent++
	number, after := s.sent, s.delay
	s.mu.Unlock()
	if s.freeze > 0 && number == 1500 {
		time.Sleep(s.freeze) // the client takes nothing
	}
	s.out.Go(func() {
		time.Sleep(after)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failAfter > 0 && number > s.failAfter {
			done(errors.New("no room"))
			return
		}
		done(nil)
		if s.lose == 0 || number%s.lose != 0 {
			s.stored <- value
		}
	})
}

func (s *scripted) Flush(context.Context) error { s.out.Wait(); return nil }
func (s *scripted) Close()                      {}

type scriptedReader struct{ *scripted }

func (s scriptedReader) Poll(ctx context.Context, seen func([]byte)) error {
	select {
	case value := <-s.stored:
		seen(value)
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
	return nil
}

func streamLoad() bench.Workload {
	return bench.Workload{Topic: "t", Partitions: 3, Acks: -1, Producers: 1, Fetchers: 1, RecordBytes: 100, Rate: 1000, InFlight: 10, WarmUp: time.Second, Duration: 4 * time.Second, Clock: benchtest.Clock{}}
}

func near(got time.Duration, want time.Duration) bool {
	return math.Abs(float64(got-want)) <= float64(want)/500
}

func TestEndToEndOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := streamLoad()
		got, err := w.EndToEndOver(t.Context(), &scripted{delay: 3 * time.Millisecond, stored: make(chan []byte, 1<<20)})
		if err != nil || got.Records != 4000 || got.Lost != 0 || got.Bytes != 400_000 || got.Acknowledged.Count() != 4000 || !near(got.Latency.Quantile(0.99), 3*time.Millisecond) || !near(got.Acknowledged.Quantile(0.5), 3*time.Millisecond) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// What a client does not take in time was due all the same: its latency counts on, and the generator says how late it was.
func TestEndToEndOverAFrozenClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := streamLoad()
		got, err := w.EndToEndOver(t.Context(), &scripted{delay: time.Millisecond, freeze: time.Second, stored: make(chan []byte, 1<<20)})
		if err != nil || got.Records != 4000 || got.Latency.Max() < time.Second || got.Lag.Max() < 990*time.Millisecond || got.Doubt() == "" {
			t.Errorf("slowest %v, latest %v of %d, %v: %s", got.Latency.Max(), got.Lag.Max(), got.Records, err, got.Doubt())
		}
	})
}

// How long the generator's threads waited for processors between the window's two ends is in the result, and makes it doubtful.
func TestEndToEndOverAStarvedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began, looks := streamLoad(), time.Now(), []time.Duration(nil)
		w.Threads = func() map[int]bench.ThreadCounters {
			looks = append(looks, time.Since(began))
			n := time.Duration(len(looks))
			return map[int]bench.ThreadCounters{1: {Runs: 1000 * int64(n), Waited: 2 * time.Second * n}, int(n + 1): {Runs: 1}}
		}
		got, err := w.EndToEndOver(t.Context(), &scripted{delay: 3 * time.Millisecond, stored: make(chan []byte, 1<<20)})
		if want := []time.Duration{time.Second, 5 * time.Second}; err != nil || !slices.Equal(looks, want) || got.Waits != (bench.ThreadCounters{Runs: 1001, Waited: 2 * time.Second}) {
			t.Fatalf("looked at %v, waited %+v: %v", looks, got.Waits, err)
		}
		if doubt := got.Doubt(); !strings.Contains(doubt, "waited 2 ms for a processor") {
			t.Errorf("doubt %q", doubt)
		}
	})
}

func TestEndToEndOverLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := streamLoad()
		if got, err := w.EndToEndOver(t.Context(), &scripted{delay: time.Millisecond, lose: 100, stored: make(chan []byte, 1<<20)}); err != nil || got.Lost != 40 {
			t.Errorf("%d lost, %v", got.Lost, err)
		}
		if _, err := w.EndToEndOver(t.Context(), &scripted{delay: time.Millisecond, failAfter: 2000, stored: make(chan []byte, 1<<20)}); err == nil {
			t.Error("a failed record gave figures")
		}
		synctest.Wait() // the consumer has been told
	})
}

// With 10 out and 5 ms for each, 2,000 a second.
func TestProduceOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := streamLoad()
		got, err := w.ProduceOver(t.Context(), &scripted{delay: 5 * time.Millisecond, stored: make(chan []byte, 1<<20)})
		if err != nil || math.Abs(got.RecordsPerSecond()-2000) > 5 || !near(got.Latency.Quantile(0.99), 5*time.Millisecond) {
			t.Errorf("%v records/s, p99 %v, %v", got.RecordsPerSecond(), got.Latency.Quantile(0.99), err)
		}
		if _, err := w.ProduceOver(t.Context(), &scripted{delay: time.Millisecond, failAfter: 100, stored: make(chan []byte, 1<<20)}); err == nil {
			t.Error("a failed record gave figures")
		}
		w.InFlight = 0
		if _, err := w.ProduceOver(t.Context(), &scripted{}); !errors.Is(err, bench.ErrWorkload) {
			t.Error(err)
		}
	})
}
