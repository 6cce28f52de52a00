package omb

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// periodSeconds is how much of a run one entry of a Result's lists is about. bin/create_charts.py takes it for granted.
const periodSeconds = 10

// Result is OpenMessaging Benchmark's TestResult. Publish and end-to-end latencies are in milliseconds, publish delays in microseconds.
type Result struct {
	Workload          string `json:"workload"`
	Driver            string `json:"driver"`
	MessageSize       int64  `json:"messageSize"`
	Topics            int    `json:"topics"`
	Partitions        int    `json:"partitions"` // of each topic
	ProducersPerTopic int    `json:"producersPerTopic"`
	ConsumersPerTopic int    `json:"consumersPerTopic"` // of each subscription, as there

	PublishRate      []float64 `json:"publishRate"`
	PublishErrorRate []float64 `json:"publishErrorRate"`
	ConsumeRate      []float64 `json:"consumeRate"`
	Backlog          []int64   `json:"backlog"` // messages

	PublishLatencyAvg     []float64 `json:"publishLatencyAvg"`
	PublishLatency50pct   []float64 `json:"publishLatency50pct"`
	PublishLatency75pct   []float64 `json:"publishLatency75pct"`
	PublishLatency95pct   []float64 `json:"publishLatency95pct"`
	PublishLatency99pct   []float64 `json:"publishLatency99pct"`
	PublishLatency999pct  []float64 `json:"publishLatency999pct"`
	PublishLatency9999pct []float64 `json:"publishLatency9999pct"`
	PublishLatencyMax     []float64 `json:"publishLatencyMax"`

	PublishDelayLatencyAvg     []float64 `json:"publishDelayLatencyAvg"`
	PublishDelayLatency50pct   []int64   `json:"publishDelayLatency50pct"`
	PublishDelayLatency75pct   []int64   `json:"publishDelayLatency75pct"`
	PublishDelayLatency95pct   []int64   `json:"publishDelayLatency95pct"`
	PublishDelayLatency99pct   []int64   `json:"publishDelayLatency99pct"`
	PublishDelayLatency999pct  []int64   `json:"publishDelayLatency999pct"`
	PublishDelayLatency9999pct []int64   `json:"publishDelayLatency9999pct"`
	PublishDelayLatencyMax     []int64   `json:"publishDelayLatencyMax"`

	AggregatedPublishLatencyAvg     float64 `json:"aggregatedPublishLatencyAvg"`
	AggregatedPublishLatency50pct   float64 `json:"aggregatedPublishLatency50pct"`
	AggregatedPublishLatency75pct   float64 `json:"aggregatedPublishLatency75pct"`
	AggregatedPublishLatency95pct   float64 `json:"aggregatedPublishLatency95pct"`
	AggregatedPublishLatency99pct   float64 `json:"aggregatedPublishLatency99pct"`
	AggregatedPublishLatency999pct  float64 `json:"aggregatedPublishLatency999pct"`
	AggregatedPublishLatency9999pct float64 `json:"aggregatedPublishLatency9999pct"`
	AggregatedPublishLatencyMax     float64 `json:"aggregatedPublishLatencyMax"`

	AggregatedPublishDelayLatencyAvg     float64 `json:"aggregatedPublishDelayLatencyAvg"`
	AggregatedPublishDelayLatency50pct   int64   `json:"aggregatedPublishDelayLatency50pct"`
	AggregatedPublishDelayLatency75pct   int64   `json:"aggregatedPublishDelayLatency75pct"`
	AggregatedPublishDelayLatency95pct   int64   `json:"aggregatedPublishDelayLatency95pct"`
	AggregatedPublishDelayLatency99pct   int64   `json:"aggregatedPublishDelayLatency99pct"`
	AggregatedPublishDelayLatency999pct  int64   `json:"aggregatedPublishDelayLatency999pct"`
	AggregatedPublishDelayLatency9999pct int64   `json:"aggregatedPublishDelayLatency9999pct"`
	AggregatedPublishDelayLatencyMax     int64   `json:"aggregatedPublishDelayLatencyMax"`

	// Quantiles are by percent, as Java writes a double.
	AggregatedPublishLatencyQuantiles      map[string]float64 `json:"aggregatedPublishLatencyQuantiles"`
	AggregatedPublishDelayLatencyQuantiles map[string]int64   `json:"aggregatedPublishDelayLatencyQuantiles"`

	EndToEndLatencyAvg     []float64 `json:"endToEndLatencyAvg"`
	EndToEndLatency50pct   []float64 `json:"endToEndLatency50pct"`
	EndToEndLatency75pct   []float64 `json:"endToEndLatency75pct"`
	EndToEndLatency95pct   []float64 `json:"endToEndLatency95pct"`
	EndToEndLatency99pct   []float64 `json:"endToEndLatency99pct"`
	EndToEndLatency999pct  []float64 `json:"endToEndLatency999pct"`
	EndToEndLatency9999pct []float64 `json:"endToEndLatency9999pct"`
	EndToEndLatencyMax     []float64 `json:"endToEndLatencyMax"`

	AggregatedEndToEndLatencyQuantiles map[string]float64 `json:"aggregatedEndToEndLatencyQuantiles"`

	AggregatedEndToEndLatencyAvg     float64 `json:"aggregatedEndToEndLatencyAvg"`
	AggregatedEndToEndLatency50pct   float64 `json:"aggregatedEndToEndLatency50pct"`
	AggregatedEndToEndLatency75pct   float64 `json:"aggregatedEndToEndLatency75pct"`
	AggregatedEndToEndLatency95pct   float64 `json:"aggregatedEndToEndLatency95pct"`
	AggregatedEndToEndLatency99pct   float64 `json:"aggregatedEndToEndLatency99pct"`
	AggregatedEndToEndLatency999pct  float64 `json:"aggregatedEndToEndLatency999pct"`
	AggregatedEndToEndLatency9999pct float64 `json:"aggregatedEndToEndLatency9999pct"`
	AggregatedEndToEndLatencyMax     float64 `json:"aggregatedEndToEndLatencyMax"`
}

