package main

import (
	"context"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// benchCase is one line of load that both servers are put under.
type benchCase struct {
	name string
	at   durability
	load bench.Workload
	// measure runs the load on a prepared topic.
	measure func(ctx context.Context, s *server, w bench.Workload) (outcome, error)
	// limit is what the machine allows of the case's first figure.
	limit limit
}

// outcome is what one run gave, and why it may be worth nothing (bench.Result.Doubt).
type outcome struct {
	figures []figure
	doubt   string
}

// figure is one number of one run.
type figure struct {
	name string
	unit string
	// value in unit; the greater the better only if so said.
	value        float64
	moreIsBetter bool
}

// cases are all of them, with windows of the given length. Batches are of some 256 KiB where they are large: what a
// producer with a batch.size raised for throughput sends, below Kafka's message.max.bytes.
func cases(window time.Duration) []benchCase {
	base := bench.Workload{Partitions: 8, Acks: -1, WarmUp: 300 * time.Millisecond, Duration: window}
	var all []benchCase
	for _, at := range []durability{durable, cache} {
		most := limitsOf[at]
		all = append(all,
			benchCase{"produce 1 KiB records, 256 KiB batches", at, large(base, 1024, 250), produceCapacity, most.large},
			benchCase{"produce 100 B records, 256 KiB batches", at, large(base, 100, 2400), produceCapacity, most.large},
			benchCase{"produce 1 record of 100 B, 1 connection", at, small(base, 1), produceRate, most.single},
			benchCase{"produce 1 record of 100 B, 16 connections", at, small(base, 16), produceRate, most.several},
			benchCase{"produce 1 record of 100 B, 64 connections", at, small(base, 64), produceRate, most.several},
			benchCase{"end to end, 1,000/s of 1 KiB, franz-go", at, paced(base, 1000, 0), endToEnd, limit{}},
			benchCase{"end to end, 5,000/s of 1 KiB, franz-go", at, paced(base, 5000, 0), endToEnd, limit{}},
			benchCase{"end to end, 5,000/s of 1 KiB, franz-go lingering 10 ms", at, paced(base, 5000, 10*time.Millisecond), endToEnd, limit{}},
		)
	}
	return append(all,
		benchCase{"fetch 1 KiB records, hot, 4 connections", cache, fetched(large(base, 1024, 250)), fetchCapacity, toSocket},
		benchCase{"fetch 100 B records, hot, 4 connections", cache, fetched(large(base, 100, 2400)), fetchCapacity, toSocket})
}

func fetched(w bench.Workload) bench.Workload {
	w.Fetchers = 4
	return w
}

func large(w bench.Workload, record, records int) bench.Workload {
	w.Producers, w.InFlight, w.RecordBytes, w.BatchRecords = 4, 5, record, records
	return w
}

func small(w bench.Workload, connections int) bench.Workload {
	w.Producers, w.InFlight, w.RecordBytes, w.BatchRecords = connections, 1, 100, 1
	return w
}

func paced(w bench.Workload, rate float64, linger time.Duration) bench.Workload {
	w.Producers, w.Fetchers, w.RecordBytes, w.Rate, w.Linger = 1, 1, 1024, rate, linger
	w.WarmUp = time.Second // connections, producer ids and the first fetches
	return w
}

func produceCapacity(ctx context.Context, s *server, w bench.Workload) (outcome, error) {
	r, err := w.Produce(ctx, s.address)
	return outcome{figures: capacity(r)}, err
}

func capacity(r bench.Result) []figure {
	return []figure{
		{"rate", "MB/s", r.BytesPerSecond() / 1e6, true},
		{"records", "k/s", r.RecordsPerSecond() / 1e3, true},
		{"CPU per million records", "s", r.CPUPerMillionRecords().Seconds(), false},
		{"CPU per GB", "s", r.CPUPerGB().Seconds(), false},
	}
}

func produceRate(ctx context.Context, s *server, w bench.Workload) (outcome, error) {
	r, err := w.Produce(ctx, s.address)
	if err != nil {
		return outcome{}, err
	}
	return outcome{figures: []figure{
		{"requests", "k/s", float64(r.Requests) / r.Window.Seconds() / 1e3, true},
		{"request p50", "ms", ms(r.Latency.Quantile(0.5)), false},
		{"request p99", "ms", ms(r.Latency.Quantile(0.99)), false},
		{"CPU per million records", "s", r.CPUPerMillionRecords().Seconds(), false},
	}}, nil
}

func endToEnd(ctx context.Context, s *server, w bench.Workload) (outcome, error) {
	r, err := w.EndToEnd(ctx, s.address)
	if err != nil {
		return outcome{}, err
	}
	return outcome{doubt: r.Doubt(), figures: []figure{
		{"p50", "ms", ms(r.Latency.Quantile(0.5)), false},
		{"p99", "ms", ms(r.Latency.Quantile(0.99)), false},
		{"p99.9", "ms", ms(r.Latency.Quantile(0.999)), false},
		{"acknowledged p50", "ms", ms(r.Acknowledged.Quantile(0.5)), false},
		{"acknowledged p99", "ms", ms(r.Acknowledged.Quantile(0.99)), false},
		{"generator late p99", "ms", ms(r.Lag.Quantile(0.99)), false},
		{"lost", "records", float64(r.Lost), false},
		{"CPU per million records", "s", r.CPUPerMillionRecords().Seconds(), false},
	}}, nil
}

// fetchCapacity fills the topic first, with little enough to stay in the page cache.
func fetchCapacity(ctx context.Context, s *server, w bench.Workload) (outcome, error) {
	fill := w
	fill.WarmUp, fill.Duration = 0, 500*time.Millisecond
	if _, err := fill.Produce(ctx, s.address); err != nil {
		return outcome{}, err
	}
	r, err := w.Fetch(ctx, s.address)
	return outcome{figures: capacity(r)}, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
