package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
)

type benchABFlags struct {
	benchLoadFlags
	pairs            int
	resultA, resultB string
	failIf           []string
	page             string
	metrics          [2][]string // where the nodes of both targets tell their metrics
}

func (a *app) benchABCommand() *cobra.Command {
	var f benchABFlags
	cmd := &cobra.Command{
		Use:   "ab TARGET_A TARGET_B",
		Short: "Put the same load on two targets in turn, and say how one does against the other",
		Long: `Run the same trial on two targets, each host:port,... of a node or cluster, in the order A B B A A B B A, and compare what was
measured as bench compare does. Neither target has load while the other one is measured. The column RUN TO RUN says by how much two runs in a
row of the same target differ.`,
		Example: `  ringmill bench ab 127.0.0.1:9092 127.0.0.1:9192 --rate 20000 --size 1024
  ringmill bench ab old:9092 new:9092 --pairs 12 --result-a old.json --result-b new.json --fail-if 'p99>+5%'`,
		Args:              arguments(cobra.ExactArgs(2)),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.client.register(cmd)
	_ = cmd.PersistentFlags().MarkHidden("bootstrap")
	f.register(cmd, &a.client)
	flags := cmd.Flags()
	flags.IntVar(&f.pairs, "pairs", 8, "runs on each target")
	registerOutput(cmd, &f.resultA, "result-a", "a `file` to append A's results to, as bench compare reads them")
	registerOutput(cmd, &f.resultB, "result-b", "the same for B")
	registerReport(cmd, &f.page, "comparison")
	flags.StringSliceVar(&f.metrics[0], "node-metrics-a", nil, "`addresses` of A's ringmill nodes' metrics (ringmill.http.listen): which stage makes the difference is told; without it 127.0.0.1:9644, if that is A's")
	flags.StringSliceVar(&f.metrics[1], "node-metrics-b", nil, "the same of B's")
	completeFlag(cmd, "pairs")
	completeFlag(cmd, "node-metrics-a")
	completeFlag(cmd, "node-metrics-b")
	registerFailIf(cmd, &f.failIf)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if bootstrapGiven(cmd) {
			return wrongUse(cmd, "the targets are arguments: --bootstrap has no place here")
		}
		if err := bench.Repeats.Check("--pairs", f.pairs); err != nil {
			return wrongLoad(cmd, err)
		}
		limits, err := parseFailIf(cmd, f.failIf)
		if err != nil {
			return err
		}
		if err := f.complete(cmd, &a.client); err != nil {
			return err
		}
		for i, name := range []string{"node-metrics-a", "node-metrics-b"} {
			if !cmd.Flags().Changed(name) {
				f.metrics[i] = metricsHere(strings.Split(args[i], ","))
			}
		}
		sideA, sideB, err := a.benchPairs(cmd.Context(), &f, args)
		if err != nil {
			return benchFault(err)
		}
		return a.benchCompared(sideA, sideB, limits, f.page, commandLine(cmd, "", args...))
	}
	return cmd
}

// benchPairs takes the runs of both targets in turn, once both have been seen to take the load.
func (a *app) benchPairs(ctx context.Context, f *benchABFlags, targets []string) (sideA, sideB []*bench.Report, err error) {
	sides := [2]struct {
		name, path string
		trial      bench.Trial
		reports    []*bench.Report
	}{{name: "A", path: f.resultA}, {name: "B", path: f.resultB}}
	for i := range sides {
		t := f.trial
		t.Addresses, t.StatusAddresses = strings.Split(targets[i], ","), f.metrics[i]
		sides[i].trial = t
		if err := a.rehearse(ctx, targets[i]+": ", t); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", targets[i], err)
		}
	}
	for pair := range f.pairs {
		for i := range sides {
			side := (i + pair) % 2
			s := &sides[side]
			r, err := benchOnce(ctx, s.trial)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", targets[side], err)
			}
			s.reports = append(s.reports, r)
			if s.path != "" {
				if err := appendResult(s.path, r); err != nil {
					return nil, nil, err
				}
			}
			fmt.Fprintf(a.stderr, "%s %d of %d  %s\n", s.name, pair+1, f.pairs, benchLine(r))
		}
	}
	return sides[0].reports, sides[1].reports, nil
}

// benchLine is a run on one line.
func benchLine(r *bench.Report) string {
	line := fmt.Sprintf("%.0f records/s  ", r.Produced.RecordsPerSecond)
	if l := &r.Produced.Latency; l.Count > 0 {
		line += fmt.Sprintf("p50 %.2f ms  p99 %.2f ms", l.P50Us/1000, l.P99Us/1000)
	} else {
		line += "no answers"
	}
	if r.Verdict != bench.VerdictValid {
		line += "  " + r.Verdict
	}
	return line
}

// appendResult adds a result to a file of them, a line each.
func appendResult(path string, r *bench.Report) error {
	var line bytes.Buffer
	if err := writeJSON(&line, r); err != nil {
		return err
	}
	return appendFile(path, line.Bytes())
}
