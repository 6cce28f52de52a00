package bench_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// trialRate is the batches a second of the trials in bubbles.
const trialRate = 1000

// inBubble is a trial of a server in memory, of one lane. Its batches are of one record, so that a record is a request.
func inBubble(s *benchtest.Server) bench.Trial {
	return bench.Trial{
		Addresses: s.Addresses(), Topic: "bench", Partitions: 1, ReplicationFactor: 1, Producers: 1, RecordBytes: 100, BatchRecords: 1,
		Rate: trialRate, MaxInFlight: 5, Acks: -1, Duration: 10 * time.Second,
		Clock: benchtest.Clock{}, Dial: s.Dial, CPU: func() time.Duration { return 0 },
		Threads: func() map[int]bench.ThreadCounters { return nil },
	}
}

// truth is what users who came on schedule waited: the n-th batch was due n intervals after the start.
func truth(s *benchtest.Server, start time.Time, rate float64) (waited []time.Duration) {
	for n, a := range s.Answers() {
		due := start.Add(time.Duration(float64(n) * float64(time.Second) / rate))
		waited = append(waited, a.Answered.Sub(due))
	}
	slices.Sort(waited)
	return waited
}

// nearestRank is the least value that is not below a share q of all.
func nearestRank(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(max(int(math.Ceil(q*float64(len(sorted)))), 1), len(sorted))-1]
}

// quantiles are those that a histogram is held to.
var quantiles = []float64{0.5, 0.9, 0.99, 0.999, 1}

// differences are the quantiles in which a histogram is not the truth within its own precision: three digits, and a microsecond.
func differences(h *bench.Histogram, waited []time.Duration) (wrong []float64) {
	for _, q := range quantiles {
		want := nearestRank(waited, q)
		if got := h.Quantile(q); (got - want).Abs() > want/1000+time.Microsecond {
			wrong = append(wrong, q)
		}
	}
	return wrong
}

// scripts are the server's, with what an open loop sees that a closed one does not.
var scripts = map[string]struct {
	script benchtest.Script
	rate   float64       // at which the server is not overrun
	p99    time.Duration // what the truth's is at least
}{
	"constant": {benchtest.Constant(3 * time.Millisecond), 1000, 3 * time.Millisecond},
	"stalls":   {benchtest.Stalls(100, 200*time.Millisecond, time.Millisecond/2), 200, 190 * time.Millisecond},
	"freeze":   {benchtest.Freeze(4*time.Second, 2*time.Second, time.Millisecond/2), 1000, time.Second},
}

func TestPercentilesAreTheTruth(t *testing.T) {
	for name, c := range scripts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, c.script)
				defer s.Close()
				start := time.Now()
				trial := inBubble(s)
				trial.Rate = c.rate
				got, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				waited := truth(s, start, c.rate)
				if want := int64(10 * c.rate); int64(len(waited)) != want || got.Produced.Requests != want || got.Produced.Latency.Count() != want {
					t.Fatalf("%d batches answered, %d requests of %d latencies, want %d", len(waited), got.Produced.Requests, got.Produced.Latency.Count(), want)
				}
				if p99 := nearestRank(waited, 0.99); p99 < c.p99 {
					t.Errorf("the truth's p99 is %v, which shows nothing: want %v", p99, c.p99)
				}
				if wrong := differences(got.Produced.Latency, waited); len(wrong) > 0 {
					for _, q := range wrong {
						t.Errorf("quantile %v is %v, in truth %v", q, got.Produced.Latency.Quantile(q), nearestRank(waited, q))
					}
				}
				if reasons := got.Invalid(); len(reasons) > 0 {
					t.Errorf("invalid: %v", reasons)
				}
				if topics := s.Topics(); len(topics) > 0 {
					t.Errorf("left behind: %v", topics)
				}
			})
		})
	}
}

// A generator that waits for the answer before it sends the next, and counts from the sending, must not pass the test above.
func TestClosedLoopFailsTheSameCheck(t *testing.T) {
	for _, name := range []string{"stalls", "freeze"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, scripts[name].script)
				defer s.Close()
				start := time.Now()
				trial := inBubble(s)
				trial.MaxInFlight, trial.Rate = 1, scripts[name].rate
				got, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				waited := truth(s, start, scripts[name].rate)
				if wrong := differences(got.Service, waited); len(wrong) == 0 {
					t.Errorf("from the sending, p99 is %v, in truth %v", got.Service.Quantile(0.99), nearestRank(waited, 0.99))
				}
				if wrong := differences(got.Produced.Latency, waited); len(wrong) > 0 {
					t.Errorf("from the intended instants, quantiles %v are wrong", wrong)
				}
				checkWorkload(t, scripts[name].script, waited)
			})
		})
	}
}

