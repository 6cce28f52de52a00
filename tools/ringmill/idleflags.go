package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// idleFlag is a flag that does something only beside another one, or without it: who gives it for nothing means something else.
type idleFlag struct {
	name string
	// needs is whether a command's other flags have it do something, why says where they do not.
	needs func(*pflag.FlagSet) bool
	why   string
}

// idleFlags are those of all commands. What only says how a plan would be carried out stays allowed beside --dry-run.
var idleFlags = []idleFlag{
	{"backlog-drained", set("backlog"), "without --backlog"},
	{"batch", valued("client", "raw"), "with --client franz, which makes its own batches: --linger, and --producer-property batch.size"},
	{"max-in-flight", valued("client", "raw"), "with --client franz: --producer-property max.in.flight.requests.per.connection"},
	{"subscriptions", set("consumers"), "with --consumers 0"},
	{"consumer-property", set("consumers"), "with --consumers 0"},
	{"to", set("bound"), "without --bound"},
	{"precision", set("bound"), "without --bound"},
	{"sasl-user", func(flags *pflag.FlagSet) bool { return set("sasl")(flags) || flags.Changed("driver") }, "without --sasl"}, // a driver file may have the mechanism
	{"tls-ca", unset("tls-insecure"), "beside --tls-insecure, which trusts whoever answers"},
	{"format", valued("output", string(outputText)), "with -o json"},
	{"parallel", unset("leaders", "undo"), "with --leaders and --undo, which move no replica"},
	{"throttle", unset("leaders", "undo"), "with --leaders and --undo, which move no replica"},
	{"wait", unset("undo"), "with --undo, which waits for nothing"},
	{"producer-epoch", set("producer-id"), "without --producer-id"},
	{"coordinator-epoch", set("producer-id"), "without --producer-id"},
}

// set is whether a flag has a value, given or not. One that a command does not have, or that --over varies, is not in the way.
func set(name string) func(*pflag.FlagSet) bool {
	return func(flags *pflag.FlagSet) bool {
		flag := flags.Lookup(name)
		return flag == nil || varied(flags, name) || !slices.Contains([]string{"", "0", "-1", "false", "[]"}, flag.Value.String())
	}
}

// unset is whether none of these flags has a value.
func unset(names ...string) func(*pflag.FlagSet) bool {
	return func(flags *pflag.FlagSet) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return flags.Lookup(name) != nil && set(name)(flags) })
	}
}

// valued is whether a flag has this value.
func valued(name, value string) func(*pflag.FlagSet) bool {
	return func(flags *pflag.FlagSet) bool {
		flag := flags.Lookup(name)
		return flag == nil || varied(flags, name) || flag.Value.String() == value
	}
}

// warnOfIdleFlags has a command and those below it tell of flags that do nothing, once all are set. They are not refused: a command line that did
// its work with one does it still.
func (a *app) warnOfIdleFlags(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		a.warnOfIdleFlags(below)
	}
	run := cmd.RunE
	if run == nil {
		return
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		flags := cmd.Flags()
		for _, idle := range idleFlags {
			if flags.Changed(idle.name) && !idle.needs(flags) {
				fmt.Fprintf(a.stderr, "ringmill: warning: --%s has no effect %s\n", idle.name, idle.why)
			}
		}
		return run(cmd, args)
	}
}
