package apps

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// patience is for what takes seconds; a busy machine takes longer.
const patience = 4 * time.Minute

// kills is how often the node and the application are ended, each.
func kills(t *testing.T) int {
	t.Helper()
	return harness.Setting(t, "RINGMILL_TEST_KILLS", 2)
}

func writeLines(t *testing.T, path string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// asked is what records are read from: a node, or servers.
type asked interface {
	Client(testing.TB, ...kgo.Opt) *kgo.Client
}

// committed is a consumer of a topic's committed records from its start.
func committed(t *testing.T, on asked, topic string) *kgo.Client {
	t.Helper()
	return on.Client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
}

// pollAll polls until count records were there, whatever becomes of the node meanwhile.
func pollAll(t *testing.T, client *kgo.Client, count int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var records []*kgo.Record
	for len(records) < count {
		records = append(records, client.PollFetches(ctx).Records()...)
		if ctx.Err() != nil {
			t.Fatalf("%d of %d records within %v", len(records), count, patience)
		}
	}
	return records
}

// awaitCommitted waits until a topic has so many committed records.
func awaitCommitted(t *testing.T, on asked, topic string, count int) {
	t.Helper()
	client := committed(t, on, topic)
	defer client.Close()
	pollAll(t, client, count)
}

// endOffsets are where a topic's partitions end now.
func endOffsets(t *testing.T, on asked, topic string) map[int32]int64 {
	t.Helper()
	ends := map[int32]int64{}
	harness.Eventually(t, "the ends of "+topic, func(ctx context.Context) error {
		client := on.Client(t)
		defer client.Close()
		listed, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
		if err == nil {
			err = listed.Error()
		}
		listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
		return err
	})
	return ends
}

const endHeader = "end of the test's reading"

// readToEnd returns every committed record that is in the topic now: it writes one behind them into each partition, and
// leaves out those, and what other calls have written.
func readToEnd(t *testing.T, on asked, topic string, partitions int32) []*kgo.Record {
	t.Helper()
	mark := harness.Name("end")
	producer := on.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer producer.Close()
	for partition := range partitions {
		end := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(mark), Value: []byte("0"),
			Headers: []kgo.RecordHeader{{Key: endHeader}}}
		if err := producer.ProduceSync(harness.Context(t), end).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	client := committed(t, on, topic)
	defer client.Close()
	var records []*kgo.Record
	for ends := int32(0); ends < partitions; {
		for _, r := range pollAll(t, client, 1) {
			switch {
			case len(r.Headers) == 0 || r.Headers[0].Key != endHeader:
				records = append(records, r)
			case string(r.Key) == mark:
				ends++
			}
		}
	}
	return records
}