// checkWorkload runs the closed loop that the room has for capacity, through the same check.
func checkWorkload(t *testing.T, script benchtest.Script, waited []time.Duration) {
	s := benchtest.New(1, script)
	defer s.Close()
	topic := bench.Trial{Addresses: s.Addresses(), Dial: s.Dial}
	if err := topic.CreateTopic(t.Context(), "closed", 1); err != nil {
		t.Fatal(err)
	}
	w := bench.Workload{Topic: "closed", Partitions: 1, RecordBytes: 100, BatchRecords: 1, Acks: -1, Producers: 1, InFlight: 1,
		Duration: 10 * time.Second, Clock: benchtest.Clock{}, Dial: s.Dial}
	got, err := w.Produce(t.Context(), s.Addresses()[0])
	if err != nil {
		t.Fatal(err)
	}
	if wrong := differences(got.Latency, waited); len(wrong) == 0 {
		t.Errorf("the closed loop's p99 of %v is the truth's %v", got.Latency.Quantile(0.99), nearestRank(waited, 0.99))
	}
}

func TestWarmUpIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Freeze(500*time.Millisecond, time.Second, time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.WarmUp, trial.Duration = 2*time.Second, 3*time.Second
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Produced.Requests != 3*trialRate || len(s.Answers()) != 5*trialRate {
			t.Errorf("%d requests of %d counted", got.Produced.Requests, len(s.Answers()))
		}
		if greatest := got.Produced.Latency.Max(); greatest > 1100*time.Microsecond {
			t.Errorf("%v of the warm-up was counted", greatest)
		}
	})
}

// A freeze shows second by second: nothing, and then all at once; the seconds and their log add up to the whole.
func TestSecondsAndLogAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Freeze(1*time.Second, 2*time.Second, time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.Duration = 5 * time.Second
		var log bytes.Buffer
		var shown []int64
		trial.Log = &log
		trial.Progress = func(s bench.Second) { shown = append(shown, s.Produced.Records) }
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var seconds []int64
		for i, second := range got.Seconds {
			if seconds = append(seconds, second.Produced.Records); second.Second != i {
				t.Errorf("second %d is told as %d", i, second.Second)
			}
		}
		// what is due at the end of second 0 and of the window is answered a millisecond later
		if want := []int64{999, 0, 0, 3000, 1000, 1}; !slices.Equal(seconds, want) || !slices.Equal(shown, want) {
			t.Errorf("seconds %v, shown %v, want %v", seconds, shown, want)
		}
		if p50 := got.Seconds[3].Produced.Latency.P50Us; p50 < 0.4e6 {
			t.Errorf("in the second after the freeze p50 is %v µs", p50)
		}
		checkLog(t, &log, got.Produced.Latency)
		checkParts(t, got)
	})
}

// checkParts: the seconds' services and lags add up too. Nothing is answered in a freeze, and what can be sent is sent in time.
func checkParts(t *testing.T, got *bench.Outcome) {
	t.Helper()
	var services, lags int64
	for _, second := range got.Seconds {
		if second.Service != nil {
			services += second.Service.Count
		}
		if second.Lag != nil {
			lags += second.Lag.Count
		}
	}
	if services != got.Service.Count() || lags != got.Lag.Count() || services != 5*trialRate || lags != 5*trialRate {
		t.Errorf("seconds have %d services of %d and %d lags of %d", services, got.Service.Count(), lags, got.Lag.Count())
	}
	if got.Seconds[1].Service != nil || got.Seconds[0].Service.MaxUs > 1001 || got.Seconds[3].Service.MaxUs < 1e6 {
		t.Errorf("services %+v, %+v, %+v", got.Seconds[0].Service, got.Seconds[1].Service, got.Seconds[3].Service)
	}
}

func checkLog(t *testing.T, log io.Reader, whole *bench.Histogram) {
	reader, sum := hdrhistogram.NewHistogramLogReader(log), hdrhistogram.New(1000, int64(10*time.Minute), 3)
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if h.Tag() != "response" {
			t.Errorf("tag %q", h.Tag())
		}
		sum.Merge(h)
	}
	if sum.TotalCount() != whole.Count() || time.Duration(sum.ValueAtQuantile(99)) != whole.Quantile(0.99) {
		t.Errorf("the log has %d of p99 %v, the whole %d of %v", sum.TotalCount(), time.Duration(sum.ValueAtQuantile(99)), whole.Count(), whole.Quantile(0.99))
	}
	encoded, err := hdrhistogram.Decode([]byte(whole.Encode()))
	if err != nil || encoded.TotalCount() != whole.Count() {
		t.Errorf("encoded and decoded: %v", err)
	}
	decoded, err := bench.DecodeHistogram(whole.Encode())
	if err != nil || decoded.Figure() != whole.Figure() {
		t.Errorf("encoded and decoded: %+v, %v", decoded, err)
	}
	if _, err := bench.DecodeHistogram("HISTFAAAA"); err == nil {
		t.Error("what is no histogram was decoded")
	}
}

func TestEndToEndOverSeveralNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(3, benchtest.Constant(2*time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.Partitions, trial.Producers, trial.Consumers, trial.BatchRecords = 6, 2, 2, 10
		trial.Rate = 12_000
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Produced.Records != 120_000 || got.Consumed.Records != 120_000 || got.Lost != 0 || got.Produced.Errors != 0 {
			t.Errorf("%d produced, %d consumed, %d lost, %d errors", got.Produced.Records, got.Consumed.Records, got.Lost, got.Produced.Errors)
		}
		led := map[int32]int{}
		for _, a := range s.Answers() {
			led[a.Partition]++
		}
		for p := range int32(6) {
			if n := led[p]; n != 2000 {
				t.Errorf("partition %d got %d batches of 12,000", p, n)
			}
		}
		if max := got.Consumed.Latency.Max(); max > 10*time.Microsecond {
			t.Errorf("a consumer waited %v for what could be read at once", max)
		}
	})
}

// Leaders move: what was on its way is sent again to the new leader, and the wait counts.
func TestLeaderMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(2, benchtest.Constant(2*time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.Partitions, trial.Consumers = 4, 1
		time.AfterFunc(5*time.Second+500*time.Microsecond, func() { s.Stop(0) })
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Produced.Records != 10*trialRate || got.Produced.Errors == 0 || got.Lost != 0 {
			t.Errorf("%d records, %d errors, %d lost", got.Produced.Records, got.Produced.Errors, got.Lost)
		}
	})
}

func TestBrokenRuns(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*benchtest.Server, context.CancelFunc)
		want error
		left int
	}{
		"the node dies":       {func(s *benchtest.Server, _ context.CancelFunc) { s.Stop(0) }, bench.ErrSilent, 1},
		"the topic vanishes":  {func(s *benchtest.Server, _ context.CancelFunc) { s.DropTopics() }, bench.ErrVanished, 0},
		"the user interrupts": {func(_ *benchtest.Server, cancel context.CancelFunc) { cancel() }, context.Canceled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, benchtest.Constant(time.Millisecond))
				defer s.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				trial := inBubble(s)
				trial.Consumers, trial.Patience = 1, 3*time.Second
				time.AfterFunc(4*time.Second, func() { c.harm(s, cancel) })
				got, err := trial.Run(ctx)
				if !errors.Is(err, c.want) || !errors.Is(err, bench.ErrBroken) {
					t.Fatalf("got %v, want %v", err, c.want)
				}
				if got == nil || got.Produced.Records < 3990 || got.Produced.Records > 4010 || got.Elapsed < 4*time.Second || got.Elapsed > 8*time.Second {
					t.Errorf("the partial result is %+v", got)
				}
				if len(s.Topics()) != c.left {
					t.Errorf("left behind: %v", s.Topics())
				}
				if told := strings.Contains(err.Error(), "left behind"); told != (c.left > 0) {
					t.Errorf("told: %v", err)
				}
			})
		})
	}
}

// A node that freezes for longer than a run has patience ends it, though no connection breaks.
func TestFrozenForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Freeze(time.Second, time.Minute, time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.Patience = 3 * time.Second
		got, err := trial.Run(t.Context())
		if !errors.Is(err, bench.ErrSilent) || got == nil || got.Elapsed > 5*time.Second {
			t.Errorf("%v after %+v", err, got)
		}
	})
}

// A topic that there is already is nobody's to remove.
func TestForeignTopicStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		if err := trial.CreateTopic(t.Context(), trial.Topic, 1); err != nil {
			t.Fatal(err)
		}
		if got, err := trial.Run(t.Context()); err == nil || got != nil {
			t.Errorf("ran on a topic of somebody else: %+v", got)
		}
		if len(s.Topics()) != 1 {
			t.Error("the topic of somebody else was removed")
		}
	})
}

// A topic whose creation no answer told of is removed when it comes to be, and waited for no longer than a node may take.
func TestCreationWithoutAnAnswerLeavesNothing(t *testing.T) {
	for _, late := range []time.Duration{0, 3 * time.Second, 9 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := benchtest.New(1, benchtest.Constant(time.Millisecond))
			defer s.Close()
			s.LoseCreations(late)
			began := time.Now()
			if got, err := inBubble(s).Run(t.Context()); err == nil || got != nil || strings.Contains(err.Error(), "left behind") {
				t.Errorf("made %v after the request: %v", late, err)
			}
			if took := time.Since(began); took > 11*time.Second {
				t.Errorf("made %v after the request: it took %v to give up", late, took)
			}
			time.Sleep(10 * time.Second)
			if len(s.Topics()) > 0 {
				t.Errorf("made %v after the request, and left behind", late)
			}
		})
	}
}

