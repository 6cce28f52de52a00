package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/limits"
)

func (a *app) benchDiskCommand() *cobra.Command {
	cmd := a.benchLimitsCommand(limits.Disk)
	cmd.Use, cmd.Short = "disk", "Measure what the disk of a directory allows: appends, and syncs of groups of several sizes"
	cmd.Long = `Append to a file and make it durable with fdatasync, in groups of several sizes, and over bytes that are there already, as into a journal.
A node that acknowledges after a sync is no faster than that. At most 1 GiB is written at a time, to files without a name, which are gone afterwards.`
	cmd.Example = "  ringmill bench disk --dir /var/lib/ringmill"
	return cmd
}

func (a *app) benchLoopCommand() *cobra.Command {
	cmd := a.benchLimitsCommand(limits.Loop)
	cmd.Use, cmd.Short = "loop", "Measure what the loopback allows: requests and answers, and the ways from the page cache to a socket"
	cmd.Long = `Send small requests over one TCP connection of the loopback and wait for their answers, from a plain server and from the engines that ringmill's
loops have; and send a file that is in the page cache, by sendfile, by splice, and by reading and writing. Both ends are this process: CPU is of both.`
	cmd.Example = "  ringmill bench loop --each 5s"
	return cmd
}

func (a *app) benchLimitsCommand(measure func(context.Context, limits.Options) ([]limits.Limit, error)) *cobra.Command {
	var o limits.Options
	cmd := &cobra.Command{Args: arguments(cobra.NoArgs), ValidArgsFunction: cobra.NoFileCompletions}
	flags := cmd.Flags()
	flags.StringVar(&o.Dir, "dir", ".", "a `directory` on the disk to measure, whose page cache is used")
	flags.DurationVar(&o.Each, "each", 2*time.Second, "how long each item runs")
	completeFlag(cmd, "each")
	_ = cmd.MarkFlagDirname("dir")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := bench.Durations.Check("--each", o.Each); err != nil {
			return wrongLoad(cmd, err)
		}
		if err := checkDir(cmd, o.Dir); err != nil {
			return err
		}
		o.Progress = func(l limits.Limit) { fmt.Fprintf(a.stderr, "%s: %s\n", l.Name, l.Rate()) }
		all, err := measure(cmd.Context(), o)
		if err != nil {
			return benchFault(err)
		}
		report := limits.Report{Schema: limits.Schema, Host: bench.ReadHost(), Limits: all}
		return a.print(report, func(w io.Writer) { limitsTable(w, all) })
	}
	return cmd
}

func limitsTable(w io.Writer, all []limits.Limit) {
	var rows [][]string
	for _, l := range all {
		row := []string{l.Name, l.Rate(), "-", "-", "-", "-"}
		if l.Missing == "" {
			row[2], row[5] = bench.FormatBytes(l.BytesPerSecond), fmt.Sprintf("%.2f", l.CPUSeconds/l.Seconds)
		}
		if l.Latency.Count > 0 {
			row[3], row[4] = bench.FormatLatency(l.Latency.P50Us), bench.FormatLatency(l.Latency.P99Us)
		}
		rows = append(rows, row)
	}
	table(w, []string{"LIMIT", "RATE", "BYTES", "P50", "P99", "PROCESSORS"}, rows)
}
