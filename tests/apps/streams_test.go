package apps

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// wordCount is a run of tests/peers/apps/WordCount.java.
type wordCount struct {
	on                     *servers
	apps                   []*harness.Program
	input, output          string
	repartition, changelog string
	want                   map[string]int // of each word that was fed
	fed                    int            // words
}

const partitions = 4

// startWordCount starts so many instances of the application. Where there are several, each keeps a copy of another's store.
func startWordCount(t *testing.T, on *servers, instances int) *wordCount {
	t.Helper()
	w := &wordCount{on: on, input: "text", output: "counts", want: map[string]int{},
		repartition: "wordcount-words-repartition", changelog: "wordcount-counts-changelog"}
	on.createTopic(t, w.input, partitions)
	on.createTopic(t, w.output, partitions)
	for range instances {
		w.startInstance(t, instances-1)
	}
	return w
}

func (w *wordCount) startInstance(t *testing.T, standbys int) {
	t.Helper()
	dir := t.TempDir()
	properties := filepath.Join(dir, "streams.properties")
	writeLines(t, properties,
		"application.id=wordcount", "bootstrap.servers="+w.on.bootstrap(), "state.dir="+dir,
		fmt.Sprint("replication.factor=", w.on.replicas()), fmt.Sprint("num.standby.replicas=", min(standbys, 1)),
		"processing.guarantee=exactly_once_v2",
		"default.key.serde=org.apache.kafka.common.serialization.Serdes$StringSerde",
		"default.value.serde=org.apache.kafka.common.serialization.Serdes$StringSerde",
		"statestore.cache.max.bytes=0", // each occurrence of a word has its record
		"commit.interval.ms=100", "repartition.purge.interval.ms=500",
		"main.consumer.session.timeout.ms=6000", "main.consumer.heartbeat.interval.ms=1000",
		// the changelog is compacted within the test
		"topic.segment.ms=1000", "topic.min.cleanable.dirty.ratio=0.01", "topic.max.compaction.lag.ms=1000")
	w.apps = append(w.apps, harness.StartProgram(t, harness.JavaApp(t, "WordCount", properties, w.input, w.output)...))
}

// feed produces the lines of this project's licence, and remembers their words.
func (w *wordCount) feed(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for line := range strings.Lines(string(text)) {
		records = append(records, &kgo.Record{Topic: w.input, Key: fmt.Append(nil, len(records)), Value: []byte(line)})
	}
	for _, word := range regexp.MustCompile(`[a-z]+`).FindAllString(strings.ToLower(string(text)), -1) {
		w.want[word]++
		w.fed++
	}
	if err := w.on.Client(t).ProduceSync(harness.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// await reads committed counts until there are as many as asked for.
func (w *wordCount) await(t *testing.T, count int) {
	t.Helper()
	awaitCommitted(t, w.on, w.output, count)
}

// TestStreamsExactlyOnce: while a Streams application counts words, the node and the application are ended by kill -9 in turn;
// what is committed is every word's 1, 2, 3 … to its number, each once and in this order.
func TestStreamsExactlyOnce(t *testing.T) {
	t.Parallel()
	w := startWordCount(t, one(harness.Start(t, harness.Options{Properties: quickCleaner})), 1)
	w.fail(t, kills(t))
	w.wantAll(t)
	wantNoStreamsProtocol(t, w.on)
}

// TestStreamsOnThreeNodes: the same with two instances that have standby tasks, and a node of three ended; the others go on without it.
func TestStreamsOnThreeNodes(t *testing.T) {
	t.Parallel()
	w := startWordCount(t, three(t, quickCleaner), 2)
	w.fail(t, kills(t)-1)
	w.wantAll(t)
}

// quickCleaner has a changelog compacted within the test.
var quickCleaner = map[string]string{"log.cleaner.backoff.ms": "200"}

// fail ends a node and an instance by turns, in the midst of counting.
func (w *wordCount) fail(t *testing.T, times int) {
	t.Helper()
	w.feed(t)
	w.await(t, 1) // it runs
	for i := range times {
		w.feed(t)
		w.await(t, w.fed*2/3) // part of it is under way
		w.on.fail(t, func() {
			w.feed(t)
			w.await(t, w.fed*2/3)
		})
		app := w.apps[i%len(w.apps)]
		app.Kill(t)
		app.Restart(t)
	}
}

// wantAll: every word is counted, and what the application keeps for itself is not kept for ever.
func (w *wordCount) wantAll(t *testing.T) {
	t.Helper()
	w.await(t, w.fed)
	w.wantCounts(t)
	w.wantPurged(t)
	for _, app := range w.apps {
		app.Stop(t)
	}
	w.wantCounts(t)
	w.wantCompacted(t)
}

// wantCounts reads every committed count: an end record in each partition tells that none is missing.
func (w *wordCount) wantCounts(t *testing.T) {
	t.Helper()
	got := map[string]int{}
	for _, r := range readToEnd(t, w.on, w.output, partitions) {
		word := string(r.Key)
		count, err := strconv.Atoi(string(r.Value))
		if err != nil || count != got[word]+1 {
			t.Fatalf("partition %d, offset %d: %q is counted %q after %d", r.Partition, r.Offset, word, r.Value, got[word])
		}
		got[word] = count
	}
	if len(got) != len(w.want) {
		t.Errorf("%d words, want %d", len(got), len(w.want))
	}
	for word, count := range w.want {
		if got[word] != count {
			t.Errorf("%q is counted %d times, want %d", word, got[word], count)
		}
	}
}

// wantPurged: Streams deletes what it has read of its repartition topic.
func (w *wordCount) wantPurged(t *testing.T) {
	t.Helper()
	admin := kadm.NewClient(w.on.Client(t))
	harness.Eventually(t, "most of the repartition topic is deleted", func(ctx context.Context) error {
		starts, err := admin.ListStartOffsets(ctx, w.repartition)
		if err != nil {
			return err
		}
		ends, err := admin.ListEndOffsets(ctx, w.repartition)
		if err != nil {
			return err
		}
		first, end := sum(starts), sum(ends)
		if end < int64(w.fed) || first < end/2 {
			return fmt.Errorf("%d of %d offsets are deleted", first, end)
		}
		return nil
	})
}

func sum(offsets kadm.ListedOffsets) (total int64) {
	offsets.Each(func(o kadm.ListedOffset) { total += o.Offset })
	return total
}

// wantCompacted: the store's changelog keeps the last count of each word, and few of those before it.
func (w *wordCount) wantCompacted(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "the changelog is compacted", func(context.Context) error {
		records := readToEnd(t, w.on, w.changelog, partitions)
		last := map[string]bool{}
		for _, r := range records {
			last[string(r.Key)] = true
		}
		if len(last) != len(w.want) {
			t.Fatalf("%d words in the changelog, want %d", len(last), len(w.want))
		}
		if len(records) > w.fed/2 {
			return fmt.Errorf("%d records for %d words", len(records), len(last))
		}
		return nil
	})
}

// wantNoStreamsProtocol: the protocol of KIP-1071 is not finished in Apache Kafka 4.1 and not advertised by default.
func wantNoStreamsProtocol(t *testing.T, on *servers) {
	t.Helper()
	answer, err := kmsg.NewPtrApiVersionsRequest().RequestWith(harness.Context(t), on.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	const streamsGroupHeartbeat, streamsGroupDescribe = 88, 89
	for _, key := range answer.ApiKeys {
		if key.ApiKey == streamsGroupHeartbeat || key.ApiKey == streamsGroupDescribe {
			t.Errorf("API key %d is advertised", key.ApiKey)
		}
	}
}
