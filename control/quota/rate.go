package quota

import "math"

// Windows are what a Rate is sampled over: quota.window.num and quota.window.size.seconds.
type Windows struct {
	Count  int   // at least 1; the present window is one of them
	SizeMS int64 // of each
}

// Rate is an average over the last windows (org.apache.kafka.common.metrics.stats.Rate). The zero value has seen nothing.
//
//	          |<───────── span: at least Count-1 whole windows ─────────▶|
//	──┬───────┬───────┬───────┬── … ──┬───────┬───────┬───────┬─────────▶|
//	  │ sample│ sample│ sample│       │ sample│ sample│ sample│ current  now
//
// A sample begins with the first value behind the end of the one before it, so there may be gaps, and the oldest may reach
// beyond the windows; it counts for as long as its last value is within them.
type Rate struct {
	samples []sample // a ring of Count+1 at most, for the oldest may overlap the windows' beginning
	current int
}

type sample struct {
	start, last int64 // of the window, and of its last value
	value       float64
}

// add gives the present sample a value, which may be negative to take one back.
func (r *Rate) add(w Windows, value float64, now int64) {
	if len(r.samples) == 0 {
		r.samples = append(r.samples, sample{start: now, last: now})
	}
	if now-r.samples[r.current].start >= w.SizeMS {
		r.advance(w, now)
	}
	s := &r.samples[r.current]
	s.value += value
	s.last = now
}

func (r *Rate) advance(w Windows, now int64) {
	r.current = (r.current + 1) % (w.Count + 1)
	if r.current == len(r.samples) {
		r.samples = append(r.samples, sample{})
	}
	r.samples[r.current] = sample{start: now, last: now}
}

// measure is the average a second, and the milliseconds that it is over.
func (r *Rate) measure(w Windows, now int64) (perSecond float64, spanMS int64) {
	oldest, sum := now, 0.0
	for i := range r.samples {
		s := &r.samples[i]
		if now-s.last >= int64(w.Count)*w.SizeMS {
			*s = sample{start: now, last: now}
		}
		oldest = min(oldest, s.start)
		sum += s.value
	}
	spanMS = now - oldest
	if whole, least := spanMS/w.SizeMS, int64(w.Count-1); whole < least {
		spanMS += (least - whole) * w.SizeMS
	}
	spanMS = max(spanMS, 1)
	return sum / (float64(spanMS) / 1000), spanMS
}

// wait is how long nothing may come for the average to fall to limit, in milliseconds; 0 if it is there.
func (r *Rate) wait(w Windows, limit float64, now int64) int64 {
	perSecond, spanMS := r.measure(w, now)
	if perSecond <= limit {
		return 0
	}
	return roundMS((perSecond - limit) / limit * float64(spanMS))
}

// roundMS rounds as Java does. Nobody waits longer than throttle_time_ms can say, 24 days.
func roundMS(ms float64) int64 {
	if ms >= math.MaxInt32 {
		return math.MaxInt32
	}
	return int64(math.Floor(ms + 0.5))
}
