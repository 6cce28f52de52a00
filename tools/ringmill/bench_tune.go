package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/tune"
	"github.com/ringmill/ringmill/node/config"
)

type benchTuneFlags struct {
	benchLoadFlags
	serveFlags
	bounds, over  []string
	running       bool
	to, precision float64
	pairs, passes int
	result        string
}

func (a *app) benchTuneCommand() *cobra.Command {
	var f benchTuneFlags
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Look for properties of a node with which it holds a higher rate",
		Long: `Start nodes with one choice of properties after another, each on a free port of the loopback with fresh data under --dir, and find the highest rate
that holds the bound with each, as bench sweep does. First the properties as they are are measured four times: what these differ by is noise, and a gain below
it is none. Then the values of each property compete with what is set, and what gains is kept; the search ends when a pass over all properties gains nothing.

With --running, the node at --bootstrap is tuned, by properties that may be altered while it runs, cluster-wide. They are put back in the end, whatever happens.

Nothing is set for good: the properties are printed, with what each bought.`,
		Example: `  ringmill bench tune --dir /var/lib/ringmill-tune --bound 'p99<10ms'
  ringmill bench tune --dir /mnt/disk --serve ./ringmill --over ringmill.loops=0,1,2
  ringmill bench tune --running --over log.segment.bytes=1073741824,268435456`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.client.register(cmd)
	f.benchLoadFlags.register(cmd, &a.client)
	f.serveFlags.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.bounds, "bound", []string{"p99<25ms"}, "a latency to hold, as p99<10ms, p99.9, e2e-p99 and the like; several must all hold")
	flags.StringArrayVar(&f.over, "over", nil, "a property and its values, as ringmill.loops=0,1,2, the first one as it is; may be repeated. Without: those that are known to matter")
	flags.BoolVar(&f.running, "running", false, "tune the node at --bootstrap, and put back what it had")
	flags.Float64Var(&f.to, "to", 0, "the highest rate to try; 0: any")
	flags.Float64Var(&f.precision, "precision", 3, "how near a rate is to one that does not hold, in percent")
	flags.IntVar(&f.pairs, "pairs", 3, "how often a value that is kept has been held against what was set")
	flags.IntVar(&f.passes, "passes", 3, "the most passes over all properties")
	registerResult(cmd, &f.result)
	for _, name := range []string{"bound", "to", "precision", "pairs", "passes"} {
		completeFlag(cmd, name)
	}
	completeFlag(cmd, "over", propertyNames(func(p config.Property) bool { return p.In(config.BrokerScope) && p.Effective() })...)
	changeDefault(cmd, "duration", "3s")
	changeDefault(cmd, "warm-up", "500ms")
	changeDefault(cmd, "rate", "20000")
	changeDefault(cmd, "partitions", "6")
	changeDefault(cmd, "producers", "2")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		bounds, space, err := f.plan(cmd, &a.client)
		if err != nil {
			return err
		}
		nodes := "" // those that it starts
		if f.running {
			nodes = a.client.bootstrap
		}
		return a.benchTune(cmd.Context(), &f, bounds, space, commandLine(cmd, nodes))
	}
	return cmd
}

// changeDefault gives a flag another default.
func changeDefault(cmd *cobra.Command, name, value string) {
	flag := cmd.Flags().Lookup(name)
	if err := flag.Value.Set(value); err != nil {
		panic("BUG: " + err.Error())
	}
	flag.DefValue = value
}