// Periods adds up the seconds of a run by periods of 10 s, for a Result. It is one goroutine's.
type Periods struct {
	subscriptions int64

	result Result
	open   tally // the period that may still grow
	all    tally
}

// tally is a part of a run.
type tally struct {
	seconds                    float64 // of the window
	produced, consumed, errors int64   // in the window
	service, delay, endToEnd   *bench.Histogram
}

func newTally() tally {
	return tally{service: bench.NewHistogram(), delay: bench.NewHistogram(), endToEnd: bench.NewHistogram()}
}

// NewPeriods are those of a trial.
func NewPeriods(t *bench.Trial) *Periods {
	return &Periods{subscriptions: int64(max(t.Subscriptions, 1)), open: newTally(), all: newTally()}
}

// Add takes a run's next second (bench.Trial.Progress). What is answered behind the window's end is in the last period's latencies, and in no rate.
func (p *Periods) Add(s bench.Second) {
	if s.Number > 0 && s.Lasted > 0 && s.Number%periodSeconds == 0 {
		p.close()
	}
	for _, t := range []*tally{&p.open, &p.all} {
		if s.Lasted > 0 {
			t.seconds += s.Lasted.Seconds()
			t.produced += s.Produced.Records
			t.errors += s.Produced.Errors
			if s.Consumed != nil {
				t.consumed += s.Consumed.Records
			}
		}
		merge(t.service, s.Produced.Service)
		merge(t.delay, s.Produced.Delay)
		if s.Consumed != nil {
			merge(t.endToEnd, s.Consumed.Latency)
		}
	}
}

func merge(to, from *bench.Histogram) {
	if from != nil {
		to.Merge(from)
	}
}

// close ends the open period.
func (p *Periods) close() {
	r, t := &p.result, &p.open
	rate := func(n int64) float64 { return float64(n) / t.seconds }
	r.PublishRate = append(r.PublishRate, rate(t.produced))
	r.PublishErrorRate = append(r.PublishErrorRate, rate(t.errors))
	r.ConsumeRate = append(r.ConsumeRate, rate(t.consumed))
	r.Backlog = append(r.Backlog, max(0, p.subscriptions*p.all.produced-p.all.consumed))
	appendLatencies(t.service, milliseconds, &r.PublishLatencyAvg, milliseconds, &r.PublishLatency50pct, &r.PublishLatency75pct, &r.PublishLatency95pct,
		&r.PublishLatency99pct, &r.PublishLatency999pct, &r.PublishLatency9999pct, &r.PublishLatencyMax)
	appendLatencies(t.delay, microseconds, &r.PublishDelayLatencyAvg, wholeMicroseconds, &r.PublishDelayLatency50pct, &r.PublishDelayLatency75pct, &r.PublishDelayLatency95pct,
		&r.PublishDelayLatency99pct, &r.PublishDelayLatency999pct, &r.PublishDelayLatency9999pct, &r.PublishDelayLatencyMax)
	appendLatencies(t.endToEnd, milliseconds, &r.EndToEndLatencyAvg, milliseconds, &r.EndToEndLatency50pct, &r.EndToEndLatency75pct, &r.EndToEndLatency95pct,
		&r.EndToEndLatency99pct, &r.EndToEndLatency999pct, &r.EndToEndLatency9999pct, &r.EndToEndLatencyMax)
	p.open = newTally()
}

