package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/node"
	"github.com/ringmill/ringmill/node/config"
)

// The exit statuses.
const (
	statusOK      = 0
	statusFailed  = 1
	statusUsage   = 2 // command line or configuration, and what a node needs to start: nothing was changed
	statusInvalid = 3 // a measurement that says itself that it is not to be believed
)

// app is one run of the program: where it reads and writes, and the flags that all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	output outputFormat
	client clientFlags
}

// usageError is a fault in the command line. command is whose --help would tell more.
type usageError struct {
	err     error
	command string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// errShown is a usage error whose help has been printed: nothing is left to say.
var errShown = errors.New("")

// run executes the command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return a.report(root.ExecuteContext(ctx))
}

// report says on standard error what went wrong, in one line, and picks the status.
func (a *app) report(err error) int {
	var usage *usageError
	var configuration *config.Error
	var start *node.StartError
	switch {
	case err == nil, errors.Is(err, errUnread):
		return statusOK
	case errors.Is(err, errShown):
		return statusUsage
	case errors.As(err, &usage):
		fmt.Fprintf(a.stderr, "ringmill: %s (see %s --help)\n", oneLine(usage.Error()), usage.command)
		return statusUsage
	case errors.As(err, &configuration), errors.As(err, &start):
		fmt.Fprintf(a.stderr, "ringmill: %s\n", oneLine(err.Error()))
		return statusUsage
	}
	fmt.Fprintf(a.stderr, "ringmill: %s\n", oneLine(err.Error()))
	if errors.Is(err, errInvalid) {
		return statusInvalid
	}
	return statusFailed
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

const (
	groupNode    = "node"
	groupCluster = "cluster"
	groupRecords = "records"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ringmill",
		Short: "A storage node for partitioned logs that speaks Kafka's wire protocol",
		Long: `ringmill is a storage node for partitioned, append-only logs. It speaks Kafka's wire protocol and keeps Kafka's files.

The client commands work with any node that speaks Kafka's protocol.`,
		Example: `  ringmill serve                                     a node on 127.0.0.1:9092 with its data in ./data
  ringmill topic create logs -p 3                    a topic with three partitions
  journalctl -f | ringmill produce logs              one record for each line
  ringmill consume logs --offset -10                 the last ten records of each partition, and what follows
  ringmill group describe readers -o json            who reads what, and how far behind`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       readVersion().line(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	onlyWithSubcommand(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{flagError(err), cmd.CommandPath()} })
	root.AddGroup(&cobra.Group{ID: groupNode, Title: "Node:"},
		&cobra.Group{ID: groupCluster, Title: "Topics, groups and the cluster:"},
		&cobra.Group{ID: groupRecords, Title: "Records:"},
		&cobra.Group{ID: groupBench, Title: "Figures:"})
	root.AddCommand(a.serveCommand(), a.topicCommand(), a.groupCommand(), a.configCommand(), a.quotaCommand(), a.aclCommand(), a.txnCommand(), a.logDirsCommand(), a.featuresCommand(), a.clusterCommand(), a.nodeCommand(), a.produceCommand(), a.consumeCommand(), a.dumpCommand(), a.benchCommand(), a.versionCommand())
	a.output.register(root)
	a.warnOfIdleFlags(root)
	root.InitDefaultCompletionCmd()
	return root
}

// onlyWithSubcommand makes a command that does nothing by itself say so, and suggest what was meant.
func onlyWithSubcommand(cmd *cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("unknown command %q", args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			err = fmt.Errorf("unknown command %q, did you mean %s?", args[0], strings.Join(near, " or "))
		}
		return &usageError{err, cmd.CommandPath()}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cmd.SetOut(cmd.ErrOrStderr())
		if err := cmd.Help(); err != nil {
			return err
		}
		return errShown
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.DisableFlagsInUseLine = true
}

// arguments turns what is wrong with the number of arguments into a usage error that says what they are.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		_, wanted, _ := strings.Cut(cmd.Use, " ")
		switch {
		case wanted == "":
			return wrongUse(cmd, "unexpected argument %q", args[0])
		case len(args) == 0:
			return wrongUse(cmd, "%s is missing", wanted)
		}
		return wrongUse(cmd, "expected %s, got %d arguments", wanted, len(args))
	}
}

// wrongUse makes a usage error of a command's own.
func wrongUse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}
