package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/page"
	"github.com/ringmill/ringmill/bench/quick"
)

type benchQuickFlags struct {
	load         benchLoadFlags
	quick        quick.Quick
	bounds       []string
	result, page string
}

func (a *app) benchQuickCommand() *cobra.Command {
	var f benchQuickFlags
	cmd := &cobra.Command{
		Use:   "quick",
		Short: "Say in a minute and a half what a node can do here, and what holds it up",
		Long: `Measure what this machine's disk, loopback and client allow; put as much load on the node as it acknowledges; find the highest rate at which
the latency stays below the bound; and run at 50, 80 and 95 % of that rate. The sentence at the end names the limit that was nearest, as a share of
what was measured, and says so if none was near. Disk and processors are only held against a node on this machine.

Each run has a topic of its own, which is removed. Batches are full ones throughout; bench run and bench sweep measure other loads.`,
		Example: `  ringmill bench quick --dir /var/lib/ringmill
  ringmill bench quick --duration 20s --bound 'p99<5ms' --size 1024 --report quick.html`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.client.register(cmd)
	f.register(cmd, &a.client)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.complete(cmd, &a.client); err != nil {
			return err
		}
		return a.benchQuick(cmd.Context(), &f, commandLine(cmd, a.client.bootstrap))
	}
	return cmd
}

func (f *benchQuickFlags) register(cmd *cobra.Command, client *clientFlags) {
	flags, t := cmd.Flags(), &f.load.trial
	registerBootstrapServer(cmd, client)
	flags.DurationVarP(&f.quick.Duration, "duration", "d", 90*time.Second, "about how long all of it takes")
	flags.StringArrayVar(&f.bounds, "bound", []string{"p99<25ms"}, "a latency that a rate has to hold, as p99<10ms, p99.9, e2e-p99 and the like; several must all hold")
	flags.StringVar(&f.quick.Dir, "dir", os.TempDir(), "a `directory` on the node's disk, where the disk is measured")
	flags.StringVar(&f.quick.Metrics, "metrics", "127.0.0.1:9644", "`host:port` where a ringmill node tells its metrics; unless it is given, only the measured process is asked")
	flags.IntVar(&t.Producers, "producers", 2, "producers")
	flags.IntVar(&t.Consumers, "consumers", 1, "consumers; 0: none")
	flags.IntVarP(&t.Partitions, "partitions", "p", 6, "partitions of the topic")
	flags.IntVar(&t.ReplicationFactor, "replication-factor", -1, "replicas of each partition; -1: the cluster's default")
	flags.StringVarP(&f.load.size, "size", "s", "100", "bytes of a record's value, as of bench run")
	flags.IntVar(&t.BatchRecords, "batch", 0, "records of a request; 0: as many as make 64 KiB")
	flags.IntVar(&t.MaxInFlight, "max-in-flight", 5, "requests out on a connection")
	f.load.registerAcks(cmd)
	registerResult(cmd, &f.result)
	registerReport(cmd, &f.page, "result")
	for _, name := range []string{"duration", "bound", "metrics", "producers", "consumers", "partitions", "replication-factor", "size", "batch", "max-in-flight"} {
		completeFlag(cmd, name)
	}
	_ = cmd.MarkFlagDirname("dir")
}

func (f *benchQuickFlags) complete(cmd *cobra.Command, client *clientFlags) (err error) {
	f.load.client, f.load.trial.Duration = string(bench.ClientRaw), f.quick.Duration
	if err := f.load.complete(cmd, client); err != nil {
		return err
	}
	if f.quick.Bounds, err = parseBounds(cmd, f.bounds, f.load.trial.Consumers); err != nil {
		return err
	}
	if err := checkDir(cmd, f.quick.Dir); err != nil {
		return err
	}
	f.quick.Trial, f.quick.Topic, f.quick.MetricsTrusted = f.load.trial, benchTopic, cmd.Flags().Changed("metrics")
	if err := f.quick.Check(); err != nil {
		return wrongLoad(cmd, err)
	}
	return nil
}

func (a *app) benchQuick(ctx context.Context, f *benchQuickFlags, command string) error {
	f.quick.Progress = func(what string) { fmt.Fprintln(a.stderr, what) }
	r, err := f.quick.Run(ctx)
	r.Command = command
	if f.result != "" {
		err = errors.Join(err, writeResult(f.result, r))
	}
	if f.page != "" {
		err = errors.Join(err, writeFile(f.page, func(w io.Writer) error { return page.Quick(w, r) }))
	}
	err = errors.Join(err, a.print(r, func(w io.Writer) { benchQuickScreen(w, r) }))
	switch {
	case err != nil:
		return benchFault(err)
	case r.Failed != "":
		return noRate(r.ClientLimited, "", r.Failed)
	case r.Verdict == bench.VerdictInvalid:
		return fmt.Errorf("%w: %s", errInvalid, strings.Join(r.Reasons, "; "))
	}
	return nil
}

// benchQuickScreen is the result for people.
func benchQuickScreen(w io.Writer, r *quick.Report) {
	if len(r.Limits) > 0 {
		limitsTable(w, r.Limits)
		fmt.Fprintf(w, "in %s\n\n", r.Directory)
	}
	var rows [][]string
	for _, s := range r.Shares {
		rows = append(rows, []string{s.Name, fmt.Sprintf("%.0f %%", s.Share*100), s.Said})
	}
	if len(rows) > 0 {
		table(w, []string{"AT CAPACITY", "SHARE", "OF THE LIMIT"}, rows)
		fmt.Fprintln(w)
	}
	rows = nil
	if r.Capacity != nil {
		rows = append(rows, quickRow("capacity (closed loop)", r.Capacity))
	}
	for i := range r.Points {
		rows = append(rows, quickRow(fmt.Sprintf("%.0f %% of what holds", r.Points[i].OfFound*100), &r.Points[i].Load))
	}
	if len(rows) > 0 {
		table(w, []string{"LOAD", "RECORDS/S", "BYTES/S", "P50", "P99", "P99.9", "END TO END P99", "NODE'S PROCESSORS"}, rows)
	}
	for _, said := range r.Reading() {
		fmt.Fprintln(w, said)
	}
	switch r.Verdict {
	case bench.VerdictPartial:
		fmt.Fprintf(w, "PARTIAL: %s\n", r.Error)
	case bench.VerdictInvalid:
		fmt.Fprintf(w, "INVALID: %s\n", strings.Join(r.Reasons, "; "))
	}
}

func quickRow(name string, l *quick.Load) []string {
	processors := "-"
	if l.Use.Processors > 0 {
		processors = fmt.Sprintf("%.2f", l.Use.Processors)
	}
	return slices.Concat([]string{name}, loadCells(&l.Run.Produced), []string{endToEndCell(l.Run), processors})
}
