package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// createAssigned makes a topic of one partition with these replicas.
func createAssigned(t *testing.T, n *harness.Node, replicas ...int32) string {
	t.Helper()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = harness.Name("assigned"), -1, -1
	assignment := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	assignment.Replicas = replicas
	topic.ReplicaAssignment = append(topic.ReplicaAssignment, assignment)
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, topic)
	client := n.Client(t)
	harness.Eventually(t, "a topic with assigned replicas", func(ctx context.Context) error {
		resp, err := client.Request(ctx, req)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); err != kerr.TopicAlreadyExists {
			return err
		}
		return nil
	})
	return topic.Topic
}

// TestConsumersReadInTheirRack: the leader sends a consumer to the replica in the consumer's rack (KIP-392), which serves it up to its high
// watermark; a consumer of another rack stays. While that replica is gone, and while it lags, the consumer reads every record once all the same.
func TestConsumersReadInTheirRack(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{
		"broker.rack": "near", "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
	})
	c.Add(t, map[string]string{"broker.rack": "far"})
	topic := createAssigned(t, c.Nodes[0], 1, 4)
	awaitInSync(t, c.Nodes[0], topic)
	client := c.Nodes[0].Client(t, kgo.ConsumeTopics(topic), kgo.Rack("far"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RecheckPreferredReplicaInterval(500*time.Millisecond)) // its default is half an hour, also for a replica that is gone
	var want, got []string
	readOn := func(when string) {
		var more []string
		for range 50 {
			more = append(more, fmt.Sprint("record ", len(want)+len(more)))
		}
		c.Nodes[0].Produce(t, topic, more)
		want = append(want, more...)
		for len(got) < len(want) {
			fetches := client.PollFetches(harness.Context(t))
			if err := fetches.Err(); err != nil {
				t.Fatal(when, ": ", err)
			}
			for _, r := range fetches.Records() {
				got = append(got, string(r.Value))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: read %d records in the consumer's rack, want %d", when, len(got), len(want))
		}
	}
	readOn("with a replica in its rack")
	c.Nodes[3].Kill(t)
	readOn("with that gone")
	c.Nodes[3].Restart(t)
	readOn("with that coming back")
	awaitInSync(t, c.Nodes[0], topic)
	readOn("with that in sync again")
	for _, test := range []struct {
		node, preferred int32
		rack            string
		records         bool
	}{
		{1, 4, "far", false}, {1, -1, "near", true}, {1, -1, "", true}, {1, -1, "nowhere", true}, {4, -1, "far", true},
	} {
		p := fetchOnce(t, client, test.node, topic, test.rack)
		if p.ErrorCode != 0 || p.PreferredReadReplica != test.preferred || (len(p.RecordBatches) > 0) != test.records {
			t.Errorf("a consumer in rack %q at node %d: code %d, preferred replica %d, %d bytes", test.rack, test.node, p.ErrorCode,
				p.PreferredReadReplica, len(p.RecordBatches))
		}
	}
}

// fetchOnce reads partition 0 of a topic from its start at one node.
func fetchOnce(t *testing.T, client *kgo.Client, node int32, topic, rack string) *kmsg.FetchResponseTopicPartition {
	t.Helper()
	part := kmsg.NewFetchRequestTopicPartition()
	part.PartitionMaxBytes = 1 << 20
	asked := kmsg.NewFetchRequestTopic()
	asked.Topic, asked.TopicID = topic, topicID(t, client, topic)
	asked.Partitions = append(asked.Partitions, part)
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis, req.Rack, req.SessionEpoch = 1<<20, 1, 500, rack, -1
	req.Topics = append(req.Topics, asked)
	resp, err := client.Broker(int(node)).Request(harness.Context(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return &resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

func topicID(t *testing.T, client *kgo.Client, topic string) [16]byte {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	req.Topics = append(req.Topics, asked)
	resp, err := client.Request(harness.Context(t), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.MetadataResponse).Topics[0].TopicID
}
