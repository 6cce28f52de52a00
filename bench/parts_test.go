package bench

import (
	"math"
	"os"
	"testing"
	"time"
)

func TestPacerDoesNotDrift(t *testing.T) {
	p := NewPacer(1000, 3)
	var due []Instant
	for range 300_001 {
		due = append(due, p.Next())
	}
	if due[0] != 1000 || due[1] != 1000+333_333_333 {
		t.Errorf("first events at %d, %d", due[0], due[1])
	}
	// 100,000 seconds later an interval rounded to nanoseconds would be 100 µs off
	if got := due[300_000].Sub(1000); (got - 100_000*time.Second).Abs() > time.Microsecond {
		t.Errorf("event 300,000 is %v after the first", got)
	}
}

func TestWaitReturnsNoSoonerThanDue(t *testing.T) {
	defer LockPacing()()
	due := Now().Add(2 * time.Millisecond)
	due.Wait()
	if early := due.Sub(Now()); early > 0 {
		t.Errorf("woke %v early", early)
	}
}

func TestHistogramBounds(t *testing.T) {
	h := NewHistogram()
	for _, d := range []time.Duration{0, 5 * time.Millisecond, time.Hour} {
		h.Record(d)
	}
	if got := h.Quantile(0.5); got < 4990*time.Microsecond || got > 5010*time.Microsecond {
		t.Errorf("median %v", got)
	}
	if got := h.Quantile(1); got < 599*time.Second || h.Count() != 3 {
		t.Errorf("greatest %v of %d", got, h.Count())
	}
}

func TestStatOfACommandWithBracketsAndSpaces(t *testing.T) {
	user, system, err := parseStat([]byte("7 (a) b (c) S 1 1 1 0 -1 4194560 100 0 0 0 250 75 0 0 20 0 9"))
	if err != nil || user != 2500*time.Millisecond || system != 750*time.Millisecond {
		t.Errorf("%v %v %v", user, system, err)
	}
	if _, _, err := parseStat([]byte("7 (a) S 1")); err == nil {
		t.Error("a short line was taken")
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	u, err := ReadUsage(os.Getpid())
	if err != nil || u.PeakBytes < u.ResidentBytes || u.ResidentBytes < 1<<20 {
		t.Errorf("%+v %v", u, err)
	}
	if _, err := ReadUsage(1 << 30); err == nil {
		t.Error("a process that cannot be has resources")
	}
	if got := statusBytes([]byte("Name:\tx\nVmHWM:\t  12 kB\n"), "VmHWM:"); got != 12<<10 {
		t.Errorf("VmHWM is %d", got)
	}
}

func TestSample(t *testing.T) {
	s := Sample{4, 1, 3}
	if least, greatest := s.Range(); s.Median() != 3 || least != 1 || greatest != 4 {
		t.Errorf("median %v of %v to %v", s.Median(), least, greatest)
	}
	if got := (Sample{1, 2, 3, 10}).Median(); got != 2.5 {
		t.Errorf("median of four is %v", got)
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 3, 0.67: 4, 0.99: 4, 1: 4} {
		if got := s.Quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if !math.IsNaN(Sample(nil).Median()) || !math.IsNaN(Sample(nil).Quantile(0.5)) {
		t.Error("nothing has a median")
	}
	if got := s.Ratios(Sample{2, 2}); len(got) != 2 || got[0] != 2 || got[1] != 0.5 {
		t.Errorf("ratios %v", got)
	}
}

func TestPartitionsAreShared(t *testing.T) {
	w := Workload{Partitions: 5}
	seen := map[int32]int{}
	for i := range 2 {
		for _, p := range w.share(i, 2) {
			seen[p]++
		}
	}
	for p := range int32(5) {
		if seen[p] != 1 {
			t.Errorf("partition %d has %d connections of two", p, seen[p])
		}
	}
	if got := w.share(7, 64); len(got) != 1 || got[0] != 2 {
		t.Errorf("connection 7 of 64 has partitions %v", got)
	}
}

func TestDoubt(t *testing.T) {
	fast, slow := NewHistogram(), NewHistogram()
	fast.Record(time.Millisecond)
	slow.Record(time.Second)
	waits := func(each time.Duration) ThreadCounters { return ThreadCounters{Runs: 100, Waited: 100 * each} }
	for _, r := range []Result{{Lost: 1, Latency: slow, Lag: fast}, {Latency: fast, Lag: fast}, {Latency: fast, Waits: waits(600 * time.Microsecond)}, {Latency: slow, Lag: fast, Waits: waits(600 * time.Millisecond)}} {
		if r.Doubt() == "" {
			t.Errorf("no doubt about %+v", r)
		}
	}
	for _, r := range []Result{{Latency: fast}, {Latency: slow, Lag: fast}, {Latency: fast, Waits: waits(400 * time.Microsecond)}, {Latency: slow, Waits: waits(600 * time.Microsecond)}} {
		if r.Doubt() != "" {
			t.Errorf("doubt: %s", r.Doubt())
		}
	}
}

// A run is not over before every subscription has seen what is acknowledged.
func TestCompleteForAllSubscriptions(t *testing.T) {
	r := &trialRun{trial: &Trial{Subscriptions: 2}}
	r.due.Store(10)
	for arrived, want := range map[int64]bool{10: false, 19: false, 20: true} {
		if r.arrived.Store(arrived); r.complete() != want {
			t.Errorf("%d of 2 × 10 arrived: complete is %v", arrived, !want)
		}
	}
}
