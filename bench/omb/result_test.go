package omb_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
	"github.com/ringmill/ringmill/bench/omb"
)

// fields are those of OpenMessaging Benchmark's TestResult, each on its own where it stands alone, or with what its name ends in.
func fields() (all []string) {
	all = strings.Fields(`workload driver messageSize topics partitions producersPerTopic consumersPerTopic
		publishRate publishErrorRate consumeRate backlog
		aggregatedPublishLatencyQuantiles aggregatedPublishDelayLatencyQuantiles aggregatedEndToEndLatencyQuantiles`)
	for _, latency := range []string{"publishLatency", "publishDelayLatency", "endToEndLatency", "aggregatedPublishLatency", "aggregatedPublishDelayLatency", "aggregatedEndToEndLatency"} {
		for _, figure := range strings.Fields("Avg 50pct 75pct 95pct 99pct 999pct 9999pct Max") {
			all = append(all, latency+figure)
		}
	}
	slices.Sort(all)
	return all
}

// result runs a trial in a bubble and gives its result as JSON.
func result(t *testing.T, script benchtest.Script, adjust func(*bench.Trial)) (r map[string]any) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, script)
		defer s.Close()
		trial := bench.Trial{Addresses: s.Addresses(), Topic: "omb", Partitions: 1, ReplicationFactor: 1, Producers: 1, Consumers: 1, RecordBytes: 100, BatchRecords: 1,
			Rate: 100, MaxInFlight: 5, Acks: -1, WarmUp: time.Second, Duration: 25 * time.Second, Clock: benchtest.Clock{}, Dial: s.Dial, CPU: func() time.Duration { return 0 }, Threads: func() map[int]bench.ThreadCounters { return nil }}
		adjust(&trial)
		periods := omb.NewPeriods(&trial)
		trial.Progress = periods.Add
		if _, err := trial.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(periods.Result("a workload", "Kafka", trial.Config()))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// list is a field that has a number for each period.
func list(t *testing.T, r map[string]any, field string) (all []float64) {
	t.Helper()
	values, is := r[field].([]any)
	if !is {
		t.Fatalf("%s is %v", field, r[field])
	}
	for _, v := range values {
		all = append(all, v.(float64))
	}
	return all
}

func near(got, want float64) bool { return math.Abs(got-want) <= want/1000+0.001 }

func TestResultHasEveryField(t *testing.T) {
	r := result(t, benchtest.Constant(3*time.Millisecond), func(*bench.Trial) {})
	if got := slices.Sorted(maps.Keys(r)); !slices.Equal(got, fields()) {
		t.Errorf("fields %v", got)
	}
	for _, name := range fields() {
		if strings.HasPrefix(name, "aggregated") || !strings.HasPrefix(name, "publish") && !strings.HasPrefix(name, "endToEnd") && name != "consumeRate" && name != "backlog" {
			continue
		}
		if got := list(t, r, name); len(got) != 3 {
			t.Errorf("%s has %v of the 3 periods that 25 s have", name, got)
		}
	}
}

func TestResultOfAConstantDelay(t *testing.T) {
	r := result(t, benchtest.Constant(3*time.Millisecond), func(*bench.Trial) {})
	for i := range 3 {
		for name, want := range map[string]float64{"publishRate": 100, "consumeRate": 100, "publishErrorRate": 0, "publishLatencyAvg": 3, "publishLatency50pct": 3, "publishLatency9999pct": 3,
			"publishLatencyMax": 3} {
			if got := list(t, r, name)[i]; math.Abs(got-want) > want/100 {
				t.Errorf("%s of period %d: %v, want %v", name, i, got, want)
			}
		}
		if late, behind := list(t, r, "publishDelayLatencyMax")[i], list(t, r, "backlog")[i]; late > 1 || behind != 0 {
			t.Errorf("period %d: sent up to %v µs late, backlog %v", i, late, behind)
		}
	}
	for name, want := range map[string]any{"workload": "a workload", "driver": "Kafka", "messageSize": 100.0, "topics": 1.0, "partitions": 1.0, "producersPerTopic": 1.0, "consumersPerTopic": 1.0} {
		if r[name] != want {
			t.Errorf("%s: %v", name, r[name])
		}
	}
	quantiles := r["aggregatedPublishLatencyQuantiles"].(map[string]any)
	if first, last := quantiles["0.0"], quantiles["100.0"]; first == nil || last == nil || !near(last.(float64), 3) || !near(r["aggregatedPublishLatency99pct"].(float64), 3) {
		t.Errorf("quantiles from %v to %v, p99 %v", first, last, r["aggregatedPublishLatency99pct"])
	}
}

