package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

// formatMax is the property by which one binary stands for two releases.
const formatMax = "ringmill.internal.format.max"

// TestUpgradeOneByOne: under load nodes are upgraded one at a time, one is taken back and upgraded again, and then the new formats are
// finalized. Before that the older release can be started, after it no more: neither a node of the cluster nor a new one.
func TestUpgradeOneByOne(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2"})
	topic := createTopic(t, c.Nodes[0], 1, 3)
	awaitInSync(t, c.Nodes[0], topic)
	producer := startSteady(t, c, topic)
	run := func(n *harness.Node, format string) {
		n.Stop(t)
		n.Set(formatMax, format)
		n.Restart(t)
		awaitInSync(t, c.Nodes[0], topic)
	}
	type levels struct{ Finalized, Possible int }
	await := func(when string, want levels) { // what a node tells follows the controller
		t.Helper()
		harness.Eventually(t, when, func(context.Context) error {
			var u levels
			if err := json.Unmarshal([]byte(command(t, c, "cluster", "upgrade", "status", "-o", "json")), &u); err != nil {
				t.Fatal(err)
			}
			if u != want {
				return fmt.Errorf("%+v, want %+v", u, want)
			}
			return nil
		})
	}
	run(c.Nodes[0], "2")
	run(c.Nodes[1], "2")
	run(c.Nodes[0], "1")
	run(c.Nodes[0], "2")
	await("with one old node", levels{Finalized: 1, Possible: 1})
	finalize := func() (string, error) {
		argv := harness.RingmillCommand(t, "cluster", "upgrade", "finalize", "--bootstrap", strings.Join(c.Addresses(), ","))
		_, stderr, err := harness.Command{Argv: argv}.Try()
		return stderr, err
	}
	if said, err := finalize(); err != nil {
		t.Errorf("with nothing to finalize: %s %v", said, err)
	}
	run(c.Nodes[2], "2")
	await("with new nodes alone", levels{Finalized: 1, Possible: 2})
	command(t, c, "cluster", "upgrade", "finalize", "--dry-run")
	await("after a dry run", levels{Finalized: 1, Possible: 2})
	command(t, c, "cluster", "upgrade", "finalize")
	await("finalized", levels{Finalized: 2, Possible: 2})

	old := c.Nodes[2]
	old.Stop(t)
	old.Set(formatMax, "1")
	refused(t, old, "does not know", "install the release")
	refused(t, c.Layout(t, 9, map[string]string{formatMax: "1"}), "ringmill.format 2, this release reads it up to 1")
	old.Set(formatMax, "2")
	old.Restart(t)
	awaitInSync(t, c.Nodes[0], topic)
	want := producer.end(t)
	if got := harness.Values(c.Nodes[0].Consume(t, topic, len(want))); !slices.Equal(got, want) {
		t.Errorf("%d records, want the %d that were acknowledged, in order", len(got), len(want))
	}
}