// plan checks all that was asked for before anything runs.
func (f *benchTuneFlags) plan(cmd *cobra.Command, client *clientFlags) (bounds []bench.Bound, space []tune.Property, err error) {
	if err := f.complete(cmd, client); err != nil {
		return nil, nil, err
	}
	if bounds, err = parseBounds(cmd, f.bounds, f.trial.Consumers); err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(bench.Percents.Check("--precision", f.precision), bench.Rates.Or0().Check("--to", f.to), bench.Repeats.Check("--pairs", f.pairs), bench.Repeats.Check("--passes", f.passes)); err != nil {
		return nil, nil, wrongLoad(cmd, err)
	}
	switch {
	case len(bounds) == 0 || f.trial.Rate == 0:
		return nil, nil, wrongUse(cmd, "a search needs --bound, and begins at --rate, which must be above 0")
	case f.running && f.given():
		return nil, nil, wrongUse(cmd, "--running starts no node: --serve and --dir have no place beside it")
	case !f.running && bootstrapGiven(cmd):
		return nil, nil, wrongUse(cmd, "nodes are started for this: --bootstrap has no place here without --running")
	}
	if err := f.check(cmd); err != nil {
		return nil, nil, err
	}
	space, err = f.space(cmd)
	return bounds, space, err
}

// space is what is to be tried.
func (f *benchTuneFlags) space(cmd *cobra.Command) (space []tune.Property, err error) {
	for _, text := range f.over {
		name, values, _ := strings.Cut(text, "=")
		p := tune.Property{Name: name, Values: strings.Split(values, ",")}
		if len(p.Values) < 2 || slices.Contains(p.Values, "") {
			return nil, wrongUse(cmd, "--over %q: as ringmill.loops=0,1,2, at least two values, the first one as it is", text)
		}
		space = append(space, p)
	}
	if len(space) == 0 {
		space = tunable(runtime.NumCPU())
	}
	for _, p := range space {
		known, has := config.LookupBroker(p.Name)
		if !has || !known.In(config.BrokerScope) || !known.Effective() {
			return nil, wrongUse(cmd, "--over %s: no property of a node that has an effect", p.Name)
		}
	}
	if f.running {
		space = slices.DeleteFunc(space, func(p tune.Property) bool { return len(f.over) == 0 && !dynamic(p) })
		for _, p := range space {
			if !dynamic(p) {
				return nil, wrongUse(cmd, "--over %s: can only be set before a node starts", p.Name)
			}
		}
	}
	return space, nil
}

// dynamic tells whether a property may be altered for all nodes while they run.
func dynamic(p tune.Property) bool {
	known, _ := config.LookupBroker(p.Name)
	return known.Update == config.ClusterWide
}

// tunable are the properties that are known to matter, with values that may do better than their defaults, which come first.
func tunable(processors int) []tune.Property {
	loops := []string{"0"} // which is as many as there are processors
	for _, n := range []int{1, processors / 2, processors - 1} {
		if text := strconv.Itoa(n); n > 0 && n < processors && !slices.Contains(loops, text) {
			loops = append(loops, text)
		}
	}
	return []tune.Property{
		{Name: "ringmill.loops", Values: loops},
		{Name: "ringmill.engine", Values: []string{"auto", "epoll"}},
		{Name: "ringmill.loop.spin.us", Values: []string{"0", "20", "100"}},
		{Name: "ringmill.append.path", Values: []string{"auto", "inline", "ring"}},
		{Name: "ringmill.journal.bytes", Values: []string{"67108864", "8388608", "4194304"}},
		{Name: "ringmill.flush.commit.delay.us", Values: []string{"0", "200", "1000"}},
		{Name: "ringmill.journal.run.bytes.max", Values: []string{"524288", "65536", "4194304"}},
		{Name: "ringmill.append.inline.bytes.max", Values: []string{"262144", "65536", "1048576"}},
		{Name: "ringmill.fetch.readahead.bytes", Values: []string{"0", "4194304", "16777216"}},
		{Name: "socket.send.buffer.bytes", Values: []string{"102400", "1048576", "-1"}},
		{Name: "log.segment.bytes", Values: []string{"1073741824", "268435456"}},
	}
}

// target is a node with some settings, until it is left. metrics, an URL, is empty and pid is 0 if they are not known.
type target struct {
	addresses []string
	metrics   string
	pid       int
	leave     func() error
}

