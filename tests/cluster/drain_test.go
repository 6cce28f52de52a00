package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// command runs a command of the CLI against a cluster, and gives what it wrote.
func command(t *testing.T, c *harness.Cluster, args ...string) string {
	t.Helper()
	return harness.Command{Timeout: harness.Patience, Argv: harness.RingmillCommand(t, append(args, "--bootstrap", strings.Join(c.Addresses(), ","))...)}.Output(t)
}

// awaitReplicas waits until each partition of a topic passes, with all of its replicas in sync.
func awaitReplicas(t *testing.T, n *harness.Node, topic string, check func(p *kmsg.MetadataResponseTopicPartition) bool) {
	t.Helper()
	awaitTopic(t, n, topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if !check(p) || p.Leader < 0 || len(p.ISR) != len(p.Replicas) {
			return fmt.Errorf("partition %d: leader %d, in sync %v of %v", p.Partition, p.Leader, p.ISR, p.Replicas)
		}
		return nil
	})
}

// TestANodeIsDrained: under load a node is drained, gets nothing new, is emptied, and serves again as any other, with nothing that was
// acknowledged lost.
func TestANodeIsDrained(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2", "offsets.topic.num.partitions": "3"})
	c.Add(t, nil)
	topic := createTopic(t, c.Nodes[0], 6, 2)
	lone := createAssigned(t, c.Nodes[0], 3)
	loaded := createAssigned(t, c.Nodes[0], 3, 1)
	producer := startSteady(t, c, loaded)
	awaitAcknowledged(t, producer, 50)

	plan := command(t, c, "node", "drain", "3", "--dry-run")
	if !strings.Contains(plan, loaded) || !strings.Contains(plan, "leaders that go elsewhere") || !strings.Contains(plan, "NEW-REPLICAS") {
		t.Errorf("the plan:\n%s", plan)
	}
	awaitReplicas(t, c.Nodes[0], loaded, func(p *kmsg.MetadataResponseTopicPartition) bool { return p.Leader == 3 })

	command(t, c, "node", "drain", "3", "--leaders")
	awaitReplicas(t, c.Nodes[0], loaded, func(p *kmsg.MetadataResponseTopicPartition) bool {
		return p.Leader == 1 && slices.Contains(p.Replicas, 3)
	})
	awaitReplicas(t, c.Nodes[0], lone, func(p *kmsg.MetadataResponseTopicPartition) bool { return p.Leader == 3 }) // no other node can lead it
	later := createTopic(t, c.Nodes[0], 12, 3)
	without3 := func(p *kmsg.MetadataResponseTopicPartition) bool { return !slices.Contains(p.Replicas, 3) }
	awaitReplicas(t, c.Nodes[0], later, without3)

	c.Nodes[2].Stop(t) // the word outlives a restart
	c.Nodes[2].Restart(t)
	awaitReplicas(t, c.Nodes[0], loaded, func(p *kmsg.MetadataResponseTopicPartition) bool { return p.Leader == 1 })

	said := command(t, c, "node", "drain", "3", "--parallel", "2", "--throttle", "100000000")
	if !strings.Contains(said, "node 3 has none and may go") || !strings.Contains(said, "under way") {
		t.Errorf("drain said:\n%s", said)
	}
	for _, name := range []string{topic, lone, loaded, later} {
		awaitReplicas(t, c.Nodes[1], name, without3)
	}
	awaitState(t, c, 3, "drained", "")
	harness.Await(t, "no node tells of a throttle on the topic", func() bool {
		return !strings.Contains(command(t, c, "config", "describe", "--topic", loaded), "throttled.replicas=*")
	})

	command(t, c, "node", "drain", "3", "--undo")
	awaitPlan(t, c, "node 3 is given some again", func(plan []movedTo) bool {
		return slices.ContainsFunc(plan, func(m movedTo) bool { return slices.Contains(m.To, 3) })
	})
	command(t, c, "cluster", "balance")
	awaitPlan(t, c, "after a balance there is nothing to move", func(plan []movedTo) bool { return len(plan) == 0 })
	want := producer.end(t)
	if got := harness.Values(c.Nodes[0].Consume(t, loaded, len(want))); !slices.Equal(got, want) {
		t.Errorf("%d records, want the %d that were acknowledged, in order", len(got), len(want))
	}
}

