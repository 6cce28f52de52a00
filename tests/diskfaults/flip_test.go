package diskfaults

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// TestFlippedBitIsMended: a bit of a record that is on one node's disk flips, while the node runs (the leader, and a follower) and while it is
// down. The replica is fetched again from the one that leads, and nothing else is ever read.
func TestFlippedBitIsMended(t *testing.T) {
	t.Parallel()
	random := harness.Random(t)
	c := harness.StartCluster(t, 3, scrubbed)
	topic := harness.Name("flip")
	c.Nodes[0].MakeTopic(t, topic, 1, 3)
	want := harness.Numbered("record", 1000)
	for chunk := range slices.Chunk(want, 100) { // some batches
		c.Nodes[0].Produce(t, topic, chunk, kgo.ProducerBatchCompression(kgo.NoCompression()))
	}
	awaitInSync(t, c, topic)
	good := c.Nodes[0].StoredBytes(t, topic, 0)
	leader := leaderOf(t, c, topic)
	for _, place := range []struct {
		name string
		node *harness.Node
		down bool
	}{{"the leader", leader, false}, {"a follower", other(c, leader), false}, {"a follower that is down", other(c, leader), true}} {
		if place.down {
			place.node.Kill(t)
		}
		flipRecord(t, random, harness.SegmentFiles(t, place.node.LogDir, topic, 0)[0])
		if place.down {
			place.node.Restart(t)
		}
		harness.Eventually(t, place.name+" has mended its log", func(context.Context) error {
			if !bytes.Equal(place.node.StoredBytes(t, topic, 0), good) {
				return fmt.Errorf("it has other bytes")
			}
			return nil
		})
		awaitInSync(t, c, topic)
		if got := harness.Values(c.Nodes[0].Consume(t, topic, len(want))); !slices.Equal(got, want) {
			t.Fatalf("%s: %d records, not those that were acknowledged", place.name, len(got))
		}
	}
}

// flipRecord flips a bit of what a checksum of the file's first batches covers.
func flipRecord(t *testing.T, random *rand.Rand, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := int64(100 + random.IntN(1000))
	one := make([]byte, 1)
	if _, err := f.ReadAt(one, at); err != nil {
		t.Fatal(err)
	}
	one[0] ^= 1 << random.IntN(8)
	if _, err := f.WriteAt(one, at); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: a bit of byte %d", file, at)
}

// awaitPartition waits until a node says of a topic's partition 0 what check wants.
func awaitPartition(t *testing.T, n *harness.Node, topic string, check func(*kmsg.MetadataResponseTopicPartition) error) {
	t.Helper()
	harness.Eventually(t, topic, func(context.Context) error {
		req := kmsg.NewPtrMetadataRequest()
		asked := kmsg.NewMetadataRequestTopic()
		asked.Topic = &topic
		req.Topics = append(req.Topics, asked)
		resp := harness.Ask[*kmsg.MetadataResponse](t, n, req)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) == 0 {
			return fmt.Errorf("%d topics", len(resp.Topics))
		}
		return check(&resp.Topics[0].Partitions[0])
	})
}

func awaitInSync(t *testing.T, c *harness.Cluster, topic string) {
	t.Helper()
	awaitPartition(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Leader < 0 || len(p.ISR) != len(p.Replicas) {
			return fmt.Errorf("leader %d, in sync %v of %v", p.Leader, p.ISR, p.Replicas)
		}
		return nil
	})
}

func leaderOf(t *testing.T, c *harness.Cluster, topic string) (leader *harness.Node) {
	t.Helper()
	awaitPartition(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if p.Leader < 1 {
			return fmt.Errorf("leader %d", p.Leader)
		}
		leader = c.Nodes[p.Leader-1]
		return nil
	})
	return leader
}

// other is a node that is not n.
func other(c *harness.Cluster, n *harness.Node) *harness.Node {
	return c.Nodes[(slices.Index(c.Nodes, n)+1)%len(c.Nodes)]
}
