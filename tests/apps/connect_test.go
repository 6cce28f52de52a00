package apps

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ringmill/ringmill/tests/harness"
)

// connect is a distributed worker of Kafka Connect that copies a file's lines into a topic, and the topic's into another file.
type connect struct {
	node          *harness.Node
	worker        *harness.Program
	rest          string // URL of the worker
	input, output string // files
	topic         string
	lines         int // in the input
}

func startConnect(t *testing.T) *connect {
	t.Helper()
	dir := t.TempDir()
	c := &connect{topic: "lines", input: filepath.Join(dir, "input.txt"), output: filepath.Join(dir, "output.txt"),
		rest: fmt.Sprintf("http://127.0.0.1:%d", harness.FreePort(t))}
	c.node = harness.Start(t, harness.Options{Properties: map[string]string{
		"log.cleaner.backoff.ms": "200", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}})
	c.node.CreateNamedTopic(t, c.topic, 1)
	properties := filepath.Join(dir, "worker.properties")
	writeLines(t, properties,
		"bootstrap.servers="+c.node.Address, "listeners="+c.rest, "group.id=connect",
		"exactly.once.source.support=enabled",
		"key.converter=org.apache.kafka.connect.storage.StringConverter",
		"value.converter=org.apache.kafka.connect.storage.StringConverter",
		"config.storage.topic=connect-configs", "config.storage.replication.factor=1",
		"status.storage.topic=connect-status", "status.storage.replication.factor=1", "status.storage.partitions=1",
		"offset.storage.topic=connect-offsets", "offset.storage.replication.factor=1", "offset.storage.partitions=1",
		// the offsets are compacted within the test
		"offset.storage.segment.ms=500", "offset.storage.min.cleanable.dirty.ratio=0.01", "offset.storage.max.compaction.lag.ms=500",
		"offset.flush.interval.ms=500", "plugin.discovery=service_load",
		// a worker that was killed is missed soon, and so is its sink's consumer; its tasks are not kept for it
		"session.timeout.ms=6000", "heartbeat.interval.ms=1000", "scheduled.rebalance.max.delay.ms=0",
		"consumer.session.timeout.ms=6000", "consumer.heartbeat.interval.ms=1000",
		// a worker reads its offsets to their very end before it fences anybody: it waits for the end of the transaction
		// that the killed one has left there
		"producer.transaction.timeout.ms=10000")
	c.worker = harness.StartProgram(t, harness.JavaApp(t, "org.apache.kafka.connect.cli.ConnectDistributed", properties)...)
	return c
}

// put makes a connector.
func (c *connect) put(t *testing.T, name string, config map[string]string) {
	t.Helper()
	body, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "connector "+name+" is made", func(ctx context.Context) error {
		_, err := c.ask(ctx, http.MethodPut, "/connectors/"+name+"/config", body)
		return err
	})
}

func (c *connect) ask(ctx context.Context, method, path string, body []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.rest+path, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return string(text), err
}

const linesAChunk = 3000

// write appends numbered lines to the input file.
func (c *connect) write(t *testing.T) {
	t.Helper()
	file, err := os.OpenFile(c.input, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var text strings.Builder
	for range linesAChunk {
		fmt.Fprintf(&text, "line %d\n", c.lines)
		c.lines++
	}
	if _, err := file.WriteString(text.String()); err != nil {
		t.Fatal(err)
	}
}

// await waits until so many lines are committed to the topic.
func (c *connect) await(t *testing.T, count int) {
	t.Helper()
	awaitCommitted(t, c.node, c.topic, count)
}

// TestConnectExactlyOnce: while connectors copy a file, the node and the worker are ended by kill -9 in turn; the topic has
// each line once, in order, and the copy has each line, in order but for what the sink, at least once, writes again.
func TestConnectExactlyOnce(t *testing.T) {
	t.Parallel()
	c := startConnect(t)
	c.write(t)
	c.put(t, "source", map[string]string{"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
		"tasks.max": "1", "file": c.input, "topic": c.topic, "batch.size": "50",
		"exactly.once.support": "required", "transaction.boundary": "poll"})
	c.put(t, "sink", map[string]string{"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
		"tasks.max": "1", "file": c.output, "topics": c.topic, "consumer.override.isolation.level": "read_committed"})
	c.await(t, 1) // it runs
	for range kills(t) {
		c.write(t)
		c.await(t, c.lines-linesAChunk+1) // part of it is under way
		c.node.Kill(t)
		c.node.Restart(t)
		c.write(t)
		c.await(t, c.lines-linesAChunk+1)
		c.worker.Kill(t)
		c.worker.Restart(t)
	}
	c.await(t, c.lines)
	c.wantCopy(t)
	c.wantOffset(t)
	c.worker.Stop(t)
	c.wantTopic(t)
	c.wantCompacted(t)
}

func (c *connect) wantTopic(t *testing.T) {
	t.Helper()
	records := readToEnd(t, c.node, c.topic, 1)
	for i, r := range records {
		if want := fmt.Sprintf("line %d", i); string(r.Value) != want {
			t.Fatalf("record %d at offset %d is %q, want %q", i, r.Offset, r.Value, want)
		}
	}
	if len(records) != c.lines {
		t.Errorf("%d records, want %d", len(records), c.lines)
	}
}

// wantCopy waits until the copy is complete. Lines come in order; the sink may go back to what it had not committed.
func (c *connect) wantCopy(t *testing.T) {
	t.Helper()
	harness.Eventually(t, "the file is copied", func(context.Context) error {
		text, err := os.ReadFile(c.output)
		if err != nil {
			return err
		}
		next, most := 0, 0
		for line := range strings.Lines(string(text)) {
			var n int
			if _, err := fmt.Sscanf(line, "line %d\n", &n); err != nil {
				return fmt.Errorf("%q: %w", line, err) // the last one may be half written
			}
			if n > most {
				t.Fatalf("line %d comes after line %d: those between are missing", n, next-1)
			}
			next, most = n+1, max(most, n+1)
		}
		if most != c.lines {
			return fmt.Errorf("%d of %d lines", most, c.lines)
		}
		return nil
	})
}

// wantOffset: the source's offset, as the worker has it from its topic, is the input's length.
func (c *connect) wantOffset(t *testing.T) {
	t.Helper()
	input, err := os.Stat(c.input)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"position":%d}`, input.Size())
	harness.Eventually(t, "the source's offset is "+want, func(ctx context.Context) error {
		offsets, err := c.ask(ctx, http.MethodGet, "/connectors/source/offsets", nil)
		if err == nil && !strings.Contains(offsets, want) {
			err = fmt.Errorf("%s", offsets)
		}
		return err
	})
}

// wantCompacted: Connect's topics are compacted ones, and of the source's many offsets few are left.
func (c *connect) wantCompacted(t *testing.T) {
	t.Helper()
	admin := kadm.NewClient(c.node.Client(t))
	configs, err := admin.DescribeTopicConfigs(harness.Context(t), "connect-configs", "connect-offsets", "connect-status")
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range configs {
		for _, config := range topic.Configs {
			if config.Key == "cleanup.policy" && config.MaybeValue() != "compact" {
				t.Errorf("%s has cleanup.policy %q", topic.Name, config.MaybeValue())
			}
		}
	}
	transactions := c.lines / 50
	harness.Eventually(t, "the offsets are compacted", func(context.Context) error {
		if records := readToEnd(t, c.node, "connect-offsets", 1); len(records) > transactions/2 {
			return fmt.Errorf("%d records of %d transactions are left", len(records), transactions)
		}
		return nil
	})
}
