package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A flag that does nothing is told, and changes nothing else.
func TestIdleFlags(t *testing.T) {
	met := map[string]bool{}
	for _, c := range []struct{ args, flag, why string }{
		{"bench run --backlog-drained 0.5", "backlog-drained", "without --backlog"},
		{"bench run --backlog 0 --backlog-drained 0.5", "backlog-drained", "without --backlog"},
		{"bench run --client franz --batch 10", "batch", "with --client franz"},
		{"bench ab a:1 b:1 --client franz --max-in-flight 1", "max-in-flight", "with --client franz"},
		{"bench run --consumers 0 --subscriptions 2", "subscriptions", "with --consumers 0"},
		{"bench run --consumers 0 --client franz --consumer-property fetch.max.bytes=1000", "consumer-property", "with --consumers 0"},
		{"bench sweep --over size=100,200 --to 5000", "to", "without --bound"},
		{"bench sweep --over size=100,200 --precision 1", "precision", "without --bound"},
		{"topic list --sasl-user u", "sasl-user", "without --sasl"},
		{"bench verify --tls-ca absent.pem --tls-insecure", "tls-ca", "beside --tls-insecure"},
		{"consume t --format %v -o json", "format", "with -o json"},
		{"node drain 1 --leaders --parallel 3", "parallel", "with --leaders and --undo"},
		{"node drain 1 --undo --throttle 1MB", "throttle", "with --leaders and --undo"},
		{"node drain 1 --undo --wait 1m", "wait", "with --undo"},
		{"txn abort --topic t --partition 0 --start-offset 1 --producer-epoch 1", "producer-epoch", "without --producer-id"},
		{"txn abort --topic t --partition 0 --start-offset 1 --coordinator-epoch 1", "coordinator-epoch", "without --producer-id"},
	} {
		met[c.flag] = true
		var out bytes.Buffer
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		code := (&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &out}).run(cancelled, strings.Fields(c.args))
		if want := "ringmill: warning: --" + c.flag + " has no effect " + c.why; code == statusUsage && c.flag != "tls-ca" || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: status %d: %s", c.args, code, out.String())
		}
	}
	for _, idle := range idleFlags {
		if !met[idle.name] {
			t.Errorf("--%s is told nowhere", idle.name)
		}
	}
}

// What --over varies, and what a file of OpenMessaging Benchmark says, is there; what only a plan's execution needs stays.
func TestFlagsThatAreNotIdle(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	workload, driver := ombFiles(t, "127.0.0.1:1")
	for _, args := range []string{
		"bench sweep --over client=raw,franz --rate 10 --batch 2 --repeats 1 -b 127.0.0.1:1", "bench sweep --over consumers=0,1 --subscriptions 2 --repeats 1 -b 127.0.0.1:1",
		"bench run --dry-run --workload " + workload + " --subscriptions 3", "bench run --dry-run --driver " + driver + " --sasl-user u", "bench quick --batch 3 --max-in-flight 1 -d 3s -b 127.0.0.1:1 --dir " + t.TempDir(),
		"bench run --dry-run --result " + filepath.Join(t.TempDir(), "r.json"), "node drain 1 --dry-run --parallel 3 -b 127.0.0.1:1 --timeout 1s",
		"node drain 1 --leaders --wait 1m -b 127.0.0.1:1 --timeout 1s", "consume t --format %v -o text -b 127.0.0.1:1 --timeout 1s",
	} {
		var errs bytes.Buffer
		code := (&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs}).run(cancelled, strings.Fields(args))
		if code == statusUsage || strings.Contains(errs.String(), "has no effect") {
			t.Errorf("%s: status %d: %s", args, code, errs.String())
		}
	}
}

// Every flag of the table is one that a command has.
func TestIdleFlagsAreKnown(t *testing.T) {
	var has func(*cobra.Command, string) bool
	has = func(cmd *cobra.Command, name string) bool {
		return cmd.Flags().Lookup(name) != nil || cmd.PersistentFlags().Lookup(name) != nil || slices.ContainsFunc(cmd.Commands(), func(below *cobra.Command) bool { return has(below, name) })
	}
	root := (&app{stdout: io.Discard, stderr: io.Discard}).root()
	for _, idle := range idleFlags {
		if !has(root, idle.name) {
			t.Errorf("no command has --%s", idle.name)
		}
	}
}