// A node that freezes for 2 s delays what is sent meanwhile: that is in the publish delay, in microseconds, and no publish latency; but the
// consumers' latency counts from when a record was due. With one request out, only the one that was out waits for its answer.
func TestResultOfAFreeze(t *testing.T) {
	r := result(t, benchtest.Freeze(5*time.Second, 2*time.Second, time.Millisecond/2), func(trial *bench.Trial) { trial.MaxInFlight = 1 })
	latency, delay, endToEnd := list(t, r, "publishLatency99pct"), list(t, r, "publishDelayLatencyMax"), list(t, r, "endToEndLatencyMax")
	if !near(latency[0], 0.5) || delay[0] < 1.9e6 || delay[0] > 2.1e6 || delay[1] > 1 || endToEnd[0] < 1900 || endToEnd[1] > 1 {
		t.Errorf("publish p99 %v ms, latest sending %v µs, end to end %v ms", latency, delay, endToEnd)
	}
	if slowest := r["aggregatedPublishLatencyMax"].(float64); slowest < 1990 || slowest > 2010 {
		t.Errorf("slowest answer after %v ms", slowest)
	}
	if latest := r["aggregatedPublishDelayLatencyMax"].(float64); latest != delay[0] {
		t.Errorf("latest sending %v µs, want %v", latest, delay[0])
	}
}

// Two subscriptions of which one has nobody to read are a backlog of one message a message; without consumers there is none to tell, but every list.
func TestResultWithoutConsumers(t *testing.T) {
	r := result(t, benchtest.Constant(3*time.Millisecond), func(trial *bench.Trial) { trial.Consumers = 0 })
	if got := list(t, r, "endToEndLatency99pct"); !slices.Equal(got, []float64{0, 0, 0}) {
		t.Errorf("end to end %v", got)
	}
	if got := list(t, r, "backlog"); !slices.Equal(got, []float64{1000, 2000, 2500}) {
		t.Errorf("backlog %v", got)
	}
	if quantiles := r["aggregatedEndToEndLatencyQuantiles"].(map[string]any); len(quantiles) != 0 {
		t.Errorf("quantiles of nothing: %v", quantiles)
	}
}

// What is answered behind the window's end is in the last period's latencies, and in no rate.
func TestResultOfLateAnswers(t *testing.T) {
	r := result(t, benchtest.Constant(3*time.Second), func(trial *bench.Trial) { trial.MaxInFlight, trial.WarmUp = 1000, 0 })
	rates, latency := list(t, r, "publishRate"), list(t, r, "publishLatency50pct")
	for i, want := range []float64{70, 100, 100} {
		if math.Abs(rates[i]-want) > 1 || !near(latency[i], 3000) {
			t.Errorf("period %d: %v/s, %v ms", i, rates[i], latency[i])
		}
	}
}

// A backlog makes the window longer: each 10 s of building and draining it are a period, with what waits.
func TestResultOfABacklog(t *testing.T) {
	r := result(t, benchtest.Constant(time.Millisecond), func(t *bench.Trial) {
		t.Rate, t.BatchRecords, t.Patience, t.Duration = 1000, 10, 10*time.Second, 15*time.Second
		t.Backlog = &bench.Backlog{Bytes: 1_500_000, Drained: 1} // of 100 bytes at 1,000/s: 15 s
	})
	backlog, consumed, published := list(t, r, "backlog"), list(t, r, "consumeRate"), list(t, r, "publishRate")
	if len(backlog) != 4 || len(consumed) != 4 || len(published) != 4 {
		t.Fatalf("backlog %v, consumed %v, published %v: want 30 s and what draining takes", backlog, consumed, published)
	}
	for i, rate := range published[:3] {
		if math.Abs(rate-1000) > 20 {
			t.Errorf("period %d: %v published", i, rate)
		}
	}
	if backlog[0] < 9_500 || backlog[1] > 1000 || consumed[0] > 50 || consumed[1] < 1900 {
		t.Errorf("backlog %v, consumed %v", backlog, consumed)
	}
}
