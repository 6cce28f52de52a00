package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/omb"
	"github.com/ringmill/ringmill/bench/page"
)

// benchLoadFlags are those of every command that puts load on: all that says what a trial is.
type benchLoadFlags struct {
	trial        bench.Trial
	client, acks string
	size         string

	topicProperties, producerProperties, consumerProperties []string
}

type benchRunFlags struct {
	benchLoadFlags
	omb         ombFlags
	result, log string
	page        string
	command     string // that repeats the run
	dryRun      bool
	backlog     bench.Backlog
}

func (a *app) benchRunCommand() *cobra.Command {
	var f benchRunFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Produce and consume at a rate, and say how long users wait",
		Long: `Produce at a rate that does not depend on answers, consume what was produced, and count each latency from the instant at which
the record was due. The topic is made for the run and removed after it, also after ^C and errors.

A run whose generator was too late itself, or used most of its processors, or lost records is invalid: exit status 3. One that
broke off prints what there was until then as partial: exit status 1.`,
		Example: `  ringmill bench run                                              1,000 records/s for 10 s on 127.0.0.1:9092
  ringmill bench run --rate 50000 --size 1024 --partitions 8 --producers 2
  ringmill bench run --rate 0 --consumers 0                       capacity: as many as are acknowledged
  ringmill bench run --client franz --linger 5ms --codec zstd     what an application sees
  ringmill bench run --size @access.log --keys 10000 --client franz
  ringmill bench run --report run.html                            a page with plots, one file
  ringmill bench run --workload workload.yaml --driver kafka.yaml --omb-json result.json
  ringmill bench run --node-metrics 127.0.0.1:9644 --pid 4711     where the node's time went, and what it used
  ringmill bench run -o json --hlog run.hlog > run.json`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.client.register(cmd)
	f.register(cmd, &a.client)
	flags := cmd.Flags()
	registerResult(cmd, &f.result)
	registerOutput(cmd, &f.log, "hlog", "a `file` to write each second's histograms to, in HdrHistogram's log format")
	registerReport(cmd, &f.page, "result")
	f.omb.register(cmd)
	flags.StringSliceVar(&f.trial.StatusAddresses, "node-metrics", nil, "`addresses` of ringmill nodes' metrics (ringmill.http.listen): which stage makes the p99 is told")
	flags.IntSliceVar(&f.trial.PIDs, "pid", nil, "`processes` of this host, whose CPU, switches, memory and disk traffic are told; else those that listen at --bootstrap here")
	flags.Var(byteCount[int64]{&f.backlog.Bytes}, "backlog", "bytes of values, as 500MB or 1GiB, that consumers leave behind at the window's beginning, and then read, before --duration counts; 0: none")
	flags.Float64Var(&f.backlog.Drained, "backlog-drained", 1, "the part of --backlog that has to be read, from 0 to 1")
	completeFlag(cmd, "backlog")
	completeFlag(cmd, "backlog-drained")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and do nothing")
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := before(cmd, args); err != nil {
			return err
		}
		return a.readOMB(cmd, &f)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.backlog.Bytes != 0 {
			f.trial.Backlog = &f.backlog
		}
		if err := f.complete(cmd, &a.client); err != nil {
			return err
		}
		f.command = commandLine(cmd, a.client.bootstrap)
		if !cmd.Flags().Changed("pid") {
			f.trial.PIDs = listenersHere(f.trial.Addresses)
		}
		if f.dryRun {
			return a.benchPlan(&f)
		}
		return a.benchRun(cmd.Context(), &f)
	}
	return cmd
}