func (a *app) benchTune(ctx context.Context, f *benchTuneFlags, bounds []bench.Bound, space []tune.Property, command string) error {
	with, try := f.start, f.try
	if f.running {
		live, err := a.tuneRunning(ctx, space)
		if err != nil {
			return benchFault(err)
		}
		defer live.close()
		with, try = live.with, live.validate
	}
	t := &tuner{load: &f.benchLoadFlags, bounds: bounds, to: f.to, precision: 1 + f.precision/100, from: f.trial.Rate, with: with}
	s := tune.Search{Space: space, Measure: t.measure, AA: 4, Pairs: f.pairs, Passes: f.passes, Progress: func(what string) { fmt.Fprintln(a.stderr, what) }}
	s.Rehearse = func(ctx context.Context) error { return a.benchTuneRehearsed(ctx, t, space, try) }
	r, err := s.Run(ctx)
	if errors.Is(err, tune.ErrNoBaseline) && t.doubt != "" {
		err = fmt.Errorf("%w: %s", errInvalid, t.doubt)
	}
	err = t.told(err)
	r.Command = command
	for _, b := range bounds {
		r.Bounds = append(r.Bounds, b.String())
	}
	if f.result != "" {
		err = errors.Join(err, writeResult(f.result, r))
	}
	if failed := a.print(r, func(w io.Writer) { benchTuned(w, r, f.to) }); failed != nil {
		return failed
	}
	return benchFault(err)
}

// tuner measures what a node does with some settings.
type tuner struct {
	load      *benchLoadFlags
	bounds    []bench.Bound
	to        float64
	precision float64
	doubt     string  // why no rate held where that was the client's fault, and not the node's
	left      []error // what runs say that left a topic behind
	from      float64 // where the next search begins: near where the last one ended, and not below the load's rate
	with      func(ctx context.Context, settings []bench.Setting) (target, error)
}

// benchTuneRehearsed has the load done for a moment with the properties as they are, and tries each value that the search will.
func (a *app) benchTuneRehearsed(ctx context.Context, t *tuner, space []tune.Property, try func(context.Context, []bench.Setting) error) error {
	at, err := t.with(ctx, nil)
	if err != nil {
		return err
	}
	trial := t.load.trial
	trial.Addresses = at.addresses
	if err := errors.Join(a.rehearse(ctx, "", trial), at.leave()); err != nil {
		return err
	}
	return tryValues(ctx, space, try)
}

// tryValues tries one value of each property at once, as a node takes a while to start: the second ones, then the third ones, and so on. Where these are refused,
// each by itself tells which is, or that it was for being together, which the search may never come to.
func tryValues(ctx context.Context, space []tune.Property, try func(context.Context, []bench.Setting) error) error {
	for n := 1; ; n++ {
		var together []bench.Setting
		for _, p := range space {
			if n < len(p.Values) {
				together = append(together, bench.Setting{Name: p.Name, Value: p.Values[n]})
			}
		}
		if len(together) == 0 {
			return nil
		}
		if try(ctx, together) == nil {
			continue
		}
		for _, s := range together {
			if err := try(ctx, []bench.Setting{s}); err != nil {
				return fmt.Errorf("%s=%s: %w", s.Name, s.Value, err)
			}
		}
	}
}

// tuneCPULeast is how much CPU time, in seconds, is more than the hundredths that it is counted in.
const tuneCPULeast = 0.2

// tuneDepth is the part of the load's rate below which no rate is looked for.
const tuneDepth = 16

// measure finds the highest rate that holds with some settings; a Score of 0 if none does.
func (t *tuner) measure(ctx context.Context, settings []bench.Setting) (score tune.Score, err error) {
	at, err := t.with(ctx, settings)
	if err != nil {
		return tune.Score{}, err
	}
	defer func() { err = errors.Join(err, at.leave()) }()
	t.doubt = ""
	scores := map[float64]tune.Score{} // of the rates that were tried
	search := bench.Search{From: t.from, To: t.to, Precision: t.precision, Confirm: 1}
	search.Try = func(ctx context.Context, rate float64) (string, error) {
		score, broken, err := t.try(ctx, at, rate)
		scores[rate] = score
		return broken, err
	}
	found, err := search.Run(ctx)
	if errors.Is(err, bench.ErrNoRate) {
		return tune.Score{}, nil
	}
	if err != nil {
		return tune.Score{}, err
	}
	t.from = max(t.load.trial.Rate, found.Rate*0.8)
	return scores[found.Rate], nil
}