// awaitState waits until cluster status tells that a node is in this state, and for a replica that stands there for this reason, if there is one.
func awaitState(t *testing.T, c *harness.Cluster, node int32, state, why string) {
	t.Helper()
	harness.Eventually(t, "node "+fmt.Sprint(node)+" is "+state, func(context.Context) error {
		var status struct {
			Nodes []struct {
				ID    int32
				State string
			}
			Drains []struct {
				Node     int32
				Standing []struct{ Why string }
			}
		}
		if err := asked(t, c, &status, "cluster", "status"); err != nil {
			return err
		}
		told := fmt.Sprintf("%+v", status)
		if !strings.Contains(told, fmt.Sprintf("{ID:%d State:%s}", node, state)) || !strings.Contains(told, why) || why == "" && len(status.Drains) > 0 {
			return fmt.Errorf("status tells %s", told)
		}
		return nil
	})
}

// TestADrainThatCannotEnd: a node whose replicas nobody else can take is shown as draining, with the reason and what helps.
func TestADrainThatCannotEnd(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"offsets.topic.num.partitions": "1"})
	topic := createAssigned(t, c.Nodes[0], 1, 2, 3)
	awaitInSync(t, c.Nodes[0], topic)
	command(t, c, "node", "drain", "3", "--leaders")
	awaitState(t, c, 3, "leaders-drained", "")
	command(t, c, "config", "set", "--broker", "3", "ringmill.drain=replicas")
	awaitState(t, c, 3, "draining", "no other node can take it: its 3 replicas need as many nodes, and without node 3 it is 2")
	harness.Await(t, "the words for it", func() bool {
		said := command(t, c, "cluster", "status")
		return strings.Contains(said, "node 3 is draining, and has 1 replica left") && strings.Contains(said, topic+"-0 stays on node 3") &&
			strings.Contains(said, "start more nodes")
	})
	c.Add(t, nil)
	awaitState(t, c, 3, "drained", "")
	awaitReplicas(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) bool { return !slices.Contains(p.Replicas, 3) })
}

type movedTo struct {
	To []int32
}

// awaitPlan waits until cluster balance would do what it should by what any node tells, and has it do nothing.
func awaitPlan(t *testing.T, c *harness.Cluster, what string, check func(plan []movedTo) bool) {
	t.Helper()
	harness.Eventually(t, what, func(context.Context) error {
		var balance struct{ Plan, Moved []movedTo }
		if err := json.Unmarshal([]byte(command(t, c, "cluster", "balance", "--dry-run", "-o", "json")), &balance); err != nil {
			t.Fatal(err)
		}
		if !check(balance.Plan) || len(balance.Moved) > 0 {
			return fmt.Errorf("%+v", balance)
		}
		return nil
	})
}

// TestADrainIsCancelled: moves that are slow are left going by a command whose time is over, found again by the next, and cancelled.
func TestADrainIsCancelled(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic := createAssigned(t, c.Nodes[0], 3)
	values := harness.Numbered(strings.Repeat("v", 10_000), 300)
	c.Nodes[0].Produce(t, topic, values, kgo.ProducerBatchCompression(kgo.NoCompression()))
	drain := func(args ...string) (string, error) {
		argv := harness.RingmillCommand(t, append([]string{"node", "drain", "3", "--bootstrap", strings.Join(c.Addresses(), ",")}, args...)...)
		_, stderr, err := harness.Command{Timeout: harness.Patience, Argv: argv}.Try()
		return stderr, err
	}
	for range 2 { // as slow as can be: 3 MB at a kilobyte a second
		if said, err := drain("--throttle", "1000", "--wait", (5 * time.Second).String()); err == nil || !strings.Contains(said, "1 under way and going on") ||
			!strings.Contains(said, topic+"-0: node ") || !strings.Contains(said, "copies no more than 1000 bytes a second") {
			t.Fatalf("a drain that cannot end said %q, %v", said, err)
		}
	}
	awaitState(t, c, 3, "draining", "copies no more than 1000 bytes a second")
	if said, err := drain("--undo"); err != nil {
		t.Fatal(said, err)
	}
	awaitReplicas(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) bool {
		return slices.Equal(p.Replicas, []int32{3}) && p.Leader == 3
	})
	awaitState(t, c, 3, "serves", "")
	if got := harness.Values(c.Nodes[0].Consume(t, topic, len(values))); !slices.Equal(got, values) {
		t.Errorf("%d records, want %d", len(got), len(values))
	}
}
