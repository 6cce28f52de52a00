package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	names atomic.Int64
	run   = fmt.Sprintf("%x", time.Now().UnixNano()&0xffffff)
)

// Name returns a topic, group or file name that no other test of this run uses.
func Name(prefix string) string { return fmt.Sprintf("%s-%s-%d", prefix, run, names.Add(1)) }

// Context ends after two minutes, or with the test.
func Context(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// Client is a franz-go client of the node, closed with the test.
func (n *Node) Client(tb testing.TB, options ...kgo.Opt) *kgo.Client {
	tb.Helper()
	client, err := kgo.NewClient(append(n.Seeds(), options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

// CreateTopic makes a topic, deletes it with the test, and returns its name. Configs are "key=value".
func (n *Node) CreateTopic(tb testing.TB, prefix string, partitions int32, configs ...string) string {
	tb.Helper()
	topic := Name(prefix)
	n.CreateNamedTopic(tb, topic, partitions, configs...)
	tb.Cleanup(func() {
		if n.process != nil && !n.Alive() {
			return
		}
		n.deleteTopic(topic)
	})
	return topic
}

// deleteTopic is for the end of a test: the topic may be gone, and so may the node.
func (n *Node) deleteTopic(topic string) {
	client, err := kgo.NewClient(n.Seeds()...)
	if err != nil {
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _ = kadm.NewClient(client).DeleteTopics(ctx, topic)
}

// CreateNamedTopic makes a topic that stays, and waits until it takes records: for ever if its one replica is given to a node that has just
// died and is not fenced yet. Configs are "key=value".
func (n *Node) CreateNamedTopic(tb testing.TB, topic string, partitions int32, configs ...string) {
	tb.Helper()
	n.MakeTopic(tb, topic, partitions, 1, configs...)
	n.awaitLeaders(tb, kadm.NewClient(n.Client(tb)), topic, partitions)
}

// MakeTopic asks for a topic until it is made. One that is there already is what an attempt before has made.
func (n *Node) MakeTopic(tb testing.TB, topic string, partitions int32, replicas int16, configs ...string) {
	tb.Helper()
	settings := map[string]*string{}
	for _, kv := range configs {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			tb.Fatalf("BUG: topic config %q is not key=value", kv)
		}
		settings[k] = &v
	}
	Asked(tb, n, "topic "+topic, func(ctx context.Context, admin *kadm.Client) (kadm.CreateTopicResponse, error) {
		made, err := admin.CreateTopic(ctx, partitions, replicas, settings, topic)
		if errors.Is(err, kerr.TopicAlreadyExists) {
			err = nil
		}
		return made, err
	})
}

// awaitLeaders returns once every partition has a leader that knows of it: creation is answered before that.
func (n *Node) awaitLeaders(tb testing.TB, admin *kadm.Client, topic string, partitions int32) {
	tb.Helper()
	Eventually(tb, "leaders of topic "+topic, func(ctx context.Context) error {
		details, err := admin.ListTopics(ctx, topic)
		if err != nil {
			return err
		}
		if !led(details[topic], partitions) {
			return fmt.Errorf("%+v", details[topic])
		}
		ends, err := admin.ListEndOffsets(ctx, topic)
		return errors.Join(err, ends.Error())
	})
}

func led(detail kadm.TopicDetail, partitions int32) bool {
	if detail.Err != nil || len(detail.Partitions) != int(partitions) {
		return false
	}
	for _, p := range detail.Partitions {
		if p.Err != nil || p.Leader < 0 {
			return false
		}
	}
	return true
}

// Produce writes values as one record each to partition 0, waits for their acknowledgement, and fails on the first error.
func (n *Node) Produce(tb testing.TB, topic string, values []string, options ...kgo.Opt) {
	tb.Helper()
	client := n.Client(tb, append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, options...)...)
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: topic, Value: []byte(v)}
	}
	if err := client.ProduceSync(Context(tb), records...).FirstErr(); err != nil {
		tb.Fatalf("produce to %s: %v", topic, err)
	}
}

// Consume reads count records from the start of a topic, without a group, in the order of arrival.
func (n *Node) Consume(tb testing.TB, topic string, count int, options ...kgo.Opt) []*kgo.Record {
	tb.Helper()
	options = append([]kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, options...)
	return Poll(tb, n.Client(tb, options...), count)
}

// Poll takes count records from a consumer.
func Poll(tb testing.TB, client *kgo.Client, count int) []*kgo.Record {
	tb.Helper()
	ctx := Context(tb)
	var records []*kgo.Record
	for len(records) < count {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			tb.Fatalf("%d of %d records arrived in time", len(records), count)
		}
		if err := fetches.Err0(); err != nil {
			tb.Fatal(err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}

// Values are the records' values as text.
func Values(records []*kgo.Record) []string {
	values := make([]string, len(records))
	for i, r := range records {
		values[i] = string(r.Value)
	}
	return values
}

// Numbered returns prefix0 … prefixN-1.
func Numbered(prefix string, count int) []string {
	values := make([]string, count)
	for i := range values {
		values[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return values
}