// try runs at a rate; broken is why it does not hold.
func (t *tuner) try(ctx context.Context, at target, rate float64) (score tune.Score, broken string, err error) {
	trial := t.load.trial
	if rate < trial.Rate/tuneDepth {
		return score, "", bench.ErrNoRate
	}
	trial.Rate, trial.Addresses = rate, at.addresses
	var used []bench.Usage // at both ends of the window, which is when a trial asks for CPU time
	trial.CPU = func() time.Duration {
		if u, err := bench.ReadUsage(at.pid); at.pid != 0 && err == nil {
			used = append(used, u)
		}
		return bench.UsedCPU()
	}
	report, err := benchEnded(ctx, trial)
	if report == nil {
		return score, "", err
	}
	if errors.Is(err, bench.ErrLeftBehind) {
		t.left = append(t.left, err)
	}
	broken = bench.Held(report, t.bounds)
	if report.ClientsFault(false) {
		t.doubt = broken
	}
	score = tune.Score{Rate: rate, P99Us: report.Produced.Latency.P99Us}
	if len(used) == 2 && report.Produced.Bytes > 0 {
		if cpu := used[1].Since(used[0]).CPU().Seconds(); cpu >= tuneCPULeast {
			score.CPUSecondsPerGB = cpu * 1e9 / float64(report.Produced.Bytes)
		}
	}
	return score, broken, nil
}

// told is the error of a search with those of its runs that somebody has to clean up after: a rate that does not hold is no error of a search, and what such
// a run says would be lost.
func (t *tuner) told(err error) error { return errors.Join(append([]error{err}, t.left...)...) }

// tunedP99 is the p99 at the rate that holds, if one does.
func tunedP99(s tune.Score) string {
	if s.Rate <= 0 {
		return "-"
	}
	return bench.FormatLatency(s.P99Us)
}

// benchTuned is the result for people.
func benchTuned(w io.Writer, r *tune.Result, to float64) {
	if r.Baseline.Rate > 0 {
		fmt.Fprintf(w, "as it is: %s; the same again differs by up to %s\n", r.Baseline, percentage(r.Noise))
	}
	var rows [][]string
	for _, s := range r.Steps {
		verdict := "-"
		if s.Kept {
			verdict = "kept"
		}
		cpu := "-"
		if s.Before.CPUSecondsPerGB > 0 && s.After.CPUSecondsPerGB > 0 {
			cpu = fmt.Sprintf("%.2f to %.2f s", s.Before.CPUSecondsPerGB, s.After.CPUSecondsPerGB)
		}
		rows = append(rows, []string{s.Name, s.Instead + " to " + s.Value, fmt.Sprintf("%.3f", s.Ratio), strconv.Itoa(s.Pairs), fmt.Sprintf("%s to %s", bench.FormatCount(s.Before.Rate), bench.FormatCount(s.After.Rate)),
			fmt.Sprintf("%s to %s", tunedP99(s.Before), tunedP99(s.After)), cpu, verdict})
	}
	if len(rows) > 0 {
		table(w, []string{"PROPERTY", "FROM", "RATE BY", "PAIRS", "RECORDS/S", "P99 AT IT", "CPU A GB", ""}, rows)
	}
	switch {
	case r.Error != "":
		fmt.Fprintf(w, "BROKE OFF: %s\n", r.Error)
	case to > 0 && r.Baseline.Rate >= to:
		fmt.Fprintf(w, "the properties as they are hold --to, %s records/s: nothing could be seen to hold more\n", bench.FormatCount(to))
	case len(r.Set) == 0:
		fmt.Fprintln(w, "nothing gains more than the noise: leave the properties as they are")
	}
	if len(r.Set) == 0 {
		return
	}
	fmt.Fprintf(w, "with these: %s\n", r.Best)
	for _, s := range r.Set {
		fmt.Fprintf(w, "%s=%s\n", s.Name, s.Value)
	}
}
