package apps

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// mirror is MirrorMaker 2 in dedicated mode, from one server or cluster to another; either may be Apache Kafka's.
type mirror struct {
	from, to *servers
	app      *harness.Program
	made     int // records in topic
}

const (
	topic, mirrored = "orders", "from.orders"
	readers         = "readers" // a group of the topic
)

func startMirror(t *testing.T, from, to *servers, extra ...string) *mirror {
	t.Helper()
	m := &mirror{from: from, to: to}
	m.from.createTopic(t, topic, 3, "retention.ms=123456789", "cleanup.policy=compact,delete")
	replicas := fmt.Sprint(m.to.replicas())
	properties := filepath.Join(t.TempDir(), "mirror.properties")
	writeLines(t, properties, append(extra,
		"clusters=from,to", "from.bootstrap.servers="+m.from.bootstrap(), "to.bootstrap.servers="+m.to.bootstrap(),
		"from->to.enabled=true", "from->to.topics="+topic, "from->to.groups="+readers, "tasks.max=2",
		"replication.factor="+replicas, "checkpoints.topic.replication.factor="+replicas, "heartbeats.topic.replication.factor="+replicas,
		fmt.Sprint("offset-syncs.topic.replication.factor=", m.from.replicas()), "offset.storage.replication.factor="+replicas,
		"config.storage.replication.factor="+replicas, "status.storage.replication.factor="+replicas,
		"refresh.topics.interval.seconds=1", "refresh.groups.interval.seconds=1", "sync.topic.configs.interval.seconds=1",
		"emit.checkpoints.interval.seconds=1", "sync.group.offsets.enabled=true", "sync.group.offsets.interval.seconds=1",
		"offset.lag.max=0",                 // every offset can be translated
		"to.offset.flush.interval.ms=1000", // translations that wait for others to be written go out with it
	)...)
	m.app = harness.StartProgram(t, harness.JavaApp(t, "org.apache.kafka.connect.mirror.MirrorMaker", properties)...)
	return m
}

