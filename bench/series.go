package bench

import (
	"sync"
	"time"
)

// Figures are what happened in one second, or in a whole window.
type Figures struct {
	// Records and Bytes (of values) that were acknowledged, or fetched; Requests or batches that carried them.
	Records, Bytes, Requests int64
	// Errors are requests that failed or were refused, and were sent again.
	Errors  int64
	Latency *Histogram
	// Service is from the sending to the acknowledgement, Lag how late the generator itself was with what it sent then, Delay how late it was
	// sent for whatever reason; nil if there was none.
	Service, Lag, Delay *Histogram
}

func newFigures() *Figures { return &Figures{Latency: NewHistogram()} }

func (f *Figures) merge(from *Figures) {
	f.Records += from.Records
	f.Bytes += from.Bytes
	f.Requests += from.Requests
	f.Errors += from.Errors
	f.Latency.Merge(from.Latency)
	f.Service = merged(f.Service, from.Service)
	f.Lag = merged(f.Lag, from.Lag)
	f.Delay = merged(f.Delay, from.Delay)
}

// merged is to with from's counts, made if there is something to count.
func merged(to, from *Histogram) *Histogram {
	if from == nil || from.Count() == 0 {
		return to
	}
	if to == nil {
		to = NewHistogram()
	}
	to.Merge(from)
	return to
}

// empty tells that nothing was counted.
func (f *Figures) empty() bool {
	return f.Requests+f.Errors == 0 && (f.Lag == nil || f.Lag.Count() == 0)
}

func (f *Figures) reset() {
	kept := Figures{Latency: f.Latency, Service: f.Service, Lag: f.Lag, Delay: f.Delay}
	for _, h := range []*Histogram{kept.Latency, kept.Service, kept.Lag, kept.Delay} {
		if h != nil {
			h.Reset()
		}
	}
	*f = kept
}

// series adds up recorders' figures second by second. What is answered in a second belongs to it; what was due before the window to none.
type series struct {
	clock Clock
	in    window

	mu        sync.Mutex
	recorders []*recorder
	open      map[int]*Figures // the seconds that may still grow
	closed    int              // seconds before this one do not
	total     *Figures         // of those that are closed
}

func newSeries(clock Clock) *series {
	return &series{clock: clock, open: map[int]*Figures{}, total: newFigures()}
}

// second is the number of the second of the window that at lies in; after the window the numbers go on.
func (s *series) second(at Instant) int { return int(at.Sub(s.in.begin) / time.Second) }

// recorder is one connection's or client's part of a series, so that nobody waits for another's lock.
type recorder struct {
	series *series

	mu  sync.Mutex
	at  int // the second of now
	now *Figures
}

func (s *series) recorder() *recorder {
	r := &recorder{series: s, now: newFigures()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorders = append(s.recorders, r)
	return r
}

// acknowledged counts a request that was due and is acknowledged now, service after it was sent (with transactions: and is committed now).
func (r *recorder) acknowledged(due, now Instant, service time.Duration, records, bytes int64) {
	if !r.series.in.contains(due) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(due, now, records, bytes)
	if r.now.Service == nil {
		r.now.Service = NewHistogram()
	}
	r.now.Service.Record(service)
}

// arrived counts a request that was due and is with a consumer now.
func (r *recorder) arrived(due, now Instant, records, bytes int64) {
	if !r.series.in.contains(due) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(due, now, records, bytes)
}

func (r *recorder) count(due, now Instant, records, bytes int64) {
	r.turn(r.series.second(now))
	r.now.Records += records
	r.now.Bytes += bytes
	r.now.Requests++
	r.now.Latency.Record(now.Sub(due))
}

// late counts what was due and is sent now, and by how much the generator itself was too late with it.
func (r *recorder) late(due, now Instant, by time.Duration) {
	if !r.series.in.contains(due) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(r.series.second(now))
	if r.now.Lag == nil {
		r.now.Lag, r.now.Delay = NewHistogram(), NewHistogram()
	}
	r.now.Lag.Record(by)
	r.now.Delay.Record(now.Sub(due))
}

// failed counts a request that has to be sent again.
func (r *recorder) failed(due, now Instant) {
	if !r.series.in.contains(due) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn(r.series.second(now))
	r.now.Errors++
}

// turn hands on what was counted in the second before.
func (r *recorder) turn(second int) {
	if r.at != second {
		r.handOn()
		r.at = second
	}
}

func (r *recorder) handOn() {
	if r.now.empty() {
		return
	}
	s := r.series
	s.mu.Lock()
	defer s.mu.Unlock()
	at := max(r.at, s.closed) // whoever read the clock before the second was closed and counts after it
	if s.open[at] == nil {
		s.open[at] = newFigures()
	}
	s.open[at].merge(r.now)
	r.now.reset()
}

// close ends a second and gives its figures, which are the caller's. Seconds are closed in order.
func (s *series) close(second int) *Figures {
	for _, r := range s.all() {
		r.mu.Lock()
		if r.at <= second {
			r.handOn()
		}
		r.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.open[second]
	if f == nil {
		f = newFigures()
	}
	delete(s.open, second)
	s.closed = second + 1
	s.total.merge(f)
	return f
}

func (s *series) all() []*recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*recorder(nil), s.recorders...)
}

// pending tells whether figures lie in seconds that are not closed.
func (s *series) pending() bool {
	for _, r := range s.all() {
		r.mu.Lock()
		has := !r.now.empty()
		r.mu.Unlock()
		if has {
			return true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}