// quantiles are those that each latency is told by, before its greatest value.
var quantiles = []float64{0.5, 0.75, 0.95, 0.99, 0.999, 0.9999, 1}

func milliseconds(d time.Duration) float64    { return float64(d.Nanoseconds()) / 1e6 }
func microseconds(d time.Duration) float64    { return float64(d.Nanoseconds()) / 1e3 }
func wholeMicroseconds(d time.Duration) int64 { return d.Microseconds() }

// appendLatencies adds a period's mean and quantiles, each in a unit, to lists.
func appendLatencies[V float64 | int64](h *bench.Histogram, mean func(time.Duration) float64, means *[]float64, unit func(time.Duration) V, lists ...*[]V) {
	*means = append(*means, mean(h.Mean()))
	for i, list := range lists {
		*list = append(*list, unit(h.Quantile(quantiles[i])))
	}
}

// setLatencies does so for a whole run.
func setLatencies[V float64 | int64](h *bench.Histogram, unit func(time.Duration) V, values ...*V) {
	for i, value := range values {
		*value = unit(h.Quantile(quantiles[i]))
	}
}

// percentileTicks is how many quantiles there are each time that the distance to 100 % is halved.
const percentileTicks = 100

func percentiles[V float64 | int64](h *bench.Histogram, unit func(time.Duration) V) map[string]V {
	all := map[string]V{}
	if h.Count() == 0 {
		return all
	}
	for _, p := range h.Percentiles(percentileTicks) {
		name := strconv.FormatFloat(p.Percent, 'f', -1, 64)
		if !strings.Contains(name, ".") {
			name += ".0"
		}
		all[name] = unit(p.Latency)
	}
	return all
}

// Result is that of the run, whose seconds are all added, under the names of a workload and a driver.
func (p *Periods) Result(workload, driver string, c bench.ReportConfig) *Result {
	if p.open.seconds > 0 {
		p.close()
	}
	r := &p.result
	r.Workload, r.Driver, r.MessageSize = workload, driver, int64(c.RecordBytes)
	r.Topics, r.Partitions, r.ProducersPerTopic, r.ConsumersPerTopic = cmp.Or(c.Topics, 1), c.Partitions, c.Producers, c.Consumers
	service, delay, endToEnd := p.all.service, p.all.delay, p.all.endToEnd
	r.AggregatedPublishLatencyAvg = milliseconds(service.Mean())
	setLatencies(service, milliseconds, &r.AggregatedPublishLatency50pct, &r.AggregatedPublishLatency75pct, &r.AggregatedPublishLatency95pct,
		&r.AggregatedPublishLatency99pct, &r.AggregatedPublishLatency999pct, &r.AggregatedPublishLatency9999pct, &r.AggregatedPublishLatencyMax)
	r.AggregatedPublishDelayLatencyAvg = microseconds(delay.Mean())
	setLatencies(delay, wholeMicroseconds, &r.AggregatedPublishDelayLatency50pct, &r.AggregatedPublishDelayLatency75pct, &r.AggregatedPublishDelayLatency95pct,
		&r.AggregatedPublishDelayLatency99pct, &r.AggregatedPublishDelayLatency999pct, &r.AggregatedPublishDelayLatency9999pct, &r.AggregatedPublishDelayLatencyMax)
	r.AggregatedEndToEndLatencyAvg = milliseconds(endToEnd.Mean())
	setLatencies(endToEnd, milliseconds, &r.AggregatedEndToEndLatency50pct, &r.AggregatedEndToEndLatency75pct, &r.AggregatedEndToEndLatency95pct,
		&r.AggregatedEndToEndLatency99pct, &r.AggregatedEndToEndLatency999pct, &r.AggregatedEndToEndLatency9999pct, &r.AggregatedEndToEndLatencyMax)
	r.AggregatedPublishLatencyQuantiles = percentiles(service, milliseconds)
	r.AggregatedPublishDelayLatencyQuantiles = percentiles(delay, wholeMicroseconds)
	r.AggregatedEndToEndLatencyQuantiles = percentiles(endToEnd, milliseconds)
	return r
}
