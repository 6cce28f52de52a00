package limits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// Schema names the form of a Report, as bench.ReportSchema does of a run's.
const Schema = "ringmill.bench.limits/1"

// Report is what was measured, and where.
type Report struct {
	Schema string     `json:"schema"`
	Host   bench.Host `json:"host"`
	Limits []Limit    `json:"limits"`
}

// Limit is one thing that the machine allows.
type Limit struct {
	Name string `json:"name"`
	// OperationsPerSecond and BytesPerSecond are over Seconds; bytes are 0 where they are not the point.
	OperationsPerSecond float64 `json:"operationsPerSecond"`
	BytesPerSecond      float64 `json:"bytesPerSecond"`
	Seconds             float64 `json:"seconds"`
	// Latency is of single operations; Count is 0 where they were not timed.
	Latency bench.LatencyFigure `json:"latency"`
	// CPUSeconds is what this process used, on both sides of a socket.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Missing says why the item could not be measured here.
	Missing string `json:"missing,omitempty"`
}

// Rate is the limit in the unit that it is about, or why there is none.
func (l Limit) Rate() string {
	switch {
	case l.Missing != "":
		return l.Missing
	case l.Latency.Count > 0:
		return bench.FormatCount(l.OperationsPerSecond) + "/s"
	}
	return bench.FormatBytes(l.BytesPerSecond)
}

// Options say where and how long is measured.
type Options struct {
	// Dir is the directory whose disk, and whose page cache, is measured.
	Dir string
	// Each is how long each item runs.
	Each time.Duration
	// Only, if not nil, are the names of the items to measure. Those that nothing has are passed over.
	Only []string
	// Progress, if not nil, is called with each limit as soon as it is there.
	Progress func(Limit)
}

// item is a measurement: run begins the count once all is prepared, and goes on as long as that goes.
type item struct {
	name string
	run  func(ctx context.Context, o Options, c *count) error
}

// count is what an item has done since it began. It is one goroutine's.
type count struct {
	each              time.Duration
	began             bench.Instant
	cpu               time.Duration // used before
	operations, bytes int64
	latency           *bench.Histogram // nil: not timed
}

func (c *count) begin() { c.began, c.cpu = bench.Now(), bench.UsedCPU() }

// goes reports whether there is time left.
func (c *count) goes(ctx context.Context) bool {
	return bench.Now().Sub(c.began) < c.each && ctx.Err() == nil
}

// timed notes an operation of n bytes that began at an instant, and gives the present one.
func (c *count) timed(began bench.Instant, n int) bench.Instant {
	now := bench.Now()
	if c.latency == nil {
		c.latency = bench.NewHistogram()
	}
	c.latency.Record(now.Sub(began))
	c.operations++
	c.bytes += int64(n)
	return now
}

// Names are those of all items that Disk and Loop have.
func Names() (all []string) {
	for _, i := range slices.Concat(diskItems(), loopItems()) {
		all = append(all, i.name)
	}
	return all
}

// errMissing is wrapped by the error of an item that this machine does not have.
var errMissing = errors.New("not here")

// measure runs items one after another. An item that the machine does not have is told of as missing; any other error ends it.
func measure(ctx context.Context, o Options, items []item) (all []Limit, err error) {
	for _, i := range items {
		if o.Only != nil && !slices.Contains(o.Only, i.name) {
			continue
		}
		l, err := i.measure(ctx, o)
		if err != nil {
			return all, fmt.Errorf("bench: %s: %w", i.name, err)
		}
		all = append(all, l)
		if o.Progress != nil {
			o.Progress(l)
		}
	}
	return all, nil
}

func (i item) measure(ctx context.Context, o Options) (Limit, error) {
	c := count{each: o.Each}
	err := i.run(ctx, o, &c)
	switch {
	case errors.Is(err, errMissing):
		return Limit{Name: i.name, Missing: err.Error()}, nil
	case err != nil:
		return Limit{}, err
	case ctx.Err() != nil:
		return Limit{}, ctx.Err()
	}
	l := Limit{Name: i.name, Seconds: bench.Now().Sub(c.began).Seconds(), CPUSeconds: (bench.UsedCPU() - c.cpu).Seconds()}
	l.OperationsPerSecond, l.BytesPerSecond = float64(c.operations)/l.Seconds, float64(c.bytes)/l.Seconds
	if c.latency != nil {
		l.Latency = c.latency.Figure()
	}
	return l, nil
}
