package apps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// connect are distributed workers of Kafka Connect that copy a file's lines into a topic, and the topic's into another file.
type connect struct {
	on      *servers
	workers []*worker
	input   *os.File
	lines   int    // in input
	output  string // file
	topic   string

	reader    *kgo.Client // of what is committed to the topic
	committed int         // records that it has had
	next      int64       // offset behind them
}

type worker struct {
	*harness.Program
	rest string // URL
}

func startConnect(t *testing.T, on *servers, workers int) *connect {
	t.Helper()
	dir := t.TempDir()
	c := &connect{on: on, topic: "lines", output: filepath.Join(dir, "output.txt")}
	var err error
	if c.input, err = os.Create(filepath.Join(dir, "input.txt")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.input.Close() })
	on.createTopic(t, c.topic, 1)
	c.reader = committed(t, on, c.topic)
	for range workers {
		c.startWorker(t)
	}
	return c
}

func (c *connect) startWorker(t *testing.T) {
	t.Helper()
	rest := fmt.Sprintf("http://127.0.0.1:%d", harness.FreePort(t))
	replicas := fmt.Sprint(c.on.replicas())
	properties := filepath.Join(t.TempDir(), "worker.properties")
	writeLines(t, properties,
		"bootstrap.servers="+c.on.bootstrap(), "listeners="+rest, "group.id=connect",
		"exactly.once.source.support=enabled",
		"key.converter=org.apache.kafka.connect.storage.StringConverter",
		"value.converter=org.apache.kafka.connect.storage.StringConverter",
		"config.storage.topic=connect-configs", "config.storage.replication.factor="+replicas,
		"status.storage.topic=connect-status", "status.storage.replication.factor="+replicas, "status.storage.partitions=1",
		"offset.storage.topic=connect-offsets", "offset.storage.replication.factor="+replicas, "offset.storage.partitions=1",
		// the offsets are compacted within the test
		"offset.storage.segment.ms=500", "offset.storage.min.cleanable.dirty.ratio=0.01", "offset.storage.max.compaction.lag.ms=500",
		"offset.flush.interval.ms=500", "plugin.discovery=service_load",
		// a worker that was killed is missed soon, and so is its sink's consumer; its tasks are not kept for it
		"session.timeout.ms=6000", "heartbeat.interval.ms=1000", "scheduled.rebalance.max.delay.ms=0",
		"consumer.session.timeout.ms=6000", "consumer.heartbeat.interval.ms=1000",
		// a worker reads its offsets to their very end before it fences anybody: it waits for the end of the transaction
		// that the killed one has left there
		"producer.transaction.timeout.ms=10000")
	c.workers = append(c.workers, &worker{rest: rest,
		Program: harness.StartProgram(t, harness.JavaApp(t, "org.apache.kafka.connect.cli.ConnectDistributed", properties)...)})
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

// ask gives the first worker's answer; it sends a request on to the one that leads.
func (c *connect) ask(ctx context.Context, method, path string, body []byte) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.workers[0].rest+path, bytes.NewReader(body))
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

const (
	linesABatch = 50
	linesAhead  = 20 * linesABatch // there is always something under way
)

// write appends numbered lines to the input.
func (c *connect) write(t *testing.T, count int) {
	t.Helper()
	var text strings.Builder
	for range count {
		fmt.Fprintf(&text, "line %d\n", c.lines)
		c.lines++
	}
	if _, err := c.input.WriteString(text.String()); err != nil {
		t.Fatal(err)
	}
}

// run makes both connectors, and ends a node and a worker by turns while lines come in.
func (c *connect) run(t *testing.T, times int) {
	t.Helper()
	c.write(t, linesAhead)
	c.put(t, "source", map[string]string{"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
		"tasks.max": "1", "file": c.input.Name(), "topic": c.topic, "batch.size": fmt.Sprint(linesABatch),
		"exactly.once.support": "required", "transaction.boundary": "poll"})
	c.put(t, "sink", map[string]string{"connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
		"tasks.max": "1", "file": c.output, "topics": c.topic, "consumer.override.isolation.level": "read_committed"})
	c.awaitMore(t) // it runs
	for i := range times {
		c.on.fail(t, func() { c.awaitMore(t) })
		c.awaitMore(t)
		w := c.workers[i%len(c.workers)]
		w.Kill(t)
		w.Restart(t)
		c.awaitMore(t)
	}
}

// awaitMore waits until a line is committed that is not in the topic yet.
func (c *connect) awaitMore(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ends := endOffsets(t, c.on, c.topic); c.next < ends[0]+1; {
		c.poll(ctx)
		if ctx.Err() != nil {
			t.Fatalf("offset %d of the topic is not committed within %v, %d of %d lines are", ends[0], patience, c.committed, c.lines)
		}
		c.write(t, max(0, c.committed+linesAhead-c.lines))
	}
}

// poll takes what is committed next.
func (c *connect) poll(ctx context.Context) {
	for _, r := range c.reader.PollFetches(ctx).Records() {
		c.committed, c.next = c.committed+1, r.Offset+1
	}
}

