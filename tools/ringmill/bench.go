package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
)

const groupBench = "bench"

// errInvalid is a run that says itself that its figures are not to be believed.
var errInvalid = errors.New("the figures are invalid")

// wrongLoad is a usage error that package bench has found, in its words.
func wrongLoad(cmd *cobra.Command, err error) error {
	return wrongUse(cmd, "%s", strings.ReplaceAll(err.Error(), bench.ErrWorkload.Error()+": ", ""))
}

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a node or cluster of any make that speaks Kafka's protocol",
		Long: `Measure a node or cluster of any make that speaks Kafka's protocol, on a topic that is made for it and removed.

docs/bench.md says what the figures mean and what the JSON holds.`,
		GroupID: groupBench,
	}
	onlyWithSubcommand(cmd)
	cmd.AddCommand(a.benchQuickCommand(), a.benchRunCommand(), a.benchABCommand(), a.benchCompareCommand(), a.benchSweepCommand(), a.benchTuneCommand(), a.benchVerifyCommand(), a.benchReportCommand(), a.benchDiskCommand(), a.benchLoopCommand())
	return cmd
}
