package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestClientRoundTrip: a real client produces idempotently and consumes in a group, commits, and comes back.
func TestClientRoundTrip(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 4)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		const records = 500
		producer := tn.kgo(t, kgo.DefaultProduceTopic("a"))
		for i := range records {
			producer.Produce(ctx, kgo.StringRecord(fmt.Sprint(i)), func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := producer.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		group := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
		seen := make(map[string]int)
		for _, want := range []int{records / 2, records} {
			consumer := tn.kgo(t, group...)
			for len(seen) < want {
				got := consumer.PollRecords(ctx, want-len(seen))
				if err := got.Err0(); err != nil {
					t.Fatal(err)
				}
				got.EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
			}
			if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
				t.Fatal(err)
			}
			consumer.Close()
		}
		for v, n := range seen {
			if n != 1 {
				t.Errorf("record %s was consumed %d times", v, n)
			}
		}
	})
}

func (tn *testNode) kgo(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	// A Fetch that the client sends before it knows of the partition with the records must not take its default 5 s.
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(tn.addr()), kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}
