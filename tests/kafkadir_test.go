package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/segment"
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

// TestKafkaTakesItsDirectoryBack: what ringmill has left in Apache Kafka's directory, with checksums in its text files, Apache Kafka reads as its
// own: records, where logs start, whose directory and whose partition it is. It writes the files without them again, and ringmill takes those.
func TestKafkaTakesItsDirectoryBack(t *testing.T) {
	needsRingmill(t)
	t.Parallel()
	kafka := harness.StartKafka(t, harness.Options{})
	topic := "to-and-fro"
	kafka.CreateNamedTopic(t, topic, 1, smallSegments...)
	want := harness.Numbered("by Kafka ", 20)
	kafka.Produce(t, topic, want)
	kafka.Stop(t)
	node := harness.StartRingmill(t, harness.Options{ConfigFile: kafka.ConfigFile, Properties: map[string]string{"advertised.listeners": ""}})
	for turn := range 2 {
		deleted := kadm.Offsets{}
		deleted.AddOffset(topic, 0, int64(5*(turn+1)), -1)
		if _, err := kadm.NewClient(node.Client(t)).DeleteRecords(t.Context(), deleted); err != nil {
			t.Fatal(err)
		}
		more := harness.Numbered(fmt.Sprintf("by ringmill, %d ", turn), 20)
		node.Produce(t, topic, more)
		want = append(want, more...)
		node.Stop(t)
		for _, name := range []string{segment.LogStartCheckpoint, segment.RecoveryPointCheckpoint, segment.HighWatermarkCheckpoint} {
			if text, err := os.ReadFile(filepath.Join(kafka.LogDir, name)); err != nil || !strings.Contains(string(text), "#crc32c") {
				t.Fatalf("%s has no checksum: %q, %v", name, text, err)
			}
		}
		sealed(t, filepath.Join(kafka.LogDir, topic+"-0", segment.PartitionMetadataFile), func(text []byte) ([]byte, error) {
			id, err := segment.ReadPartitionMetadata(text)
			return segment.AppendPartitionMetadata(nil, id), err
		})
		sealed(t, filepath.Join(kafka.LogDir, segment.MetaPropertiesFile), func(text []byte) ([]byte, error) {
			m, err := segment.ReadMetaProperties(text)
			return m.AppendTo(nil), err
		})
		kafka.Restart(t)
		wantTail(t, kafka.Consume(t, topic, len(want)-5*(turn+1)), want, 5*(turn+1))
		more = harness.Numbered(fmt.Sprintf("by Kafka, %d ", turn), 20)
		kafka.Produce(t, topic, more)
		want = append(want, more...)
		kafka.Stop(t)
		node.Restart(t)
		wantTail(t, node.Consume(t, topic, len(want)-5*(turn+1)), want, 5*(turn+1))
	}
}

// sealed writes a file that Apache Kafka made, and ringmill left as it was, as ringmill writes its own.
func sealed(t *testing.T, name string, as func(text []byte) ([]byte, error)) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	own, err := as(text)
	if err == nil {
		err = os.WriteFile(name, own, 0o644)
	}
	if err != nil {
		t.Fatalf("%s becomes %q: %v", name, own, err)
	}
}

// wantTail: records are those from an offset on.
func wantTail(t *testing.T, records []*kgo.Record, want []string, from int) {
	t.Helper()
	if len(records) != len(want)-from {
		t.Fatalf("%d records, want %d", len(records), len(want)-from)
	}
	for i, r := range records {
		if r.Offset != int64(from+i) || string(r.Value) != want[from+i] {
			t.Fatalf("record %d: offset %d, value %.40q, want %.40q", i, r.Offset, r.Value, want[from+i])
		}
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
	wantTail(t, records, want, 0)
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
