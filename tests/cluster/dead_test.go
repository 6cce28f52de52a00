package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// toldStatus and toldTopic are what cluster status and topic describe tell of, as far as it is asked for here.
type toldStatus struct {
	Controller int32
	Quorum     *struct{}
	Problems   []struct{ Problem, Cure string }
}

type toldTopic struct{ Partitions []toldPartition }

type toldPartition struct{ Leader, StartOffset, EndOffset int64 }

func asked(t *testing.T, c *harness.Cluster, into any, args ...string) error {
	args = append(args, "-o", "json", "--bootstrap", strings.Join(c.Addresses(), ","))
	out, stderr, err := harness.Command{Timeout: harness.Patience, Argv: harness.RingmillCommand(t, args...)}.Try()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, stderr)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		return fmt.Errorf("%v wrote %s: %w", args, out, err)
	}
	return nil
}

// TestWhatANodeThatIsDeadLeaves: a node is killed that alone has a partition. What is known of the others is told, with what helps; its other
// replicas are moved to who lives; and where the controller is gone too and nobody can be one, that is told as well.
func TestWhatANodeThatIsDeadLeaves(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"offsets.topic.num.partitions": "1"})
	spread, lone := createTopic(t, c.Nodes[0], 3, 1), createAssigned(t, c.Nodes[0], 3)
	both := createAssigned(t, c.Nodes[0], 1, 3)
	c.Nodes[0].Produce(t, both, []string{"a"})
	awaitInSync(t, c.Nodes[0], both)
	c.Nodes[2].Kill(t)
	awaitTopic(t, c.Nodes[0], lone, func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Leader >= 0 {
			return fmt.Errorf("partition %d is still led by %d", p.Partition, p.Leader)
		}
		return nil
	})

	var topics []toldTopic
	harness.Eventually(t, "the topic's description", func(context.Context) error {
		if err := asked(t, c, &topics, "topic", "describe", spread); err != nil {
			return err
		}
		for _, p := range topics[0].Partitions {
			want := toldPartition{p.Leader, 0, 0}
			if p.Leader < 0 {
				want = toldPartition{-1, -1, -1}
			}
			if p != want || p.Leader == 3 {
				return fmt.Errorf("of a partition is told %+v, want %+v", p, want)
			}
		}
		return nil
	})
	var status toldStatus
	var said string
	harness.Eventually(t, "the cluster's status", func(context.Context) error {
		status = toldStatus{}
		if err := asked(t, c, &status, "cluster", "status"); err != nil {
			return err
		}
		said = fmt.Sprint(status.Problems)
		for _, want := range []string{"is fenced start it", lone + "-0 has no leader", "start node 3, which leads as soon as it serves", both + "-0 lacks replicas in sync: 3 of 1,3 start node 3;"} {
			if !strings.Contains(said, want) {
				return fmt.Errorf("%q is not in %s", want, said)
			}
		}
		return nil
	})

	_, stderr, err := harness.Command{Timeout: harness.Patience, Argv: harness.RingmillCommand(t, "node", "drain", "3", "--bootstrap", strings.Join(c.Addresses(), ","))}.Try()
	if err == nil || !strings.Contains(stderr, "2 partitions have no leader to be copied from") {
		t.Errorf("the drain of a dead node: %v, %s", err, stderr)
	}
	contains(t, refusedCommand(t, c, "cluster", "balance"), "2 partitions have no leader to be copied from")
	awaitReplicas(t, c.Nodes[0], both, func(p *kmsg.MetadataResponseTopicPartition) bool { return slices.Equal(p.Replicas, []int32{1, 2}) })

	c.Nodes[1].Kill(t)
	harness.Eventually(t, "the word that there is no controller", func(context.Context) error {
		status = toldStatus{}
		if err := asked(t, c, &status, "cluster", "status"); err != nil {
			return err
		}
		said = fmt.Sprint(status.Problems)
		if status.Controller >= 0 || status.Quorum != nil || !strings.Contains(said, "there is no controller") || !strings.Contains(said, "node 2 ("+c.Nodes[1].Address+") does not answer") {
			return fmt.Errorf("status tells %+v", status)
		}
		return nil
	})
}
