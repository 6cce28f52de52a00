package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

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
		if p.Leader < 0 {
			return fmt.Errorf("partition %d has no leader", p.Partition)
		}
		return nil
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
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Addresses()...), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0),
		kgo.RecordDeliveryTimeout(2*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
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
	stored := segmentsOf(t, c.Nodes[0], topic)
	for _, n := range c.Nodes[1:] {
		if !bytes.Equal(segmentsOf(t, n, topic), stored) {
			t.Errorf("%s has other bytes than %s", n.Address, c.Nodes[0].Address)
		}
	}
}

// segmentsOf are the bytes of all segments of a topic's partition 0 on a node.
func segmentsOf(t *testing.T, n *harness.Node, topic string) (all []byte) {
	t.Helper()
	for _, file := range harness.SegmentFiles(t, n.LogDir, topic, 0) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}
