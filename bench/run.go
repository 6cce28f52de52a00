package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Result is what one run measured inside its window.
type Result struct {
	// Records and Bytes (of the records' values) that were acknowledged, or fetched; Requests that carried them.
	Records, Bytes, Requests int64
	Window                   time.Duration
	// Latency is the headline: from the intended instant to the consumer in EndToEnd; the time of one request otherwise.
	Latency *Histogram
	// Acknowledged is from the intended instant to the producer's acknowledgement, in EndToEnd only.
	Acknowledged *Histogram
	// Lag is how late the generator itself was, in EndToEnd only.
	Lag *Histogram
	// Lost counts records that were due in the window and never came, in EndToEnd only.
	Lost int64
	// Node is what the nodes used, if Workload.NodePIDs were given.
	Node Usage
	// Waits are what this process's threads did in the window, and how they waited for processors.
	Waits ThreadCounters
}

// RecordsPerSecond is the rate over the window.
func (r *Result) RecordsPerSecond() float64 { return float64(r.Records) / r.Window.Seconds() }

// BytesPerSecond is the rate of record values over the window.
func (r *Result) BytesPerSecond() float64 { return float64(r.Bytes) / r.Window.Seconds() }

// CPUPerMillionRecords is the node's CPU time, user and system, for a million records.
func (r *Result) CPUPerMillionRecords() time.Duration {
	return time.Duration(float64(r.Node.CPU()) * 1e6 / float64(max(r.Records, 1)))
}

// CPUPerGB is the node's CPU time for 10⁹ bytes of record values.
func (r *Result) CPUPerGB() time.Duration {
	return time.Duration(float64(r.Node.CPU()) * 1e9 / float64(max(r.Bytes, 1)))
}

// Doubt says why the figures may be the generator's own, or nothing.
func (r *Result) Doubt() string {
	if r.Lost > 0 {
		return fmt.Sprintf("%d records never arrived", r.Lost)
	}
	if r.Lag != nil && r.Lag.Count() > 0 {
		if lag, all := r.Lag.Quantile(0.99), r.Latency.Quantile(0.99); lag > all/2 {
			return fmt.Sprintf("the generator was %v late itself at p99, of %v", lag, all)
		}
	}
	return starved(r.Waits, r.Latency)
}

// window is the measured part of a run. moved is where its end is, if that depends on what happens: it is never set to what has been already.
type window struct {
	begin, end Instant
	moved      *atomic.Int64
}

func (w window) contains(i Instant) bool { return i >= w.begin && i < w.until() }

// until is its end.
func (w window) until() Instant {
	if w.moved != nil {
		return Instant(w.moved.Load())
	}
	return w.end
}

func (w window) moveEnd(to Instant) { w.moved.Store(int64(to)) }

// tally is one worker's count.
type tally struct {
	records, bytes, requests int64
	latency                  *Histogram
}

// count adds one answered request if it was answered inside the window.
func (t *tally) count(in window, sent, answered Instant, records, bytes int64) {
	if !in.contains(answered) {
		return
	}
	t.records += records
	t.bytes += bytes
	t.requests++
	t.latency.Record(answered.Sub(sent))
}

// worker is one connection's load. It ends by itself when its window does.
type worker func(in window, t *tally) error

// measure runs workers together and adds up what they counted in the window. The first error ends the wait for the window
// and is returned, since the figures are worth nothing then; the workers left are ended by ctx's cancellation.
func (w *Workload) measure(ctx context.Context, workers []worker) (Result, error) {
	begin := w.clock().Now().Add(w.WarmUp)
	in := window{begin: begin, end: begin.Add(w.Duration)}
	tallies := make([]tally, len(workers))
	ended := make(chan error, len(workers))
	for i, run := range workers {
		tallies[i].latency = NewHistogram()
		go func() { ended <- run(in, &tallies[i]) }()
	}
	over, watched := make(chan struct{}), make(chan watched, 1)
	defer close(over)
	go func() { watched <- w.watch(in, over) }()
	for range workers {
		var err error
		select {
		case err = <-ended:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return Result{}, err
		}
	}
	seen := <-watched // as the workers, it ends with the window
	if seen.err != nil {
		return Result{}, seen.err
	}
	r := Result{Window: w.Duration, Latency: NewHistogram(), Node: seen.node, Waits: seen.waits}
	for i := range tallies {
		r.add(&tallies[i])
	}
	return r, nil
}

func (r *Result) add(t *tally) {
	r.Records += t.records
	r.Bytes += t.bytes
	r.Requests += t.requests
	r.Latency.Merge(t.latency)
}

// watched is what was seen beside a window.
type watched struct {
	node  Usage
	waits ThreadCounters
	err   error
}

// watch reads the nodes' resources, and how this process's threads wait, at both ends of the window. It ends with the window, or without a result
// when over is closed.
func (w *Workload) watch(in window, over <-chan struct{}) (seen watched) {
	threads := w.Threads
	if threads == nil {
		threads = ownThreads
	}
	clock := w.clock()
	if !reach(clock, in.begin, over) {
		return seen
	}
	before, err := readUsages(w.NodePIDs)
	waited := threads()
	if err != nil || !reach(clock, in.until(), over) {
		return watched{err: err}
	}
	after, err := readUsages(w.NodePIDs)
	return watched{after.Since(before), threadsSince(threads(), waited), err}
}