// finish waits until all of the input is committed, and stops the source.
func (c *connect) finish(t *testing.T) {
	t.Helper()
	all := c.lines
	// A source that returns a full batch keeps the lines behind it in its buffer until the file grows (FileStreamSourceTask.poll of 4.1.1,
	// whatever the server): more lines push those before out.
	harness.Eventually(t, "all lines are committed", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		for c.committed < all && ctx.Err() == nil {
			c.poll(ctx)
		}
		if c.committed < all {
			c.write(t, linesABatch)
			return fmt.Errorf("%d of %d", c.committed, all)
		}
		return nil
	})
	harness.Eventually(t, "the source is stopped", func(ctx context.Context) error {
		if _, err := c.ask(ctx, http.MethodPut, "/connectors/source/stop", nil); err != nil {
			return err
		}
		status, err := c.ask(ctx, http.MethodGet, "/connectors/source/status", nil)
		if err == nil && !strings.Contains(status, `"tasks":[]`) {
			err = errors.New(status)
		}
		return err
	})
}

// TestConnectExactlyOnce: while connectors copy a file, the node and the worker are ended by kill -9 in turn; the topic has
// each line once, in order, and the copy has each line, in order but for what the sink, at least once, writes again.
func TestConnectExactlyOnce(t *testing.T) {
	t.Parallel()
	c := startConnect(t, one(harness.Start(t, harness.Options{Properties: quickTransactions})), 1)
	c.run(t, kills(t))
	c.wantAll(t)
}

// TestConnectOnThreeNodes: the same with two workers, and a node of three ended; the others go on without it.
func TestConnectOnThreeNodes(t *testing.T) {
	t.Parallel()
	c := startConnect(t, three(t, quickTransactions), 2)
	c.run(t, kills(t)-1)
	c.wantAll(t)
}

// quickTransactions ends what a killed worker has left open, and compacts its offsets, within the test.
var quickTransactions = map[string]string{
	"log.cleaner.backoff.ms": "200", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}

// wantAll: the source's offset, the topic and the copy tell of the same lines, which are those of the input in order.
func (c *connect) wantAll(t *testing.T) {
	t.Helper()
	c.finish(t)
	lines := c.wantCopy(t)
	for _, w := range c.workers {
		w.Stop(t)
	}
	c.wantTopic(t, lines)
	c.wantCompacted(t)
}

func (c *connect) wantTopic(t *testing.T, lines int) {
	t.Helper()
	records := readToEnd(t, c.on, c.topic, 1)
	for i, r := range records {
		if want := fmt.Sprintf("line %d", i); string(r.Value) != want {
			t.Fatalf("record %d at offset %d is %q, want %q", i, r.Offset, r.Value, want)
		}
	}
	if len(records) != lines {
		t.Errorf("%d records, want %d", len(records), lines)
	}
}

// wantCopy waits until the copy has as many lines as the source has taken by its own account, and gives their number.
func (c *connect) wantCopy(t *testing.T) (lines int) {
	t.Helper()
	harness.Eventually(t, "the file is copied", func(ctx context.Context) (err error) {
		if lines, err = c.taken(ctx); err != nil {
			return err
		}
		copied, err := c.copied(t)
		if err == nil && copied != lines {
			err = fmt.Errorf("%d of %d lines", copied, lines)
		}
		return err
	})
	return lines
}

// taken is how many lines there are before the source's offset, as a worker has it from its topic.
func (c *connect) taken(ctx context.Context) (int, error) {
	answer, err := c.ask(ctx, http.MethodGet, "/connectors/source/offsets", nil)
	if err != nil {
		return 0, err
	}
	var source struct {
		Offsets []struct{ Offset struct{ Position int } }
	}
	if err := json.Unmarshal([]byte(answer), &source); err != nil {
		return 0, err
	}
	if len(source.Offsets) != 1 {
		return 0, fmt.Errorf("not one offset: %s", answer)
	}
	text, err := os.ReadFile(c.input.Name())
	if err != nil {
		return 0, err
	}
	position := source.Offsets[0].Offset.Position
	if position < 1 || position > len(text) || text[position-1] != '\n' {
		return 0, fmt.Errorf("offset %d of %d bytes is not a line's end", position, len(text))
	}
	return bytes.Count(text[:position], []byte("\n")), nil
}

// copied is how many lines the copy has. They come in order; the sink may go back to what it had not committed.
func (c *connect) copied(t *testing.T) (int, error) {
	t.Helper()
	text, err := os.ReadFile(c.output)
	if err != nil {
		return 0, err
	}
	next, most := 0, 0
	for line := range strings.Lines(string(text)) {
		var n int
		if _, err := fmt.Sscanf(line, "line %d\n", &n); err != nil {
			return 0, fmt.Errorf("%q: %w", line, err) // the last one may be half written
		}
		if n > most {
			t.Fatalf("line %d comes after line %d: those between are missing", n, next-1)
		}
		next, most = n+1, max(most, n+1)
	}
	return most, nil
}

// wantCompacted: Connect's topics are compacted ones, and of the source's many offsets few are left.
func (c *connect) wantCompacted(t *testing.T) {
	t.Helper()
	admin := kadm.NewClient(c.on.Client(t))
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
	transactions := c.lines / linesABatch // at least
	harness.Eventually(t, "the offsets are compacted", func(context.Context) error {
		if records := readToEnd(t, c.on, "connect-offsets", 1); len(records) > transactions/2 {
			return fmt.Errorf("%d records of %d transactions are left", len(records), transactions)
		}
		return nil
	})
}