func (f *benchLoadFlags) register(cmd *cobra.Command, client *clientFlags) {
	flags, t := cmd.Flags(), &f.trial
	registerBootstrapServer(cmd, client)
	flags.DurationVarP(&t.Duration, "duration", "d", 10*time.Second, "how long is measured")
	flags.DurationVar(&t.WarmUp, "warm-up", 2*time.Second, "how long before that is left out")
	flags.Float64VarP(&t.Rate, "rate", "r", 1000, "records a second of all producers together; 0: as many as are acknowledged, a closed loop")
	flags.IntVar(&t.Topics, "topics", 1, "topics")
	flags.IntVar(&t.Producers, "producers", 1, "producers of each topic")
	flags.IntVar(&t.Subscriptions, "subscriptions", 1, "how often each record is consumed, by other consumers each time")
	flags.IntVar(&t.Consumers, "consumers", 1, "consumers of each subscription to a topic; 0: none")
	flags.IntVarP(&t.Partitions, "partitions", "p", 1, "partitions of each topic")
	flags.IntVar(&t.ReplicationFactor, "replication-factor", -1, "replicas of each partition; -1: the cluster's default")
	flags.StringVarP(&f.size, "size", "s", "100", "bytes of a record's value: 100, 1KiB, 100-2000, 100:9,10000:1 (with weights), lognormal:MEDIAN,P99, @FILE for a file's lines, payload:FILE for a whole file, or pool:BYTES,RANDOM PART,COUNT")
	flags.IntVar(&t.Keys, "keys", 0, "how many different keys records have; 0: records without keys")
	flags.StringVar(&t.KeyChoice, "key-choice", bench.KeysUniform, "which key comes next: uniform, all equally likely; in-turn, one after the other; zipf:EXPONENT, some far more often")
	flags.StringVar(&t.Arrival, "arrival", "uniform", "how records come: uniform, evenly; poisson, as from many users; burst:N, N of each producer at once; trace:FILE, as recorded, one instant a line, at the recorded rate without --rate")
	flags.Uint64Var(&t.Seed, "seed", 0, "what random gaps, keys and values begin with: the same seed makes the same load")
	flags.IntVar(&t.BatchRecords, "batch", 0, "records of a raw request; 0: as few as make 1,000 requests a second of each producer")
	flags.IntVar(&t.MaxInFlight, "max-in-flight", 5, "requests out on a raw connection")
	f.registerAcks(cmd)
	flags.DurationVar(&t.Linger, "linger", 0, "how long franz waits for more records before it sends")
	flags.IntVar(&t.TransactionRecords, "transactions", 0, "records of a franz producer that make a transaction; 0: no transactions")
	flags.StringVar(&t.Codec, "codec", "none", "how franz compresses: none, gzip, snappy, lz4 or zstd")
	flags.StringArrayVar(&f.topicProperties, "topic-property", nil, "a property of the topics, as min.insync.replicas=2; as often as there are some")
	flags.StringArrayVar(&f.producerProperties, "producer-property", nil, "a property of franz's producers by its name in Kafka's own clients, as batch.size=131072")
	flags.StringArrayVar(&f.consumerProperties, "consumer-property", nil, "the same of its consumers, as max.partition.fetch.bytes=10485760")
	flags.StringVar(&f.client, "client", "raw", "raw: batches built before the run, which cost next to nothing; franz: a client library, as an application has")
	for _, name := range []string{"topics", "subscriptions", "topic-property", "duration", "warm-up", "rate", "producers", "consumers", "partitions", "replication-factor", "size", "keys", "batch", "max-in-flight", "linger", "transactions", "seed"} {
		completeFlag(cmd, name)
	}
	completeFlag(cmd, "codec", "none", "gzip", "snappy", "lz4", "zstd")
	completeFlag(cmd, "key-choice", bench.KeysUniform, bench.KeysInTurn, "zipf:0.99")
	completeFlag(cmd, "arrival", "uniform", "poisson", "burst:100", "trace:FILE")
	completeFlag(cmd, "producer-property", bench.ProducerPropertyNames()...)
	completeFlag(cmd, "consumer-property", bench.ConsumerPropertyNames()...)
	completeFlag(cmd, "client", "raw\tthe node's limits", "franz\twhat an application sees")
}

func (f *benchLoadFlags) registerAcks(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.acks, "acks", "all", "who must have a record before it is acknowledged: all in-sync replicas, 1 (the leader)")
	completeFlag(cmd, "acks", "all\tevery in-sync replica", "1\tthe leader")
}

