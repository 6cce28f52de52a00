package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// liveSecond is what a live view shows of a second of a run.
type liveSecond struct {
	number                           int
	window                           time.Duration // 0 while nobody knows how long it is
	records, bytes, consumed, errors int64
	consuming                        bool
	building                         bool                // of a backlog
	waiting                          int64               // records of it
	own, ownEndToEnd                 bench.LatencyFigure // of the second alone
	response, endToEnd, late         bench.LatencyFigure // of the last seconds
}

// liveRecent is how many seconds the percentiles of a live view are of.
const liveRecent = 5

// recent adds up the histograms of the last seconds.
type recent struct {
	kept []*bench.Histogram // nil for a second without any
	sum  *bench.Histogram
}

func (r *recent) add(h *bench.Histogram) bench.LatencyFigure {
	if r.sum == nil {
		r.sum = bench.NewHistogram()
	}
	r.kept = append(r.kept, h)
	r.kept = r.kept[max(0, len(r.kept)-liveRecent):]
	r.sum.Reset()
	for _, h := range r.kept {
		if h != nil {
			r.sum.Merge(h)
		}
	}
	return r.sum.Figure()
}

// live takes a run's seconds and shows them from a goroutine of its own, so that a terminal that stops taking what is written keeps
// nobody waiting: what it does not take in time is left out.
type live struct {
	response, endToEnd, late recent
	seconds                  chan liveSecond
	done                     chan struct{}
}

// liveBehind is how many seconds a view may be behind.
const liveBehind = 64

// view shows seconds as they come, until there are no more.
type view interface {
	show(seconds <-chan liveSecond)
}

func startLive(v view) *live {
	l := &live{seconds: make(chan liveSecond, liveBehind), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		v.show(l.seconds)
	}()
	return l
}

// progress is bench.Trial's.
func (l *live) progress(s bench.Second) {
	p := s.Produced
	shown := liveSecond{number: s.Number, window: s.Window, building: s.Building, waiting: s.Waiting, records: p.Records, bytes: p.Bytes, errors: p.Errors, own: p.Latency.Figure(),
		response: l.response.add(p.Latency), late: l.late.add(p.Lag)}
	if c := s.Consumed; c != nil {
		shown.consuming, shown.consumed, shown.ownEndToEnd = true, c.Records, c.Latency.Figure()
		shown.errors += c.Errors
		shown.endToEnd = l.endToEnd.add(c.Latency)
	}
	select {
	case l.seconds <- shown:
	default:
	}
}

// end returns when nothing is shown any more.
func (l *live) end() {
	close(l.seconds)
	<-l.done
}

// lines shows a line for each second, where there is no terminal.
type lines struct{ w io.Writer }

func (v lines) show(seconds <-chan liveSecond) {
	for s := range seconds {
		fmt.Fprintln(v.w, s.line())
	}
}

func (s *liveSecond) line() string {
	ms := func(us float64) string { return fmt.Sprintf("%.2f ms", us/1e3) }
	line := fmt.Sprintf("%4d s  %9d records/s  ", s.number+1, s.records)
	if s.own.Count > 0 {
		line += fmt.Sprintf("p50 %s  p99 %s  max %s", ms(s.own.P50Us), ms(s.own.P99Us), ms(s.own.MaxUs))
	} else {
		line += "no answers"
	}
	switch {
	case s.consuming && s.ownEndToEnd.Count > 0:
		line += "  end to end p99 " + ms(s.ownEndToEnd.P99Us)
	case s.consuming:
		line += "  nothing consumed"
	}
	if s.waiting > 0 {
		line += fmt.Sprintf("  %d wait", s.waiting)
	}
	if s.late.Count > 0 {
		line += "  late p99 " + ms(s.late.P99Us)
	}
	if s.errors > 0 {
		line += fmt.Sprintf("  %d errors", s.errors)
	}
	return line
}

// sparkline draws values on a logarithmic scale between the least and the greatest of them, the last ones if there are more than most. NaN
// is a second in which nothing was answered.
func sparkline(values []float64, most int) string {
	values = values[max(0, len(values)-max(most, 0)):]
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			least, greatest = min(least, math.Log(v)), max(greatest, math.Log(v))
		}
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var line []rune
	for _, v := range values {
		switch share := (math.Log(v) - least) / max(greatest-least, 1e-9); {
		case math.IsNaN(v):
			line = append(line, '×')
		case !(v > 0):
			line = append(line, bars[0])
		default:
			line = append(line, bars[int(math.Round(share*float64(len(bars)-1)))])
		}
	}
	return string(line)
}
