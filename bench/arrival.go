package bench

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Arrival is how the events of an open loop come.
type Arrival struct {
	kind  string
	burst int // records of a producer that are due together
	trace *trace
}

// The kinds: evenly, with gaps of an exponential distribution as where many users act each by himself, or so many at once,
// or as they were recorded.
const (
	arrivalUniform = "uniform"
	arrivalPoisson = "poisson"
	arrivalBurst   = "burst"
	arrivalTrace   = "trace"

	burstMax = 1_000_000
)

// ParseArrival reads uniform, which "" is too, poisson, burst:N: N records of each producer are due together, or trace:FILE: as the file says
// (readTrace), whatever the producer, with gaps that are stretched or shortened to make the rate. Errors wrap ErrWorkload.
func ParseArrival(text string) (Arrival, error) {
	kind, rest, has := strings.Cut(text, ":")
	switch {
	case text == "" || text == arrivalUniform:
		return Arrival{kind: arrivalUniform}, nil
	case text == arrivalPoisson:
		return Arrival{kind: arrivalPoisson}, nil
	case kind == arrivalBurst && has:
		if n, err := strconv.Atoi(rest); err == nil && n >= 1 && n <= burstMax {
			return Arrival{kind: arrivalBurst, burst: n}, nil
		}
	case kind == arrivalTrace && rest != "":
		recorded, err := readTrace(rest)
		return Arrival{kind: arrivalTrace, trace: recorded}, err
	}
	return Arrival{}, fmt.Errorf("%w: an arrival %q: uniform, poisson, burst:N with N from 1 to %d, or trace:FILE", ErrWorkload, text, burstMax)
}

// Rate is the records a second that were recorded; 0 of an arrival that has no rate of its own.
func (a Arrival) Rate() float64 {
	if a.trace == nil {
		return 0
	}
	return a.trace.rate()
}

// Pacer is the schedule of an open loop: when each event is due follows from the rate alone, whatever became of the events before.
type Pacer struct {
	start    Instant
	interval float64 // nanoseconds; a float so that rates that do not divide a second do not drift
	events   int64
	burst    int64 // events that are due together

	gaps *rand.Rand // nil if the gaps are all alike
	past float64    // nanoseconds from start to the last event, if they are not

	replay *replay // nil without a trace
}

// NewPacer makes a schedule of rate events a second in which event n is due at start + n/rate. rate must be positive.
func NewPacer(start Instant, rate float64) *Pacer {
	if !(rate > 0) {
		panic("BUG: a schedule needs a rate")
	}
	return &Pacer{start: start, interval: float64(time.Second) / rate, burst: 1}
}

// pacer makes a producer's schedule of rate events a second, of so many records each, in a run that begins at an instant. The trial is one that
// runs: its arrival has been read.
func (t *Trial) pacer(begin Instant, rate float64, recordsPerEvent, producer int) *Pacer {
	p := NewPacer(begin, rate)
	switch arrival := t.arrival; arrival.kind {
	case arrivalPoisson:
		p.gaps = t.random(producer, randomArrivals)
		return p // the sum of such schedules is one, without phases
	case arrivalBurst:
		p.burst = int64(max(1, arrival.burst/recordsPerEvent))
	case arrivalTrace:
		p.replay = &replay{trace: arrival.trace, scale: arrival.trace.rate() / t.Rate, share: rate / t.Rate, phase: t.phase(producer)}
		return p
	}
	p.start = begin.after(t.phase(producer) * p.interval * float64(p.burst))
	return p
}

// Next is the instant at which the next event is due.
func (p *Pacer) Next() Instant {
	if p.gaps != nil {
		p.past += p.gaps.ExpFloat64() * p.interval
		return p.start.after(p.past)
	}
	if p.replay != nil {
		return p.start.after(p.replay.after())
	}
	due := p.start.after(float64(p.events/p.burst*p.burst) * p.interval)
	p.events++
	return due
}

// Streams of random numbers that a producer has.
const (
	randomValues     = 2
	randomKeys       = 3
	randomArrivals   = 4
	randomPartitions = 5
)

// random is one of a producer's streams, the same in each run of the same seed.
func (t *Trial) random(producer int, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(t.producerSeed(producer), stream))
}

// producerSeed is a producer's own seed: of seeds that are near each other too, no two producers have the same.
func (t *Trial) producerSeed(producer int) uint64 {
	return uint64(producer) + t.Seed*0x9e3779b97f4a7c15 // 2^64 by the golden ratio
}