// complete turns the flags into a trial.
func (f *benchLoadFlags) complete(cmd *cobra.Command, client *clientFlags) error {
	t := &f.trial
	switch f.acks {
	case "all", "-1":
		t.Acks = -1
	case "1":
		t.Acks = 1
	default:
		return wrongUse(cmd, "--acks %q: must be all or 1: without answers nothing can be measured", f.acks)
	}
	values, err := bench.ParseValues(f.size)
	if err != nil {
		return wrongLoad(cmd, fmt.Errorf("--size: %w", err))
	}
	if t.RecordBytes = values.MeanBytes(); !values.Fixed() {
		t.Values = values
	}
	for _, of := range []struct {
		flag  string
		given []string
		into  *map[string]string
	}{{"topic-property", f.topicProperties, &t.TopicProperties}, {"producer-property", f.producerProperties, &t.ProducerProperties}, {"consumer-property", f.consumerProperties, &t.ConsumerProperties}} {
		if *of.into, err = propertiesGiven(of.given); err != nil {
			return wrongUse(cmd, "--%s %s", of.flag, err)
		}
	}
	if t.Dial, t.SASL, err = client.access.forBench(cmd); err != nil {
		return err
	}
	arrival, err := bench.ParseArrival(t.Arrival)
	if err != nil {
		return wrongLoad(cmd, err)
	}
	if own := arrival.Rate(); own > 0 && !cmd.Flags().Changed("rate") {
		t.Rate = own
	}
	t.Client, t.Patience = bench.ClientKind(f.client), client.timeout
	t.Addresses = strings.Split(client.bootstrap, ",")
	t.Topic = benchTopic()
	if err := t.Check(); err != nil {
		return wrongLoad(cmd, err)
	}
	return nil
}

// propertiesGiven are NAME=VALUE.
func propertiesGiven(given []string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q: as NAME=VALUE", text)
		}
		all[name] = value
	}
	return all, nil
}

// benchTopic is a name that no other run's topic has.
func benchTopic() string { return "ringmill-bench-" + strings.ToLower(rand.Text()[:13]) }

// benchOnce is one of several runs of a command, on a topic of its own. The error says why there is no result at all, or that the user
// has had enough; a run that broke off is partial.
func benchOnce(ctx context.Context, t bench.Trial) (*bench.Report, error) {
	r, err := benchEnded(ctx, t)
	if r == nil {
		return nil, err
	}
	return r, nil
}

