package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/page"
)

type benchSweepFlags struct {
	benchLoadFlags
	serveFlags
	bounds, over []string
	to           float64
	precision    float64
	repeats      int
	page         string
	command      string // that repeats it
}

func (a *app) benchSweepCommand() *cobra.Command {
	var f benchSweepFlags
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Find the highest rate that holds a latency, and what settings do to it",
		Long: `With --bound, find the highest rate at which a latency stays below the bound: the rate is doubled from --rate on until it does not, the
interval between is halved, and what was found has to hold --repeats runs. A rate holds if nothing is lost, and the responses of the window's end
are no slower than those of its beginning. A client that was late itself makes responses longer and never shorter: what holds all the same, holds.

With --over, do so for each value of a flag of bench run, and each choice of several. Without --bound each choice is run --repeats times at
--rate, all of them in turn.

loops is a property of the node (ringmill.loops): with --over loops=… the sweep starts nodes itself, as bench tune does, each on a free port of the loopback with
fresh data under --dir.`,
		Example: `  ringmill bench sweep --bound 'p99<10ms'
  ringmill bench sweep --bound 'p99<10ms' --client franz --over linger=0s,1ms,5ms --over codec=none,zstd
  ringmill bench sweep --rate 0 --over size=100,1000,10000 -o json > sizes.json
  ringmill bench sweep --bound 'p99<10ms' --over loops=1,2,4 --dir /var/lib/ringmill-sweep -p 12`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.client.register(cmd)
	f.benchLoadFlags.register(cmd, &a.client)
	f.serveFlags.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.bounds, "bound", nil, "a latency to hold, as p99<10ms, p99.9, e2e-p99 and the like; several must all hold")
	flags.StringArrayVar(&f.over, "over", nil, "a flag of bench run and its values, as linger=0s,1ms,5ms; several make all combinations")
	flags.Float64Var(&f.to, "to", 0, "the highest rate to try; 0: any")
	flags.Float64Var(&f.precision, "precision", 5, "how near the rate is to one that does not hold, in percent")
	flags.IntVar(&f.repeats, "repeats", 3, "runs that the rate has to hold, or of each choice")
	flags.StringSliceVar(&f.trial.StatusAddresses, "node-metrics", nil, "`addresses` of ringmill nodes' metrics (ringmill.http.listen): which stage makes the p99 is told; without it 127.0.0.1:9644, if that is the node's, or that of the nodes which are started")
	completeFlag(cmd, "node-metrics")
	registerReport(cmd, &f.page, "result")
	for _, name := range []string{"bound", "over", "to", "precision", "repeats"} {
		completeFlag(cmd, name)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		points, bounds, err := f.plan(cmd, &a.client)
		if err != nil {
			return err
		}
		f.command = commandLine(cmd, "")
		if !f.startsNodes() {
			f.command = commandLine(cmd, a.client.bootstrap)
			if !cmd.Flags().Changed("node-metrics") {
				f.readMetricsHere(points)
			}
		}
		return a.benchSweep(cmd.Context(), &f, points, bounds)
	}
	return cmd
}

// readMetricsHere has the stages read of the node that there is, if it is found where its metrics are.
func (f *benchSweepFlags) readMetricsHere(points []sweepPoint) {
	found := metricsHere(f.trial.Addresses)
	for i := range points {
		points[i].trial.StatusAddresses = found
	}
}

// sweepPoint is a choice of settings with the trial that it makes.
type sweepPoint struct {
	settings []bench.Setting
	trial    bench.Trial
	// node has the properties of a node that is started for the point; nil: what there is is measured.
	node []bench.Setting
}

// loopsSetting is what may vary of a node that is started for it.
const loopsSetting = "loops"

// startsNodes tells whether a setting of nodes varies.
func (f *benchSweepFlags) startsNodes() bool { return overHas(f.over, loopsSetting) }

// overHas tells whether texts of --over vary a setting.
func overHas(over []string, name string) bool {
	return slices.ContainsFunc(over, func(text string) bool { return strings.HasPrefix(text, name+"=") })
}

// varied tells whether --over, if a command has it, varies a flag.
func varied(flags *pflag.FlagSet, name string) bool {
	over := flags.Lookup("over")
	if over == nil {
		return false
	}
	texts, _ := over.Value.(pflag.SliceValue)
	return texts != nil && overHas(texts.GetSlice(), name)
}

