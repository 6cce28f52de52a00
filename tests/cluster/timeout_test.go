package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/wire"
)

// TestProduceTimesOut: an acks=all produce that waits for replicas is answered with REQUEST_TIMED_OUT once its own timeout has passed, however
// long they may lag and whoever else waits, and its record is there when they are back. Two of three nodes are silent, so that nobody can
// take them out of the in-sync set meanwhile.
func TestProduceTimesOut(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2"})
	topic := createAssigned(t, c.Nodes[0], 1, 2, 3)
	awaitInSync(t, c.Nodes[0], topic)
	names := kversion.Stable()
	names.SetMaxKeyVersion(int16(kmsg.Produce), 12)              // the last that names topics
	produce := func(value string, timeout time.Duration) error { // on a connection of its own: answers keep the order of requests
		client := c.Nodes[0].Client(t, kgo.MaxVersions(names))
		req := produceOf(topic, value)
		req.TimeoutMillis = int32(timeout.Milliseconds())
		resp, err := client.Broker(1).Request(harness.Context(t), req)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	}
	if err := produce("first", 30*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes[1:] {
		n.Pause(t)
	}
	appended := c.Nodes[0].Metric(t, "ringmill_appended_records_total")
	patient := make(chan error, 1)
	go func() { patient <- produce("patient", 2*time.Minute) }()
	for _, value := range []string{"second", "third"} {
		if err := produce(value, 100*time.Millisecond); err != kerr.RequestTimedOut {
			t.Errorf("%s, with silent replicas: %v, want REQUEST_TIMED_OUT", value, err)
		}
	}
	harness.Await(t, "three batches that replicas do not have", func() bool { return c.Nodes[0].Metric(t, "ringmill_appended_records_total") >= appended+3 })
	const silence = time.Second
	time.Sleep(silence)
	for _, n := range c.Nodes[1:] {
		n.Resume(t)
	}
	if err := <-patient; err != nil {
		t.Errorf("with patience: %v", err)
	}
	wantReplicated(t, c.Nodes[0], silence)
	if got := len(c.Nodes[0].Consume(t, topic, 4)); got != 4 {
		t.Errorf("%d records, want 4", got)
	}
}

// wantReplicated holds a node's stages against what its four produces have waited for: its replicas, which were silent for so long, and not its
// own disk, for which each waited two rounds of syncs at most.
func wantReplicated(t *testing.T, n *harness.Node, silence time.Duration) {
	t.Helper()
	sum := func(stage string) float64 {
		return n.Sample(t, `ringmill_request_stage_seconds_sum{api="Produce",stage="`+stage+`"}`)
	}
	rounds, others := n.Metric(t, "ringmill_sync_round_seconds_sum"), 0.0
	for _, stage := range []string{"queued", "handled", "mailbox", "purgatory", "appended", "synced", "sent"} {
		others += sum(stage)
	}
	if sum("synced") > 4*rounds || sum("replicated")+others < silence.Seconds() || sum("replicated") < silence.Seconds()-others {
		t.Errorf("replicated for %.3f s, synced for %.3f s, all others %.3f s; replicas were silent for %v, and rounds of syncs took %.3f s in all",
			sum("replicated"), sum("synced"), others, silence, rounds)
	}
	if got := n.Sample(t, `ringmill_request_stage_seconds_count{api="Produce",stage="replicated"}`); got != 4 {
		t.Errorf("%v produces waited for replicas, want 4", got)
	}
}

// produceOf is an acks=all produce of one record to a topic's partition 0.
func produceOf(topic, value string) *kmsg.ProduceRequest {
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: wire.Timestamp(time.Now().UnixMilli())}, []wire.Record{{Value: []byte(value)}})
	in := kmsg.NewProduceRequestTopic()
	in.Topic, in.Partitions = topic, append(in.Partitions, part)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.Topics = -1, append(req.Topics, in)
	return req
}

// TestCommitTimesOut: a commit of offsets that waits for replicas is answered with COORDINATOR_NOT_AVAILABLE once offsets.commit.timeout.ms has passed,
// and is in force when they are back.
func TestCommitTimesOut(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{
		"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "3", "offsets.commit.timeout.ms": "300",
	})
	topic, group := createTopic(t, c.Nodes[0], 1, 3), harness.Name("group")
	coordinator := coordinatorOf(t, c, c.Nodes[0], 0, group)
	awaitInSync(t, coordinator, "__consumer_offsets")
	commit := func(offset int64) error {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation = group, -1
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset = offset
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, TopicID: topicID(t, coordinator.Client(t), topic), Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
		return kerr.ErrorForCode(askOne[*kmsg.OffsetCommitResponse](t, coordinator, req).Topics[0].Partitions[0].ErrorCode)
	}
	harness.Eventually(t, "a commit", func(context.Context) error { return commit(1) })
	others := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *harness.Node) bool { return n == coordinator })
	for _, n := range others {
		n.Pause(t)
	}
	if err := commit(2); err != kerr.CoordinatorNotAvailable {
		t.Errorf("with silent replicas: %v, want COORDINATOR_NOT_AVAILABLE", err)
	}
	for _, n := range others {
		n.Resume(t)
	}
	harness.Eventually(t, "the commit that came late", func(context.Context) error {
		offsets := harness.Asked(t, coordinator, "OffsetFetch", func(ctx context.Context, admin *kadm.Client) (kadm.OffsetResponses, error) {
			return admin.FetchOffsets(ctx, group)
		})
		if o, _ := offsets.Lookup(topic, 0); o.At != 2 {
			return fmt.Errorf("offset %d", o.At)
		}
		return nil
	})
}
