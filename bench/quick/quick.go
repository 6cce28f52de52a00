package quick

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/limits"
)

// Quick is what is asked for.
type Quick struct {
	// Trial says what load it is; its rate, times and topic are set here. It is a raw client's.
	Trial bench.Trial
	// Topic gives each run's topic its name.
	Topic func() string
	// Bounds are what a rate has to hold.
	Bounds []bench.Bound
	// Duration is about what all takes together.
	Duration time.Duration
	// Dir is a directory on the node's disk.
	Dir string
	// Metrics is where the node may tell its metrics, host:port. They are asked for if the node's own process listens there, or if they are trusted.
	Metrics        string
	MetricsTrusted bool
	// Progress, if not nil, is told in words what has been done.
	Progress func(string)
}

// Parts of Duration: one item of the limits, a warm-up, the client alone, the load at capacity, one try of the search (there are about five), a
// point. With 5 items, 3 points and what it takes to make topics they are about all of it.
const (
	itemPart     = 60
	warmUpPart   = 90
	alonePart    = 30
	capacityPart = 15
	tryPart      = 30
	pointPart    = 8
)

// searchPrecision is how near a rate that does not hold has to be: nobody who asks for a quick answer wants the third digit.
const searchPrecision = 1.2

// searchDepth is the part of the capacity below which no rate is looked for: at its capacity, of full requests, a node may do hundreds of
// times what it does within a bound of some milliseconds, but nobody waits long for a quick answer.
const searchDepth = 64

// shown are the shares of the rate that was found at which there is a point.
var shown = []float64{0.5, 0.8, 0.95}

// Check says what is wrong with it; errors wrap bench.ErrWorkload.
func (q *Quick) Check() error {
	t := q.Trial
	t.Client = bench.ClientRaw
	if err := (bench.Range[time.Duration]{Least: 3 * time.Second, Most: bench.Durations.Most}).Check("duration of all of it", q.Duration); err != nil {
		return err
	}
	t.Duration, t.Topic = q.Duration, "any"
	return t.Check()
}

// Run measures. If it breaks off, the report is what there was until then, and the error says why.
func (q *Quick) Run(ctx context.Context) (*Report, error) {
	r := &Report{Schema: Schema, Verdict: bench.VerdictValid, Reasons: []string{}, Started: time.Now().UTC(), Host: bench.ReadHost(), Limits: []limits.Limit{},
		Shares: []Share{}, Bounds: []string{}, Points: []Point{}}
	for _, b := range q.Bounds {
		r.Bounds = append(r.Bounds, b.String())
	}
	err := q.run(ctx, r)
	if err != nil {
		r.Verdict, r.Error = bench.VerdictPartial, err.Error()
	}
	return r, err
}

func (q *Quick) run(ctx context.Context, r *Report) (err error) {
	if r.Node, err = findNode(ctx, q.Trial, q.Metrics, q.MetricsTrusted); err != nil {
		return err
	}
	if n := len(r.Node.Addresses); n != 1 && q.MetricsTrusted {
		q.say(fmt.Sprintf("there are %d nodes: --metrics, which is one's, is not read", n))
	}
	if _, err := q.trial(0, q.Duration).Rehearse(ctx); err != nil {
		return err // before the limits take their time
	}
	measured, err := q.limits(ctx, r)
	if err != nil {
		return err
	}
	if err := q.clientAlone(ctx, r); err != nil {
		return err
	}
	capacity := q.trial(0, q.Duration/capacityPart)
	load, err := q.load(ctx, r, capacity)
	if err != nil {
		return err
	}
	if load.Run.Verdict == bench.VerdictPartial {
		return errors.New(load.Run.Error)
	}
	r.Capacity = &load
	r.judge("capacity", load.Run)
	r.Shares = append(r.Shares, shares(load.Run, load.Use, &r.Node, measured, r.ClientAlone.Produced.RecordsPerSecond)...)
	r.Bottleneck = bottleneck(load.Run.Produced.RecordsPerSecond, r.Shares)
	r.Bottleneck.stage(load.Run)
	q.say("capacity: " + r.Bottleneck.Said)
	if load.Run.Produced.Records == 0 {
		return errors.New("nothing was acknowledged within the window")
	}
	return q.curve(ctx, r)
}

// limits measures what this machine allows, if the node is on it.
func (q *Quick) limits(ctx context.Context, r *Report) (*limits.NodeLimits, error) {
	if !r.Node.Local {
		q.say("not all nodes are on this machine: its disk, its loopback and its processors are not measured")
		return nil, nil
	}
	r.Directory, r.Node.dir = q.Dir, q.Dir
	o := limits.Options{Dir: q.Dir, Each: q.Duration / itemPart, Progress: func(l limits.Limit) { q.say("limit: " + l.Name + ": " + l.Rate()) }}
	measured, err := limits.Node(ctx, o, max(1, r.Node.Loops), q.Trial.Producers)
	if err != nil {
		return nil, err
	}
	r.Limits = append(r.Limits, measured.All()...)
	return &measured, nil
}

