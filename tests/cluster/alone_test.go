package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// runAlone starts a node of its own, with records, a property and a group's offsets that must be there ever after, and kills it.
func runAlone(t *testing.T) (n *harness.Node, topic, group string, values []string) {
	t.Helper()
	n = harness.StartRingmill(t, harness.Options{Properties: map[string]string{"node.id": "1", "ringmill.journal.bytes": "4194304"}})
	topic, group, values = harness.Name("alone"), harness.Name("readers"), harness.Numbered("record", 500)
	n.CreateNamedTopic(t, topic, 1, "retention.ms=7200000")
	n.Produce(t, topic, values)
	commit(t, n, group, topic, 123)
	n.Kill(t)
	return n, topic, group, values
}

func commit(t *testing.T, n *harness.Node, group, topic string, offset int64) {
	t.Helper()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, At: offset, LeaderEpoch: -1})
	harness.Asked(t, n, "a commit", func(ctx context.Context, admin *kadm.Client) (kadm.OffsetResponses, error) {
		return admin.CommitOffsets(ctx, group, offsets)
	})
}

// TestANodeThatRanAloneGrows: a cluster begins with a node that was killed while it ran alone. Others join and vote, its partitions get
// replicas there, and when it is gone nothing is: no record, no property, no committed offset.
func TestANodeThatRanAloneGrows(t *testing.T) {
	t.Parallel()
	alone, topic, group, values := runAlone(t)
	c := harness.StartClusterOf(t, alone, nil)
	if got := harness.Values(c.Nodes[0].Consume(t, topic, len(values))); !slices.Equal(got, values) {
		t.Errorf("%d records are read where the cluster begins, want the %d that were acknowledged", len(got), len(values))
	}
	c.Nodes[0].Produce(t, topic, []string{"of the cluster"})
	values = append(values, "of the cluster")
	c.Add(t, nil)
	c.Add(t, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	harness.Await(t, "three voters", func() bool {
		voters, _ := quorumOf(t, c.Nodes[0])
		return len(voters) == 3
	})

	var request kadm.AlterPartitionAssignmentsReq
	request.Assign(topic, 0, []int32{1, 2, 3})
	for p := range int32(10) {
		request.Assign("__consumer_offsets", p, []int32{1, 2, 3})
	}
	harness.Asked(t, c.Nodes[0], "more replicas", func(ctx context.Context, admin *kadm.Client) (kadm.AlterPartitionAssignmentsResponses, error) {
		return admin.AlterPartitionAssignments(ctx, request)
	})
	for _, grown := range []string{topic, "__consumer_offsets"} {
		awaitReplicas(t, c.Nodes[1], grown, func(p *kmsg.MetadataResponseTopicPartition) bool { return len(p.Replicas) == 3 && len(p.ISR) == 3 })
	}
	c.Nodes[0].Kill(t)

	others := kgo.SeedBrokers(c.Nodes[1].Address, c.Nodes[2].Address)
	awaitTopic(t, c.Nodes[1], topic, leadsNot(1))
	if got := harness.Values(c.Nodes[1].Consume(t, topic, len(values), others)); !slices.Equal(got, values) {
		t.Errorf("%d records are read without the node that began, want %d", len(got), len(values))
	}
	committed := harness.Asked(t, c.Nodes[1], "the committed offset", func(ctx context.Context, admin *kadm.Client) (kadm.OffsetResponses, error) {
		return admin.FetchOffsets(ctx, group)
	})
	if o, _ := committed.Lookup(topic, 0); o.At != 123 {
		t.Errorf("the group's offset is %+v, want 123", o)
	}
	configs := harness.Asked(t, c.Nodes[1], "the topic's properties", func(ctx context.Context, admin *kadm.Client) (kadm.ResourceConfigs, error) {
		return admin.DescribeTopicConfigs(ctx, topic)
	})
	if !slices.ContainsFunc(configs[0].Configs, func(c kadm.Config) bool { return c.Key == "retention.ms" && c.MaybeValue() == "7200000" }) {
		t.Error("the topic has lost its retention.ms")
	}
}

// TestABeginningThatACrashCutShort: where the quorum is on disk already the node goes on with it, whatever it is told, and the metadata that
// counts no more is put away.
func TestABeginningThatACrashCutShort(t *testing.T) {
	t.Parallel()
	alone, topic, _, values := runAlone(t)
	c := harness.StartClusterOf(t, alone, nil)
	n := c.Nodes[0]
	n.Kill(t)
	metadata := filepath.Join(n.DataDir(), "state", "metadata")
	if err := os.Rename(metadata+".alone", metadata); err != nil {
		t.Fatal(err)
	}
	n.Set("ringmill.bootstrap.alone", "refuse")
	n.Restart(t)
	if got := harness.Values(n.Consume(t, topic, len(values))); !slices.Equal(got, values) {
		t.Errorf("%d records are read, want %d", len(got), len(values))
	}
	if _, err := os.Stat(metadata + ".alone"); err != nil {
		t.Error(err)
	}
}

// TestNothingToBeginWith: a fresh node that is told to begin a cluster with what it has is refused, and makes no cluster.
func TestNothingToBeginWith(t *testing.T) {
	t.Parallel()
	alone, _, _, _ := runAlone(t)
	c := harness.StartClusterOf(t, alone, nil)
	refused(t, c.Layout(t, 2, map[string]string{"ringmill.bootstrap.alone": "begin"}), "has not run alone", "ringmill.bootstrap.expect")
}

// TestNoPlaceForTheMetadataOfBefore: where an earlier beginning has left its metadata the start is refused before there is a quorum, and the node can
// still run alone.
func TestNoPlaceForTheMetadataOfBefore(t *testing.T) {
	t.Parallel()
	alone, topic, _, values := runAlone(t)
	state := filepath.Join(alone.DataDir(), "state")
	aside := filepath.Join(state, "metadata.alone")
	if err := os.Mkdir(aside, 0o755); err != nil {
		t.Fatal(err)
	}
	n := harness.LayoutClusterOf(t, alone, nil).Nodes[0]
	refused(t, n, aside+": it is there already", "move it out of "+state)
	if _, err := os.Stat(filepath.Join(state, "quorum")); err == nil {
		t.Error("the start that was refused made a quorum")
	}
	alone.Restart(t)
	if got := harness.Values(alone.Consume(t, topic, len(values))); !slices.Equal(got, values) {
		t.Errorf("%d records are read, want %d", len(got), len(values))
	}
	alone.Kill(t)
	if err := os.Remove(aside); err != nil {
		t.Fatal(err)
	}
	n.Restart(t)
}

// TestEmptyMetadataToBeginWith: metadata that names no cluster is said to be empty, not to be another node's.
func TestEmptyMetadataToBeginWith(t *testing.T) {
	t.Parallel()
	alone, _, _, _ := runAlone(t)
	logs, err := filepath.Glob(filepath.Join(alone.DataDir(), "state", "metadata", "*"))
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		if err := os.Truncate(log, 0); err != nil {
			t.Fatal(err)
		}
	}
	n := harness.LayoutClusterOf(t, alone, nil).Nodes[0]
	refused(t, n, "the metadata is empty", "as one of its own")
	if _, err := os.Stat(filepath.Join(alone.DataDir(), "state", "quorum")); err == nil {
		t.Error("the start that was refused made a quorum")
	}
}

func leadsNot(id int32) func(*kmsg.MetadataResponseTopicPartition) error {
	return func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Leader < 0 || p.Leader == id {
			return fmt.Errorf("partition %d is led by %d", p.Partition, p.Leader)
		}
		return nil
	}
}
