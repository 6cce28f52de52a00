package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// smallSegments makes a partition of a few kilobytes several segments long: Apache Kafka's lowest segment.bytes is 1 MiB
// for a topic, so the records are large.
var smallSegments = []string{"segment.bytes=1048576", "index.interval.bytes=4096"}

// fill writes batches of every codec and of an idempotent producer into a topic and returns the values in offset order.
func fill(t *testing.T, node *harness.Node, topic string) []string {
	t.Helper()
	var all []string
	for name, codec := range map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
		values := padded(name, 800)
		node.Produce(t, topic, values, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(30_000))
		all = append(all, values...)
	}
	values := harness.Numbered("not idempotent ", 100)
	node.Produce(t, topic, values, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
	return append(all, values...)
}

// padded are values of 3 kB that no codec makes small, so that segments fill.
func padded(name string, count int) []string {
	values := make([]string, count)
	noise := rand.NewChaCha8([32]byte{})
	padding := make([]byte, 1100)
	for i := range values {
		noise.Read(padding)
		values[i] = fmt.Sprintf("%s %d %x", name, i, padding)
	}
	return values
}

// TestOpensKafkaDirectory: ringmill starts on the directory that Apache Kafka left, with Kafka's own server.properties,
// and serves every record of it from the first to the last; then it goes on writing there.
func TestOpensKafkaDirectory(t *testing.T) {
	needsRingmill(t)
	for _, end := range []struct {
		name string
		of   func(*harness.Node, testing.TB)
	}{{"stopped cleanly", (*harness.Node).Stop}, {"ended by kill -9", (*harness.Node).Kill}} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			kafka := harness.StartKafka(t, harness.Options{})
			topic := "written-by-kafka"
			kafka.CreateNamedTopic(t, topic, 1, append(smallSegments, "retention.ms=-1")...)
			want := fill(t, kafka, topic)
			if files := harness.SegmentFiles(t, kafka.LogDir, topic, 0); len(files) < 2 {
				t.Fatalf("only %d segments: the test would show little", len(files))
			}
			end.of(kafka, t)
			node := harness.StartRingmill(t, harness.Options{
				ConfigFile: kafka.ConfigFile,
				Properties: map[string]string{"advertised.listeners": ""},
			})
			wantValues(t, node.Consume(t, topic, len(want)), want)
			wantConfig(t, node, topic, "retention.ms", "-1")
			more := harness.Numbered("written by ringmill ", 300)
			node.Produce(t, topic, more)
			wantValues(t, node.Consume(t, topic, len(want)+len(more)), append(want, more...))
		})
	}
}

// wantConfig: a topic keeps the properties that it had under Apache Kafka; one that is kept for ever is not cut by a default.
func wantConfig(t *testing.T, node *harness.Node, topic, property, want string) {
	t.Helper()
	configs, err := kadm.NewClient(node.Client(t)).DescribeTopicConfigs(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == property && (c.Value == nil || *c.Value != want) {
			t.Errorf("%s is %v, want %s", property, c.MaybeValue(), want)
		}
	}
}

// needsRingmill skips a test that has nothing to show where Apache Kafka is the peer.
func needsRingmill(t *testing.T) {
	t.Helper()
	if peer := harness.ChosenPeer(); peer != harness.Ringmill {
		t.Skipf("shows what ringmill does; the peer of this run is %s", peer)
	}
}

func wantValues(t *testing.T, records []*kgo.Record, want []string) {
	t.Helper()
	if len(records) != len(want) {
		t.Fatalf("%d records, want %d", len(records), len(want))
	}
	for i, r := range records {
		if r.Offset != int64(i) || string(r.Value) != want[i] {
			t.Fatalf("record %d: offset %d, value %.40q, want %.40q", i, r.Offset, r.Value, want[i])
		}
	}
}

// TestMissingIndexes: indexes, snapshots and checkpoints are made again from the records: redpanda-data/redpanda#10118.
func TestMissingIndexes(t *testing.T) {
	needsRingmill(t)
	t.Parallel()
	node := harness.StartRingmill(t, harness.Options{})
	topic := "indexes"
	node.CreateNamedTopic(t, topic, 1, smallSegments...)
	want := fill(t, node, topic)
	node.Stop(t)
	removed := 0
	for _, pattern := range []string{"*.index", "*.timeindex", "*.snapshot", "leader-epoch-checkpoint"} {
		files, err := filepath.Glob(filepath.Join(node.LogDir, topic+"-0", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			removed++
		}
	}
	if removed < 4 {
		t.Fatalf("only %d files to remove", removed)
	}
	node.Restart(t)
	wantValues(t, node.Consume(t, topic, len(want)), want)
	node.Stop(t)
	harness.WantDumpsAgree(t, node.LogDir)
}

// TestDumpToolsAgree: Apache Kafka's DumpLogSegments reads every file that ringmill leaves without a complaint, and
// `ringmill dump` says the same of each batch.
func TestDumpToolsAgree(t *testing.T) {
	needsRingmill(t)
	t.Parallel()
	node := harness.StartRingmill(t, harness.Options{})
	topic := "dumped"
	node.CreateNamedTopic(t, topic, 1, smallSegments...)
	fill(t, node, topic)
	client := node.Client(t, kgo.ConsumerGroup("dumped"), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	harness.Poll(t, client, 100)
	if err := client.CommitUncommittedOffsets(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	client.Close()
	node.Stop(t)
	harness.WantDumpsAgree(t, node.LogDir)
}