// clientAlone has the client send to a server that does nothing.
func (q *Quick) clientAlone(ctx context.Context, r *Report) error {
	null, err := limits.StartNull(q.Trial.Partitions)
	if err != nil {
		return err
	}
	defer null.Close()
	t := q.trial(0, q.Duration/alonePart)
	t.Addresses, t.Consumers, t.Dial, t.SASL = []string{null.Address()}, 0, nil, nil
	outcome, err := t.Run(ctx)
	if outcome == nil || err != nil {
		return errors.Join(err, ctx.Err())
	}
	r.ClientAlone = t.Report(outcome, nil)
	q.say(fmt.Sprintf("the client alone: %s records/s", bench.FormatCount(r.ClientAlone.Produced.RecordsPerSecond)))
	return nil
}

// curve looks for the highest rate that holds, and then runs at shares of it.
func (q *Quick) curve(ctx context.Context, r *Report) error {
	capacity := r.Capacity.Run.Produced.RecordsPerSecond
	// a closed loop always has as much out as the open one may have at most: above its rate there is none that holds, however short the window
	s := bench.Search{From: capacity / 2, To: capacity, Precision: searchPrecision, Confirm: 1}
	s.Try = func(ctx context.Context, rate float64) (string, error) {
		if rate < capacity/searchDepth {
			return "", bench.ErrNoRate
		}
		load, err := q.load(ctx, r, q.trial(rate, q.Duration/tryPart))
		if err != nil {
			return "", err
		}
		broken := bench.Held(load.Run, q.Bounds)
		q.say(fmt.Sprintf("%s records/s: %s", bench.FormatCount(rate), or(broken, "holds")))
		if broken != "" {
			r.ClientLimited = load.Run.ClientsFault(r.ClientLimited)
		}
		return broken, nil
	}
	found, err := s.Run(ctx)
	if errors.Is(err, bench.ErrNoRate) {
		r.Failed = fmt.Sprintf("at %s records/s, the lowest that was tried, %s", bench.FormatCount(found.Above), found.Broken)
		if r.ClientLimited {
			r.Verdict, r.Reasons = bench.VerdictInvalid, append(r.Reasons, "no rate holds, for the client was in the way")
		}
		return nil
	}
	if err != nil {
		return err
	}
	r.Found = &found
	for _, part := range shown {
		load, err := q.load(ctx, r, q.trial(found.Rate*part, q.Duration/pointPart))
		if err != nil {
			return err
		}
		if load.Run.Verdict == bench.VerdictPartial {
			return errors.New(load.Run.Error)
		}
		r.Points = append(r.Points, Point{part, load})
		r.judge(fmt.Sprintf("%.0f %% of the rate", part*100), load.Run)
		q.say(fmt.Sprintf("%.0f %% of that: p99 %s", part*100, load.Run.Produced.Latency.Format(load.Run.Produced.Latency.P99Us)))
	}
	return nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (q *Quick) say(what string) {
	if q.Progress != nil {
		q.Progress(what)
	}
}

// trial is the load at a rate for so long. All have requests of the same size, which is that of full ones.
func (q *Quick) trial(rate float64, window time.Duration) bench.Trial {
	t := q.Trial
	t.Client, t.Rate, t.Duration, t.WarmUp = bench.ClientRaw, 0, window, q.Duration/warmUpPart
	t.BatchRecords = t.Config().BatchRecords
	t.Rate, t.Topic = rate, q.Topic()
	return t
}

// load runs a trial and reads what the node used in its window. A run that broke off is a result; an error is that there is none.
func (q *Quick) load(ctx context.Context, r *Report, t bench.Trial) (Load, error) {
	if r.Node.Metrics != "" {
		t.StatusAddresses = []string{r.Node.Metrics}
	}
	var samples []sample // the window's beginning and its end, which is when a trial asks for CPU time
	t.CPU = func() time.Duration {
		samples = append(samples, r.Node.sample(ctx))
		return bench.UsedCPU()
	}
	outcome, err := t.Run(ctx)
	switch {
	case outcome == nil:
		return Load{}, err
	case ctx.Err() != nil:
		return Load{}, ctx.Err()
	}
	l := Load{Run: t.Report(outcome, err)}
	if len(samples) == 2 {
		l.Use = between(samples[0], samples[1])
	}
	return l, nil
}
