package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// awaitInSync waits until all replicas of a topic's partitions are in sync.
func awaitInSync(t *testing.T, n *harness.Node, topic string) {
	t.Helper()
	awaitTopic(t, n, topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Leader < 0 || len(p.ISR) != len(p.Replicas) {
			return fmt.Errorf("partition %d: leader %d, in sync %v of %v", p.Partition, p.Leader, p.ISR, p.Replicas)
		}
		return nil
	})
}

// leaderOf gives the leader of a topic's partition 0.
func leaderOf(t *testing.T, n *harness.Node, topic string) (leader int32) {
	t.Helper()
	awaitTopic(t, n, topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Partition == 0 {
			leader = p.Leader
		}
		return hasLeader(p)
	})
	return leader
}

// TestNothingAcknowledgedIsLost: a producer goes on while the leader of its partition is killed, again and again, and each killed node comes
// back. Every record that was acknowledged is there once, in order, and all replicas have the same bytes.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2"})
	topic := createTopic(t, c.Nodes[0], 1, 3)
	awaitInSync(t, c.Nodes[0], topic)
	client := c.Client(t, kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(2*time.Minute))
	// The client has its producer id, and knows every node, before the first is killed: franz-go takes a connection that ends before its
	// first answer for one that wants TLS, and fails what waits for the id.
	want := []string{"first"}
	if err := client.ProduceSync(harness.Context(t), kgo.StringRecord(want[0])).FirstErr(); err != nil {
		t.Fatal(err)
	}
	const kills, each = 3, 300
	for kill := range kills {
		for i := range each {
			value := fmt.Sprintf("%d-%d", kill, i)
			want = append(want, value)
			client.Produce(context.Background(), kgo.StringRecord(value), func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("record %s: %v", value, err)
				}
			})
		}
		killed := c.Nodes[leaderOf(t, c.Nodes[0], topic)-1]
		killed.Kill(t)
		if err := client.Flush(harness.Context(t)); err != nil {
			t.Fatal(err)
		}
		killed.Restart(t)
		awaitInSync(t, c.Nodes[0], topic)
	}
	if got := harness.Values(c.Nodes[0].Consume(t, topic, len(want))); !slices.Equal(got, want) {
		t.Errorf("%d records, want the %d that were acknowledged, in order", len(got), len(want))
	}
	for _, n := range c.Nodes[1:] {
		awaitSameBytes(t, topic, n, c.Nodes[0])
	}
}

// TestFollowerOfAnOlderEpochIsKilled: a follower that was away fetches what was written in an epoch that is over, and is killed with that in
// its journal alone. It comes back, and has the same bytes as the others.
func TestFollowerOfAnOlderEpochIsKilled(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "1"})
	topic := createTopic(t, c.Nodes[0], 1, 3)
	awaitInSync(t, c.Nodes[0], topic)
	leader := leaderOf(t, c.Nodes[0], topic)
	follower, next := leader%3+1, (leader+1)%3+1
	c.Nodes[follower-1].Kill(t)
	c.Nodes[leader-1].Produce(t, topic, harness.Numbered("written in the first epoch ", 100), kgo.RecordDeliveryTimeout(harness.Patience))
	moveLeader(t, c.Nodes[leader-1], topic, next, leader, follower)
	c.Nodes[follower-1].Restart(t)
	awaitInSync(t, c.Nodes[next-1], topic)
	c.Nodes[follower-1].Kill(t)
	c.Nodes[follower-1].Restart(t)
	awaitInSync(t, c.Nodes[next-1], topic)
	awaitSameBytes(t, topic, c.Nodes[follower-1], c.Nodes[leader-1])
}

// moveLeader makes the first of a partition's replicas its leader.
func moveLeader(t *testing.T, n *harness.Node, topic string, replicas ...int32) {
	t.Helper()
	harness.Asked(t, n, "the replicas' order", func(ctx context.Context, admin *kadm.Client) (kadm.AlterPartitionAssignmentsResponses, error) {
		var request kadm.AlterPartitionAssignmentsReq
		request.Assign(topic, 0, replicas)
		return admin.AlterPartitionAssignments(ctx, request)
	})
	harness.Eventually(t, "the first replica leads", func(ctx context.Context) error {
		client, err := kgo.NewClient(n.Seeds()...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := kadm.NewClient(client).ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{topic: {0: {}}}); err != nil {
			return err
		}
		if leader := leaderOf(t, n, topic); leader != replicas[0] {
			return fmt.Errorf("%d leads", leader)
		}
		return nil
	})
}

// awaitSameBytes waits until two nodes' segments of a topic's partition 0 have the same bytes: that a node is in sync may be told from
// before it was killed.
func awaitSameBytes(t *testing.T, topic string, a, b *harness.Node) {
	t.Helper()
	harness.Eventually(t, fmt.Sprintf("%s has the bytes that %s has", a.Address, b.Address), func(context.Context) error {
		if one, other := a.StoredBytes(t, topic, 0), b.StoredBytes(t, topic, 0); !bytes.Equal(one, other) {
			return fmt.Errorf("%d bytes and %d, not the same", len(one), len(other))
		}
		return nil
	})
}