// at has a point's node, if it has one of its own, and what of the trial goes there. It ends with leave.
func (f *benchSweepFlags) at(ctx context.Context, p *sweepPoint) (leave func() error, err error) {
	if p.node == nil {
		return func() error { return nil }, nil
	}
	t, err := f.start(ctx, p.node)
	if err != nil {
		return nil, fmt.Errorf("%s%w", settingsPrefix(p.settings), err)
	}
	p.trial.Addresses, p.trial.PIDs, p.trial.StatusAddresses = t.addresses, []int{t.pid}, []string{t.metrics}
	return t.leave, nil
}

// sweepable are the flags of a load that may vary. The rate is what is looked for.
var sweepable = []string{"acks", "arrival", "batch", "client", "codec", "consumers", "linger", "max-in-flight", "partitions", "producers", "rate", "replication-factor", "size", "topics"}

// plan checks all that was asked for before anything runs.
func (f *benchSweepFlags) plan(cmd *cobra.Command, client *clientFlags) (points []sweepPoint, bounds []bench.Bound, err error) {
	if bounds, err = parseBounds(cmd, f.bounds, f.trial.Consumers); err != nil {
		return nil, nil, err
	}
	switch {
	case len(bounds) > 0 && f.trial.Rate == 0:
		return nil, nil, wrongUse(cmd, "a search with --bound begins at --rate, which must be above 0")
	case len(bounds) == 0 && len(f.over) == 0:
		return nil, nil, wrongUse(cmd, "nothing to sweep: give --bound, --over or both")
	case f.startsNodes() && bootstrapGiven(cmd):
		return nil, nil, wrongUse(cmd, "--over loops: it is a property of a node, set before it starts: nodes are started for this, and what is at --bootstrap cannot be varied")
	case f.startsNodes() && cmd.Flags().Changed("node-metrics"):
		return nil, nil, wrongUse(cmd, "--node-metrics has no place beside --over loops: those of the nodes that are started are read")
	case !f.startsNodes() && f.given():
		return nil, nil, wrongUse(cmd, "--serve and --dir are of nodes that are started, for --over loops=…")
	}
	if err := cmp.Or(bench.Percents.Check("--precision", f.precision), bench.Repeats.Check("--repeats", f.repeats), bench.Rates.Or0().Check("--to", f.to)); err != nil {
		return nil, nil, wrongLoad(cmd, err)
	}
	if err := f.check(cmd); err != nil {
		return nil, nil, err
	}
	points, err = f.choices(cmd, client, f.over, nil)
	return points, bounds, err
}

// parseBounds reads what a rate has to hold, of a load with so many consumers.
func parseBounds(cmd *cobra.Command, texts []string, consumers int) (bounds []bench.Bound, err error) {
	for _, text := range texts {
		b, err := bench.ParseBound(text)
		if err != nil {
			return nil, wrongLoad(cmd, err)
		}
		if strings.HasPrefix(b.Measure.Name, bench.EndToEndPrefix) && consumers == 0 {
			return nil, wrongUse(cmd, "--bound %q: without consumers nothing is measured from end to end", text)
		}
		bounds = append(bounds, b)
	}
	return bounds, nil
}

// choices makes a trial of each combination of the values that are left to choose.
func (f *benchSweepFlags) choices(cmd *cobra.Command, client *clientFlags, over []string, chosen []bench.Setting) ([]sweepPoint, error) {
	if len(over) == 0 {
		defer func(rate float64) { f.trial.Rate = rate }(f.trial.Rate) // a recorded arrival may give its own
		if err := f.complete(cmd, client); err != nil {
			return nil, err
		}
		p := sweepPoint{settings: slices.Clone(chosen), trial: f.trial}
		for _, s := range chosen {
			if s.Name == loopsSetting {
				p.node = append(p.node, bench.Setting{Name: "ringmill.loops", Value: s.Value})
			}
		}
		return []sweepPoint{p}, nil
	}
	name, values, ok := strings.Cut(over[0], "=")
	if !ok || values == "" {
		return nil, wrongUse(cmd, "--over %q: as linger=0s,1ms,5ms", over[0])
	}
	if name == loopsSetting {
		return f.loopChoices(cmd, client, values, over[1:], chosen)
	}
	if !slices.Contains(sweepable, name) || name == "rate" && len(f.bounds) > 0 {
		return nil, wrongUse(cmd, "--over %s: can vary %s, and rate only without --bound", name, strings.Join(append([]string{loopsSetting}, sweepable...), ", "))
	}
	flag := cmd.Flags().Lookup(name)
	before := flag.Value.String()
	defer func(given bool) { flag.Changed = given }(flag.Changed)
	flag.Changed = true // as if it had been given, which the rate of a recorded arrival asks for
	var points []sweepPoint
	for value := range strings.SplitSeq(values, ",") {
		if err := flag.Value.Set(value); err != nil {
			return nil, wrongUse(cmd, "--over %s: %w", name, flagFault(flag, value, err))
		}
		below, err := f.choices(cmd, client, over[1:], append(chosen, bench.Setting{Name: name, Value: value}))
		if err != nil {
			return nil, err
		}
		points = append(points, below...)
	}
	return points, flag.Value.Set(before)
}

