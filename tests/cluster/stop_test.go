package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// steady produces a record every few milliseconds, numbered, and notes when each was acknowledged.
type steady struct {
	client *kgo.Client
	stop   context.CancelFunc
	ended  sync.WaitGroup

	sent []string // the producing goroutine's until that has ended

	mu     sync.Mutex
	acked  []time.Time
	failed error // the first that was not acknowledged, and why
}

// steadyPause is how often steady produces: gaps between acknowledgements are no finer than that.
const steadyPause = 2 * time.Millisecond

func startSteady(t *testing.T, c *harness.Cluster, topic string) *steady {
	t.Helper()
	client := c.Client(t, kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0),
		kgo.RecordDeliveryTimeout(2*time.Minute), kgo.RetryBackoffFn(func(int) time.Duration { return 5 * time.Millisecond }),
		kgo.MetadataMinAge(10*time.Millisecond))
	// It has its producer id before any node ends: TestNothingAcknowledgedIsLost says why.
	const first = "v0"
	if err := client.ProduceSync(harness.Context(t), kgo.StringRecord(first)).FirstErr(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &steady{client: client, stop: stop, sent: []string{first}}
	t.Cleanup(func() { stop(); s.ended.Wait() })
	s.ended.Go(func() {
		ticker := time.NewTicker(steadyPause)
		defer ticker.Stop()
		for ctx.Err() == nil {
			value := fmt.Sprint("v", len(s.sent))
			s.sent = append(s.sent, value)
			client.Produce(context.Background(), kgo.StringRecord(value), func(_ *kgo.Record, err error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				switch {
				case err == nil:
					s.acked = append(s.acked, time.Now())
				case s.failed == nil:
					s.failed = fmt.Errorf("record %s: %w", value, err)
				}
			})
			<-ticker.C
		}
	})
	return s
}

// end stops producing, and gives what was sent, all of it acknowledged.
func (s *steady) end(t *testing.T) []string {
	t.Helper()
	s.stop()
	s.ended.Wait()
	if err := s.client.Flush(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	return s.sent
}

// longestGap is the longest time without an acknowledgement between two times.
func (s *steady) longestGap(from, to time.Time) (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := from
	for _, at := range s.acked {
		if at.Before(from) {
			continue
		}
		longest = max(longest, at.Sub(last))
		if last = at; at.After(to) {
			break
		}
	}
	return longest
}

// TestCleanStops: a producer goes on while the node that leads its partition is stopped and started again, one node after the other. All
// that it sends is there once, in order. How long it had no acknowledgement, and how long each stop took, is printed;
// RINGMILL_TEST_STOPS says how many.
func TestCleanStops(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2"})
	topic := createTopic(t, c.Nodes[0], 1, 3)
	awaitInSync(t, c.Nodes[0], topic)
	producer := startSteady(t, c, topic)
	var gaps, before, stops []time.Duration
	for i := range harness.Setting(t, "RINGMILL_TEST_STOPS", 3) {
		stopped := c.Nodes[i%len(c.Nodes)] // the controller's node among them
		leadAt(t, c, topic, stopped)
		quiet := time.Now()
		awaitAcknowledged(t, producer, 250)
		from := time.Now()
		before = append(before, producer.longestGap(quiet, from))
		stopped.Stop(t)
		stops = append(stops, time.Since(from))
		awaitAcknowledged(t, producer, 50)
		gaps = append(gaps, producer.longestGap(from, time.Now()))
		stopped.Restart(t)
		awaitInSync(t, c.Nodes[0], topic)
	}
	want := producer.end(t)
	t.Logf("without an acknowledgement: %v", distribution(gaps))
	t.Logf("the same while no node stops: %v", distribution(before))
	t.Logf("from the signal to the process's end: %v", distribution(stops))
	if got := harness.Values(c.Nodes[0].Consume(t, topic, len(want))); !slices.Equal(got, want) {
		t.Errorf("%d records, want the %d that were acknowledged, in order", len(got), len(want))
	}
}

// leadAt has a node lead partition 0 of a topic with replicas on all nodes.
func leadAt(t *testing.T, c *harness.Cluster, topic string, leader *harness.Node) {
	t.Helper()
	at := slices.Index(c.Nodes, leader)
	var replicas []int32
	for i := range c.Nodes {
		replicas = append(replicas, int32((at+i)%len(c.Nodes)+1))
	}
	moveLeader(t, leader, topic, replicas...)
}

// awaitAcknowledged waits for so many more acknowledgements.
func awaitAcknowledged(t *testing.T, s *steady, more int) {
	t.Helper()
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.acked)
	}
	from := count()
	harness.Await(t, "acknowledgements", func() bool { return count() >= from+more })
}

// distribution is the least, the median, the 90th percentile and the most of some durations.
func distribution(all []time.Duration) string {
	slices.Sort(all)
	at := func(share float64) time.Duration {
		return all[int(share*float64(len(all)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("n=%d min=%v p50=%v p90=%v max=%v", len(all), at(0), at(0.5), at(0.9), at(1))
}

// TestAllNodesStopTogether: none of them waits for a controller that there will not be.
func TestAllNodesStopTogether(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic := createTopic(t, c.Nodes[0], 3, 3)
	awaitInSync(t, c.Nodes[0], topic)
	from := time.Now()
	c.Stop(t)
	t.Logf("all stopped in %v", time.Since(from))
	for _, n := range c.Nodes {
		if log := n.Log(); !strings.Contains(log, "cleanly") || strings.Contains(log, "there is no controller to move") || strings.Contains(log, "did not move all leaders") {
			t.Errorf("%s waited:\n%s", n.Address, log)
		}
	}
	c.Restart(t)
	awaitInSync(t, c.Nodes[0], topic)
}