// produce writes records with keys, headers, null values and times of their own into a partition.
func (m *mirror) produce(t *testing.T, partition int32, count int) {
	t.Helper()
	client := m.from.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	defer client.Close()
	start := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Timestamp: start.Add(time.Duration(m.made) * time.Millisecond),
			Key: fmt.Appendf(nil, "key %d", m.made), Value: fmt.Appendf(nil, "value %d\x00\xff", m.made),
			Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}, {Key: "null"}, {Key: "n", Value: []byte{0, 1}}}}
		if i%10 == 9 {
			records[i].Value = nil
		}
		m.made++
	}
	if err := client.ProduceSync(harness.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// wantMirrored waits for the records and compares them, each partition in its order.
func (m *mirror) wantMirrored(t *testing.T) {
	t.Helper()
	source, target := committed(t, m.from, topic), committed(t, m.to, mirrored)
	defer source.Close()
	defer target.Close()
	want, got := byPartition(pollAll(t, source, m.made)), byPartition(pollAll(t, target, m.made))
	for partition, records := range want {
		if len(got[partition]) != len(records) {
			t.Fatalf("partition %d: %d records, want %d", partition, len(got[partition]), len(records))
		}
		for i, r := range records {
			if g := got[partition][i]; !sameRecord(g, r) {
				t.Fatalf("partition %d, record %d: %s at %v, want %s at %v", partition, i, g.Key, g.Timestamp, r.Key, r.Timestamp)
			}
		}
	}
}

func byPartition(records []*kgo.Record) map[int32][]*kgo.Record {
	partitions := map[int32][]*kgo.Record{}
	for _, r := range records {
		partitions[r.Partition] = append(partitions[r.Partition], r)
	}
	return partitions
}

// sameRecord compares what a record carries; a mirrored one may have another offset.
func sameRecord(a, b *kgo.Record) bool {
	sameHeader := func(a, b kgo.RecordHeader) bool { return a.Key == b.Key && same(a.Value, b.Value) }
	return same(a.Key, b.Key) && same(a.Value, b.Value) && a.Timestamp.Equal(b.Timestamp) && slices.EqualFunc(a.Headers, b.Headers, sameHeader)
}

// same tells null from empty.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// consume reads count records as the group, commits, and returns them.
func consume(t *testing.T, on *servers, topic string, count int) []*kgo.Record {
	t.Helper()
	member := on.Client(t, kgo.ConsumerGroup(readers), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer member.Close()
	records := pollAll(t, member, count)
	if err := member.CommitUncommittedOffsets(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	return records
}

// wantTranslated: the group's commits come along: on the mirror it goes on with the records that it has not read.
func (m *mirror) wantTranslated(t *testing.T) {
	t.Helper()
	consume(t, m.from, topic, m.made)
	admin := kadm.NewClient(m.to.Client(t))
	harness.Eventually(t, "the group has read the mirrored topic", func(ctx context.Context) error {
		lags, err := admin.Lag(ctx, readers)
		if err != nil {
			return err
		}
		lag := lags[readers].Lag[mirrored]
		for partition := range int32(3) {
			if at, ok := lag[partition]; !ok || at.Err != nil || at.Commit.At <= 0 || at.Lag > 1 { // 1: a transaction's end
				return fmt.Errorf("partition %d: %+v", partition, at)
			}
		}
		return nil
	})
	before := m.made
	m.produce(t, 1, 10)
	for i, r := range consume(t, m.to, mirrored, 10) {
		if want := fmt.Sprintf("key %d", before+i); string(r.Key) != want {
			t.Errorf("the group goes on with %q, want %q", r.Key, want)
		}
	}
}

// wantConfigs: the mirrored topic has the configuration of the topic.
func (m *mirror) wantConfigs(t *testing.T) {
	t.Helper()
	want := map[string]string{"retention.ms": "123456789", "cleanup.policy": "compact,delete"}
	admin := kadm.NewClient(m.to.Client(t))
	harness.Eventually(t, "the topic's configuration is mirrored", func(ctx context.Context) error {
		configs, err := admin.DescribeTopicConfigs(ctx, mirrored)
		if err != nil {
			return err
		}
		for _, config := range configs[0].Configs {
			if value, ok := want[config.Key]; ok && config.MaybeValue() != value {
				return fmt.Errorf("%s is %s", config.Key, config.MaybeValue())
			}
		}
		return nil
	})
}

// wantPartitions: new partitions are followed, and what is in them.
func (m *mirror) wantPartitions(t *testing.T) {
	t.Helper()
	if _, err := kadm.NewClient(m.from.Client(t)).UpdatePartitions(harness.Context(t), 5, topic); err != nil {
		t.Fatal(err)
	}
	m.from.awaitPartitions(t, topic, 5)
	m.produce(t, 4, 100)
	admin := kadm.NewClient(m.to.Client(t))
	harness.Eventually(t, "the mirrored topic has 5 partitions", func(ctx context.Context) error {
		topics, err := admin.ListTopics(ctx, mirrored)
		if err == nil && len(topics[mirrored].Partitions) != 5 {
			err = fmt.Errorf("%d partitions", len(topics[mirrored].Partitions))
		}
		return err
	})
	m.wantMirrored(t)
}

// TestMirrorExactlyOnce: from node to node, with exactly-once; the target is ended by kill -9 while records come in.
func TestMirrorExactlyOnce(t *testing.T) {
	t.Parallel()
	m := startExactMirror(t, one(harness.Start(t, harness.Options{})), one(harness.Start(t, harness.Options{})))
	for range kills(t) {
		m.failing(t, m.to)
	}
	m.wantFollowed(t)
}

// TestMirrorBetweenClusters: from three nodes to three others; one of either is ended, and the others go on without it.
func TestMirrorBetweenClusters(t *testing.T) {
	t.Parallel()
	m := startExactMirror(t, three(t, nil), three(t, nil))
	for range kills(t) - 1 {
		m.failing(t, m.to)
		m.failing(t, m.from)
	}
	m.wantFollowed(t)
}

// startExactMirror waits until records come along.
func startExactMirror(t *testing.T, from, to *servers) *mirror {
	t.Helper()
	m := startMirror(t, from, to, "to.exactly.once.source.support=enabled",
		"dedicated.mode.enable.internal.rest=true", fmt.Sprintf("listeners=http://127.0.0.1:%d", harness.FreePort(t)))
	for partition := range int32(3) {
		m.produce(t, partition, 500)
	}
	m.wantMirrored(t)
	return m
}

// failing ends one of the servers while records come in.
func (m *mirror) failing(t *testing.T, on *servers) {
	t.Helper()
	m.produce(t, 0, 2000)
	on.fail(t, func() {
		m.produce(t, 2, 2000)
		m.wantMirrored(t)
	})
}

// wantFollowed: what else there is of the topic comes along.
func (m *mirror) wantFollowed(t *testing.T) {
	t.Helper()
	m.wantConfigs(t)
	m.wantTranslated(t)
	m.wantPartitions(t)
}

// TestMirrorFromKafka: a cluster of Apache Kafka is moved to a node, groups and all.
func TestMirrorFromKafka(t *testing.T) {
	t.Parallel()
	startMirror(t, one(harness.StartKafka(t, harness.Options{})), one(harness.Start(t, harness.Options{}))).wantMoved(t)
}

// TestMirrorToKafka: and back.
func TestMirrorToKafka(t *testing.T) {
	t.Parallel()
	startMirror(t, one(harness.Start(t, harness.Options{})), one(harness.StartKafka(t, harness.Options{}))).wantMoved(t)
}

// wantMoved: everything of the topic comes along.
func (m *mirror) wantMoved(t *testing.T) {
	t.Helper()
	for partition := range int32(3) {
		m.produce(t, partition, 500)
	}
	m.wantMirrored(t)
	m.wantFollowed(t)
}
