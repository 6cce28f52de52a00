package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
)

const groupBench = "bench"

// errInvalid is a run that says itself that its figures are not to be believed.
var errInvalid = errors.New("the figures are invalid")

// noRate is a search that ended without a rate, at some settings if there are any. That the client was in the way, and not the node, is no word on the node.
func noRate(clients bool, settings, why string) error {
	if clients {
		return fmt.Errorf("%w: %sno rate holds, for the client was in the way: %s", errInvalid, settings, why)
	}
	return fmt.Errorf("%sno rate holds: %s", settings, why)
}

// wrongLoad is a usage error that package bench has found, in its words.
func wrongLoad(cmd *cobra.Command, err error) error {
	return wrongUse(cmd, "%s", strings.ReplaceAll(err.Error(), bench.ErrWorkload.Error()+": ", ""))
}

// registerBootstrapServer has --bootstrap under the name that Kafka's tools give it, too.
func registerBootstrapServer(cmd *cobra.Command, client *clientFlags) {
	cmd.Flags().StringVar(&client.bootstrap, "bootstrap-server", client.bootstrap, "as Kafka's tools spell --bootstrap")
	_ = cmd.Flags().MarkHidden("bootstrap-server")
}

// bootstrapGiven tells whether nodes were named, under either name.
func bootstrapGiven(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("bootstrap") || cmd.Flags().Changed("bootstrap-server")
}

func registerResult(cmd *cobra.Command, path *string) {
	registerOutput(cmd, path, "result", "a `file` to write the result to as JSON, too")
}

// registerReport has a page made of what a command has: its result or comparison.
func registerReport(cmd *cobra.Command, path *string, what string) {
	registerOutput(cmd, path, "report", "a `file` to write the "+what+" to as a page for a browser, too")
}

// checkDir says what is wrong with --dir.
func checkDir(cmd *cobra.Command, dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return wrongUse(cmd, "--dir %s: no directory", dir)
	}
	return nil
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