// Who interrupts while the topic is being made waits for the answer, and leaves none behind.
func TestInterruptedCreationLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(time.Millisecond))
		defer s.Close()
		s.DelayCreations(2 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		got, err := inBubble(s).Run(ctx)
		if took := time.Since(began); !errors.Is(err, context.Canceled) || got != nil || took != 2*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		time.Sleep(10 * time.Second)
		if len(s.Topics()) > 0 {
			t.Errorf("left behind: %v", s.Topics())
		}
	})
}

func TestInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(time.Millisecond))
		defer s.Close()
		began := time.Now()
		trial := inBubble(s)
		trial.Duration = time.Second
		trial.CPU = func() time.Duration { return time.Since(began) * time.Duration(1000) } // more than any machine has
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if reasons := got.Invalid(); len(reasons) != 1 || !strings.Contains(reasons[0], "the client used") {
			t.Errorf("reasons %q", reasons)
		}
		trial.Topic, trial.CPU, trial.Clock = "late", func() time.Duration { return 0 }, lateClock{}
		if got, err = trial.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if reasons := got.Invalid(); len(reasons) != 1 || !strings.Contains(reasons[0], "late at p99") {
			t.Errorf("reasons %q", reasons)
		}
	})
}

// lateClock wakes 200 µs late: a fifth of what the node takes, in the test above.
type lateClock struct{ benchtest.Clock }

func (c lateClock) Wait(until bench.Instant) { c.Clock.Wait(until.Add(200 * time.Microsecond)) }

// A run keeps one copy of what it sends however many partitions there are: with one for each, this one would take 500 MiB.
func TestManyPartitionsTakeNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.Partitions, trial.RecordBytes, trial.Rate, trial.Duration = 1000, 512<<10, 4, time.Second
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := trial.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; got.Produced.Records != 4 || took > 100 {
			t.Errorf("%d records, %d MiB allocated", got.Produced.Records, took)
		}
	})
}

func TestUnusableTrials(t *testing.T) {
	for _, change := range []func(*bench.Trial){
		func(t *bench.Trial) { t.Addresses = nil },
		func(t *bench.Trial) { t.Topic = "" },
		func(t *bench.Trial) { t.Topics = -1 },
		func(t *bench.Trial) { t.Subscriptions = -1 },
		func(t *bench.Trial) { t.Partitions = 0 },
		func(t *bench.Trial) { t.ReplicationFactor = 0 },
		func(t *bench.Trial) { t.Producers = 0 },
		func(t *bench.Trial) { t.Consumers = -1 },
		func(t *bench.Trial) { t.MaxInFlight = 0 },
		func(t *bench.Trial) { t.RecordBytes = 7 },
		func(t *bench.Trial) { t.Acks = 0 },
		func(t *bench.Trial) { t.Rate = -1 },
		func(t *bench.Trial) { t.Duration = 0 },
		func(t *bench.Trial) { t.Linger = time.Millisecond },
		func(t *bench.Trial) { t.Codec = "zstd" },
		func(t *bench.Trial) { t.Client = "java" },
		func(t *bench.Trial) { t.Keys = -1 },
		func(t *bench.Trial) { t.TransactionRecords = 5 },
		func(t *bench.Trial) { t.Client, t.TransactionRecords, t.Acks = bench.ClientFranz, 5, 1 },
		func(t *bench.Trial) { t.Client, t.Rate = bench.ClientFranz, 0 },
	} {
		trial := inBubble(benchtest.New(1, benchtest.Constant(0)))
		change(&trial)
		if _, err := trial.Run(t.Context()); !errors.Is(err, bench.ErrWorkload) {
			t.Errorf("%+v: %v", trial, err)
		}
	}
}

// A load of twenty times what is acknowledged ends, as partial, and does not go on until all of it is sent.
func TestLoadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(20*time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		trial.MaxInFlight, trial.Rate, trial.BatchRecords, trial.WarmUp, trial.Duration, trial.Patience = 1, 1000, 1, 0, time.Minute, 10*time.Second
		start := time.Now()
		got, err := trial.Run(t.Context())
		if got == nil || !errors.Is(err, bench.ErrBroken) || !strings.Contains(err.Error(), "1m0s after the window") || got.Produced.Records == 0 {
			t.Errorf("%+v, %v", got, err)
		}
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
