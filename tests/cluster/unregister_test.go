package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// refusedCommand runs a command of the CLI that fails, and gives what it says.
func refusedCommand(t *testing.T, c *harness.Cluster, args ...string) string {
	t.Helper()
	_, said, err := harness.Command{Timeout: harness.Patience, Argv: harness.RingmillCommand(t, append(args, "--bootstrap", strings.Join(c.Addresses(), ","))...)}.Try()
	if err == nil {
		t.Errorf("%v succeeded", args)
	}
	return said
}

// contains reports what a text lacks.
func contains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

type toldQuorum struct {
	Members []struct {
		Node int32
		Role string
	}
}

// awaitRoles waits until cluster voters list tells of these voters and observers.
func awaitRoles(t *testing.T, c *harness.Cluster, voters, observers []int32) {
	t.Helper()
	harness.Eventually(t, "the members of the quorum", func(context.Context) error {
		var told toldQuorum
		if err := asked(t, c, &told, "cluster", "voters", "list"); err != nil {
			return err
		}
		of := make(map[string][]int32)
		for _, m := range told.Members {
			of[m.Role] = append(of[m.Role], m.Node)
		}
		if !slices.Equal(of["voter"], voters) || !slices.Equal(of["observer"], observers) {
			return fmt.Errorf("%v", of)
		}
		return nil
	})
}

// TestANodeIsTakenOutByCommands: a fourth node gets a vote, ends, and is taken out of the cluster and the quorum by what the commands say, until
// nothing is left of it but the replica that no other node has a copy of.
func TestANodeIsTakenOutByCommands(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	fourth := c.Add(t, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3, 4)
	both, lone := createAssigned(t, c.Nodes[0], 1, 4), createAssigned(t, c.Nodes[0], 4)
	awaitInSync(t, c.Nodes[0], both)

	awaitRoles(t, c, []int32{1, 2, 3}, []int32{4})
	contains(t, refusedCommand(t, c, "cluster", "voters", "remove", "4"), "node 4 is no voter of the metadata quorum")
	contains(t, command(t, c, "cluster", "voters", "add", "4", "--dry-run"), "would vote")
	awaitRoles(t, c, []int32{1, 2, 3}, []int32{4})
	contains(t, command(t, c, "cluster", "voters", "add", "4"), "node 4 votes on the metadata, one of 4")
	awaitRoles(t, c, []int32{1, 2, 3, 4}, nil)
	contains(t, refusedCommand(t, c, "cluster", "voters", "add", "4"), "node 4 votes already")
	contains(t, refusedCommand(t, c, "node", "unregister", "4"), "node 4 serves", "stop it")

	fourth.Stop(t)
	awaitAgreement(t, c.Nodes[:3], 1, 2, 3)
	contains(t, refusedCommand(t, c, "node", "unregister", "4"), "node 4 has 2 replicas", "ringmill node drain 4")
	contains(t, refusedCommand(t, c, "node", "drain", "4"), "1 partition has no leader to be copied from")
	awaitReplicas(t, c.Nodes[0], both, func(p *kmsg.MetadataResponseTopicPartition) bool { return !slices.Contains(p.Replicas, 4) })
	contains(t, command(t, c, "node", "unregister", "4", "--leave-replicas", "--dry-run"), "would be registered no more")
	contains(t, command(t, c, "node", "unregister", "4", "--leave-replicas"),
		"node 4 is registered no more", "1 replica stays assigned to it", "ringmill cluster voters remove 4")
	contains(t, refusedCommand(t, c, "node", "unregister", "4", "--leave-replicas"), "BROKER_ID_NOT_REGISTERED")
	contains(t, refusedCommand(t, c, "node", "drain", "4"), "1 partition has no leader to be copied from")
	contains(t, command(t, c, "cluster", "status"), "voter 4 of the metadata quorum is no node", "ringmill cluster voters remove 4")

	contains(t, command(t, c, "cluster", "voters", "remove", "4"), "node 4 votes no more", "3 voters are left")
	awaitRoles(t, c, []int32{1, 2, 3}, nil)
	command(t, c, "topic", "delete", lone)
	harness.Eventually(t, "nothing is wrong", func(context.Context) error {
		var status toldStatus
		if err := asked(t, c, &status, "cluster", "status"); err != nil || len(status.Problems) == 0 {
			return err
		}
		return fmt.Errorf("%v", status.Problems)
	})
	contains(t, refusedCommand(t, c, "node", "drain", "4"), "there is no such node")

	c.Nodes[2].Kill(t)
	harness.Eventually(t, "a vote that is needed is not taken away", func(context.Context) error {
		argv := harness.RingmillCommand(t, "cluster", "voters", "remove", "1", "--dry-run", "--bootstrap", strings.Join(c.Addresses(), ","))
		out, said, err := harness.Command{Timeout: harness.Patience, Argv: argv}.Try()
		if err == nil || !strings.Contains(said, "of the 2 voters that would be left 1 run") {
			return fmt.Errorf("%v, %s%s", err, out, said)
		}
		return nil
	})
}
