package quota

import "math"

// Limiter holds clients to limits of bytes or of request time.
type Limiter struct {
	windows Windows
	// waitMaxMS bounds a wait.
	waitMaxMS int64
	limits    Limits
	rates     meters[Client, Rate]
}

// NewByteLimiter is for producer_byte_rate and consumer_byte_rate: the wait is as long as it takes.
func NewByteLimiter(w Windows) *Limiter { return &Limiter{windows: w, waitMaxMS: math.MaxInt32} }

// NewTimeLimiter is for request_percentage: nobody waits longer than one window.
func NewTimeLimiter(w Windows) *Limiter { return &Limiter{windows: w, waitMaxMS: w.SizeMS} }

// SetLimits replaces all limits, at once (Q1).
func (l *Limiter) SetLimits(limits Limits) { l.limits = limits }

// Record charges a client with a value and gives the milliseconds that it must wait, 0 if it is within its limit.
func (l *Limiter) Record(c Client, value float64, now int64) int64 {
	limit, share, ok := l.limits.Of(c)
	if !ok {
		return 0
	}
	rate := l.rates.of(share, now)
	rate.add(l.windows, value, now)
	return min(rate.wait(l.windows, limit, now), l.waitMaxMS)
}

// RecordServed charges a client with what it is to be served, and says whether it may be. If not nothing is counted, and it is
// served nothing for so long. A client that has had nothing of late is served whatever it is, and waits afterwards: a record
// batch that is larger than all windows let through would otherwise never be served.
func (l *Limiter) RecordServed(c Client, value float64, now int64) (waitMS int64, serve bool) {
	limit, share, ok := l.limits.Of(c)
	if !ok {
		return 0, true
	}
	rate := l.rates.of(share, now)
	before, _ := rate.measure(l.windows, now)
	rate.add(l.windows, value, now)
	waitMS = min(rate.wait(l.windows, limit, now), l.waitMaxMS)
	if serve = waitMS == 0 || before <= 0; !serve {
		rate.add(l.windows, -value, now)
	}
	return waitMS, serve
}

// Note charges a client without asking for a wait; a negative value takes back what was recorded.
func (l *Limiter) Note(c Client, value float64, now int64) {
	if _, share, ok := l.limits.Of(c); ok {
		l.rates.of(share, now).add(l.windows, value, now)
	}
}

// Most is the largest value of one Record that can be within the limit, if nothing else was recorded of late; +Inf if there is
// no limit.
func (l *Limiter) Most(c Client) float64 {
	limit, _, ok := l.limits.Of(c)
	if !ok {
		return math.Inf(1)
	}
	return limit * float64(l.windows.Count-1) * float64(l.windows.SizeMS) / 1000
}

// Shares is how many clients, or groups of them, are remembered.
func (l *Limiter) Shares() int { return l.rates.len() }

// Mutations holds clients to controller_mutation_rate (KIP-599).
type Mutations struct {
	windows Windows
	limits  Limits
	buckets meters[Client, bucket]
}

// NewMutations makes one without limits.
func NewMutations(w Windows) *Mutations { return &Mutations{windows: w} }

// SetLimits replaces all limits, at once (Q1).
func (m *Mutations) SetLimits(limits Limits) { m.limits = limits }

// Charge takes permits of a client's. Strictly, an overdrawn client is refused (ok is false), and one that has tokens may have
// all it asks for without a wait. Otherwise nobody is refused, and who overdraws waits.
func (m *Mutations) Charge(c Client, permits float64, strict bool, now int64) (waitMS int64, ok bool) {
	limit, share, limited := m.limits.Of(c)
	if !limited {
		return 0, true
	}
	b := m.buckets.of(share, now)
	b.fill(m.windows, limit, now)
	if strict {
		if wait := b.wait(limit); b.tokens < 0 {
			return wait, false
		}
		b.take(permits)
		return 0, true
	}
	b.take(permits)
	return b.wait(limit), true
}

// Shares is how many clients, or groups of them, are remembered.
func (m *Mutations) Shares() int { return m.buckets.len() }