// benchEnded is benchOnce with the error of a run that broke off or left its topic behind, too.
func benchEnded(ctx context.Context, t bench.Trial) (*bench.Report, error) {
	r, err := benchTried(ctx, t)
	switch {
	case r == nil, ctx.Err() != nil && errors.Is(err, bench.ErrLeftBehind):
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return r, err
}

// benchTried is benchEnded with the result of a run that was interrupted, too.
func benchTried(ctx context.Context, t bench.Trial) (*bench.Report, error) {
	t.Topic = benchTopic()
	outcome, err := t.Run(ctx)
	if outcome == nil {
		return nil, err
	}
	return t.Report(outcome, err), err
}

// rehearse has a trial done for a moment, on a topic of its own, before several runs are begun: what stands in the way of one is not to be found out after others.
//
// What could not be read beside it is told on standard error, after who it is about: all runs would lack it.
func (a *app) rehearse(ctx context.Context, who string, t bench.Trial) error {
	t.Topic = benchTopic()
	missing, err := t.Rehearse(ctx)
	for _, what := range missing {
		fmt.Fprintf(a.stderr, "%snot read: %s\n", who, what)
	}
	return err
}

func (a *app) benchRun(ctx context.Context, f *benchRunFlags) error {
	logged := func() error { return nil }
	if f.log != "" {
		file, err := createOutput(f.log)
		if err != nil {
			return err
		}
		defer file.leave()
		f.trial.Log, logged = file, func() error { return file.commit(nil) }
	}
	var limited error
	if f.omb.search {
		found, last, err := a.benchFindRate(ctx, f.trial)
		if limited = err; err != nil && (!errors.Is(err, errInvalid) || found.Rate == 0) {
			if last != nil && last.report.Verdict == bench.VerdictPartial {
				err = errors.Join(err, a.benchTold(f, last.report, last.periods))
			}
			return benchFault(err)
		}
		f.trial.Rate = found.Rate
		f.command += fmt.Sprintf(" --rate %v", found.Rate)
	}
	periods := omb.NewPeriods(&f.trial)
	if f.omb.result != "" {
		f.trial.Progress = periods.Add
	}
	outcome, err := a.benchShown(ctx, &f.trial)
	if outcome == nil {
		return benchFault(err)
	}
	report := f.trial.Report(outcome, err)
	err = errors.Join(err, logged(), a.benchTold(f, report, periods))
	if err == nil && report.Verdict == bench.VerdictInvalid {
		return fmt.Errorf("%w: %s", errInvalid, strings.Join(report.Reasons, "; "))
	}
	if err == nil {
		return limited
	}
	return benchFault(err)
}

// benchTold writes a result to where it is asked for, and prints it.
func (a *app) benchTold(f *benchRunFlags, report *bench.Report, periods *omb.Periods) error {
	report.Command = f.command
	return errors.Join(f.write(report, periods), a.print(report, func(w io.Writer) { benchSummary(w, report) }))
}

// write puts a result into the files that were named.
func (f *benchRunFlags) write(report *bench.Report, periods *omb.Periods) (err error) {
	if f.omb.result != "" {
		err = errors.Join(err, f.omb.write(periods, report))
	}
	if f.result != "" {
		err = errors.Join(err, writeResult(f.result, report))
	}
	if f.page != "" {
		err = errors.Join(err, writeFile(f.page, func(w io.Writer) error { return page.Run(w, report) }))
	}
	return err
}

// benchShown runs a trial and shows it on standard error while it runs: painted over itself on a terminal, or a line each second. Programs
// that want JSON are shown nothing.
func (a *app) benchShown(ctx context.Context, t *bench.Trial) (*bench.Outcome, error) {
	if a.output == outputJSON {
		return t.Run(ctx)
	}
	var v view = lines{a.stderr}
	if on, yes := terminalOf(a.stderr); yes {
		v = newScreen(t, on)
	}
	l := startLive(v)
	defer l.end()
	shown := *t
	shown.Progress = func(s bench.Second) {
		if t.Progress != nil {
			t.Progress(s)
		}
		l.progress(s)
	}
	return shown.Run(ctx)
}

// benchFault leaves the package's name out of what people read.
func benchFault(err error) error {
	if err == nil || errors.Is(err, errInvalid) {
		return err
	}
	return &shownError{strings.NewReplacer("bench: ", "", context.Canceled.Error(), "interrupted").Replace(err.Error()), err}
}

// shownError is an error in other words.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }
func (e *shownError) Unwrap() error { return e.err }

// benchSummary is the result for people.
func benchSummary(w io.Writer, r *bench.Report) {
	latency := "response"
	if r.Loop == "closed" {
		latency = "request (closed loop)"
	}
	benchStream(w, "produced", &r.Produced)
	var rows [][]string
	add := func(name string, f bench.LatencyFigure) {
		row := []string{name}
		for _, us := range []float64{f.MeanUs, f.P50Us, f.P90Us, f.P99Us, f.P999Us, f.MaxUs} {
			cell := "-"
			if f.Count > 0 {
				cell = fmt.Sprintf("%.2f", us/1e3)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	add(latency, r.Produced.Latency)
	if r.Consumed != nil {
		benchStream(w, "consumed", r.Consumed)
		add("end to end", r.Consumed.Latency)
	}
	if r.Loop == "open" {
		add("from sending", r.Service)
		add("generator late", r.Lag)
	}
	table(w, []string{"MS", "MEAN", "P50", "P90", "P99", "P99.9", "MAX"}, rows)
	if r.Backlog != nil {
		fmt.Fprintln(w, r.Backlog.Reading())
	}
	benchClient(w, &r.Client)
	benchProcesses(w, r.Processes)
	benchDevices(w, r.Devices)
	benchStages(w, r.Stages)
	for _, missing := range r.Missing {
		fmt.Fprintln(w, "not read: "+missing)
	}
	switch r.Verdict {
	case bench.VerdictPartial:
		fmt.Fprintf(w, "PARTIAL: the run broke off after %.1f of %.1f s\n", r.ElapsedSeconds, r.WindowSeconds)
	case bench.VerdictInvalid:
		fmt.Fprintf(w, "INVALID: %s\n", strings.Join(r.Reasons, "; "))
	}
}

func benchStream(w io.Writer, what string, s *bench.ReportStream) {
	fmt.Fprintf(w, "%s %d records, %.0f records/s, %.2f MB/s, %d errors\n", what, s.Records, s.RecordsPerSecond, s.BytesPerSecond/1e6, s.Errors)
}