// loopChoices are choices of each number of loops.
func (f *benchSweepFlags) loopChoices(cmd *cobra.Command, client *clientFlags, values string, over []string, chosen []bench.Setting) (points []sweepPoint, err error) {
	for value := range strings.SplitSeq(values, ",") {
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return nil, wrongUse(cmd, "--over loops: %q is no number of loops; 0 is one for each processor", value)
		}
		below, err := f.choices(cmd, client, over, append(chosen, bench.Setting{Name: loopsSetting, Value: value}))
		if err != nil {
			return nil, err
		}
		points = append(points, below...)
	}
	return points, nil
}

// benchSweepRehearsed has each point's load done for a moment, at a node of its own if it has one.
func (a *app) benchSweepRehearsed(ctx context.Context, f *benchSweepFlags, points []sweepPoint) error {
	for _, p := range points {
		leave, err := f.at(ctx, &p)
		if err != nil {
			return err
		}
		if err := errors.Join(a.rehearse(ctx, settingsPrefix(p.settings), p.trial), leave()); err != nil {
			return fmt.Errorf("%s%w", settingsPrefix(p.settings), err)
		}
	}
	return nil
}

func (a *app) benchSweep(ctx context.Context, f *benchSweepFlags, points []sweepPoint, bounds []bench.Bound) error {
	s := &bench.Sweep{Schema: bench.SweepSchema, Bounds: f.bounds, Points: make([]bench.SweepPoint, len(points))}
	if s.Bounds == nil {
		s.Bounds = []string{}
	}
	for i, p := range points {
		s.Points[i].Settings, s.Points[i].Runs = p.settings, []*bench.Report{}
	}
	err := a.benchSweepRehearsed(ctx, f, points)
	switch {
	case err != nil:
	case len(bounds) > 0:
		err = a.benchSearches(ctx, f, points, bounds, s)
	default:
		err = a.benchRepeats(ctx, f, points, s)
	}
	if f.page != "" {
		err = errors.Join(err, writeFile(f.page, func(w io.Writer) error { return page.Sweep(w, s, f.command) }))
	}
	err = errors.Join(err, a.print(s, func(w io.Writer) { benchPoints(w, s) }))
	if err != nil {
		return benchFault(err)
	}
	for i := range s.Points {
		switch p := &s.Points[i]; {
		case p.Failed != "":
			return noRate(p.ClientLimited, settingsPrefix(p.Settings), p.Failed)
		case p.ClientLimited:
			return fmt.Errorf("%w: %sthe client was the limit, not the node", errInvalid, settingsPrefix(p.Settings))
		}
	}
	return nil
}

// benchSearches finds the rate of one point after another.
func (a *app) benchSearches(ctx context.Context, f *benchSweepFlags, points []sweepPoint, bounds []bench.Bound, s *bench.Sweep) error {
	for i := range points {
		if err := a.benchSearch(ctx, f, &points[i], bounds, &s.Points[i]); err != nil {
			return err
		}
	}
	return nil
}

// benchSearch finds the rate of a point, at one node if it has one of its own.
func (a *app) benchSearch(ctx context.Context, f *benchSweepFlags, p *sweepPoint, bounds []bench.Bound, point *bench.SweepPoint) (err error) {
	leave, err := f.at(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	search := bench.Search{From: f.trial.Rate, To: f.to, Precision: 1 + f.precision/100, Confirm: f.repeats}
	search.Try = func(ctx context.Context, rate float64) (string, error) {
		p.trial.Rate = rate
		r, err := a.benchPoint(ctx, p, point)
		if err != nil {
			return "", err
		}
		broken := bench.Held(r, bounds)
		if broken != "" {
			fmt.Fprintf(a.stderr, "  does not hold: %s\n", broken)
			point.ClientLimited = r.ClientsFault(point.ClientLimited)
		}
		return broken, nil
	}
	found, err := search.Run(ctx)
	switch {
	case errors.Is(err, bench.ErrNoRate):
		point.Failed = found.Broken
	case err != nil:
		return err
	default:
		point.Found = &found
	}
	return nil
}

// benchRepeats runs all points in turn, so that what changes with time meets each alike.
func (a *app) benchRepeats(ctx context.Context, f *benchSweepFlags, points []sweepPoint, s *bench.Sweep) error {
	for range f.repeats {
		for i := range points {
			p, point := &points[i], &s.Points[i]
			leave, err := f.at(ctx, p)
			if err != nil {
				return err
			}
			r, err := a.benchPoint(ctx, p, point)
			if err = errors.Join(err, leave()); err != nil {
				return err
			}
			if r.Verdict == bench.VerdictPartial {
				return fmt.Errorf("%s%s", settingsPrefix(p.settings), r.Error)
			}
			point.ClientLimited = point.ClientLimited || r.Verdict == bench.VerdictInvalid
		}
	}
	return nil
}

// benchPoint is one run of a point.
func (a *app) benchPoint(ctx context.Context, p *sweepPoint, point *bench.SweepPoint) (*bench.Report, error) {
	r, err := benchOnce(ctx, p.trial)
	if err != nil {
		return nil, err
	}
	point.Runs = append(point.Runs, r)
	fmt.Fprintf(a.stderr, "%s%s\n", settingsPrefix(p.settings), benchLine(r))
	return r, nil
}

// settingsPrefix is what a line about a point begins with.
func settingsPrefix(settings []bench.Setting) string {
	if len(settings) == 0 {
		return ""
	}
	return bench.NameSettings(settings) + ": "
}

func benchPoints(w io.Writer, s *bench.Sweep) {
	shown := slices.DeleteFunc(slices.Clone(bench.Measures), func(m bench.Measure) bool { return m.Name == "p90" || m.Name == "e2e-p90" })
	var headings []string
	for _, set := range s.Points[0].Settings {
		headings = append(headings, strings.ToUpper(set.Name))
	}
	if len(s.Bounds) > 0 {
		headings = append(headings, "HOLDS")
	}
	for _, m := range shown {
		headings = append(headings, strings.ToUpper(m.Name))
	}
	if len(s.Bounds) > 0 {
		headings = append(headings, "ABOVE IT")
	}
	staged := slices.ContainsFunc(s.Points, func(p bench.SweepPoint) bool { return bench.P99Stage(p.Shown(), "Produce") != "" })
	if staged {
		headings = append(headings, "PRODUCE'S P99 BY")
	}
	var rows [][]string
	for i := range s.Points {
		row := benchPointRow(&s.Points[i], shown, len(s.Bounds) > 0)
		if stage := bench.P99Stage(s.Points[i].Shown(), "Produce"); staged && len(row) == len(headings)-1 {
			row = append(row, cmp.Or(stage, "-"))
		}
		rows = append(rows, row)
	}
	table(w, headings, rows)
	fmt.Fprintln(w, "medians; latencies in ms, from the instants at which records were due")
}

func benchPointRow(p *bench.SweepPoint, shown []bench.Measure, searched bool) (row []string) {
	for _, set := range p.Settings {
		row = append(row, set.Value)
	}
	runs := p.Shown()
	if searched && p.Found == nil {
		return append(row, "no rate: "+cmp.Or(p.Failed, "it broke off"))
	}
	if searched {
		row = append(row, figure(p.Found.Rate)+"/s")
	}
	for _, m := range shown {
		value := "-"
		if v, has := m.Median(runs); has {
			value = figure(v)
		}
		row = append(row, value)
	}
	switch {
	case searched && p.Found.Above > 0:
		row = append(row, figure(p.Found.Above)+"/s: "+p.Found.Broken)
	case searched:
		row = append(row, "not tried: --to")
	}
	return row
}
