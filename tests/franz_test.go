package tests

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// produceKeyed spreads count numbered records over a topic's partitions by key.
func produceKeyed(t *testing.T, node *harness.Node, topic string, count int, options ...kgo.Opt) {
	t.Helper()
	client := node.Client(t, options...)
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "%d", i)}
	}
	if err := client.ProduceSync(harness.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// TestFranzCooperative: two members share a group under the cooperative protocol, one leaves, and every record is
// delivered to one of them.
func TestFranzCooperative(t *testing.T) {
	t.Parallel()
	const count = 6000
	node := harness.Shared(t)
	topic, group := node.CreateTopic(t, "franz", 6), harness.Name("franz")
	produceKeyed(t, node, topic, count)
	var mu sync.Mutex
	seen := map[string]bool{}
	ctx, done := context.WithCancel(harness.Context(t))
	defer done()
	var members sync.WaitGroup
	for range 2 {
		member := node.Client(t, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(kgo.CooperativeStickyBalancer()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxPartitionBytes(4096))
		members.Go(func() {
			for ctx.Err() == nil {
				fetches := member.PollRecords(ctx, 200)
				mu.Lock()
				fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
				complete := len(seen) == count
				mu.Unlock()
				if complete {
					done()
				}
			}
			if err := member.CommitUncommittedOffsets(harness.Context(t)); err != nil {
				t.Error(err)
			}
			member.LeaveGroup()
		})
	}
	members.Wait()
	if len(seen) != count {
		t.Errorf("%d of %d records were delivered", len(seen), count)
	}
	lags, err := kadm.NewClient(node.Client(t)).Lag(harness.Context(t), group)
	if err != nil {
		t.Fatal(err)
	}
	lag := lags[group]
	if lag.Error() != nil || lag.State != "Empty" {
		t.Errorf("after its members left, the group is %s: %v", lag.State, lag.Error())
	}
}

// TestFranzGroupOutlivesKill: what a group committed is where it goes on after kill -9.
func TestFranzGroupOutlivesKill(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	topic := node.CreateTopic(t, "outlives", 1)
	node.Produce(t, topic, harness.Numbered("v", 1000))
	consume := func(count int) []string {
		client := node.Client(t, kgo.ConsumerGroup("outlives"), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		var records []*kgo.Record
		for len(records) < count {
			records = append(records, client.PollRecords(harness.Context(t), count-len(records)).Records()...)
		}
		if err := client.CommitRecords(harness.Context(t), records...); err != nil {
			t.Fatal(err)
		}
		client.Close()
		return harness.Values(records)
	}
	consume(600)
	node.Kill(t)
	node.Restart(t)
	node.Produce(t, topic, harness.Numbered("w", 10))
	rest := consume(410)
	if rest[0] != "v600" || rest[409] != "w9" {
		t.Errorf("went on at %s and ended at %s, want v600 and w9", rest[0], rest[409])
	}
}

// TestFranzIdempotentOverKill: a producer that was cut off by kill -9 goes on with its sequence when the node is back, and
// nothing is lost or twice.
func TestFranzIdempotentOverKill(t *testing.T) {
	t.Parallel()
	const count = 3000
	node := harness.Start(t, harness.Options{})
	topic := node.CreateTopic(t, "sequence", 1)
	client := node.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(2000))
	var acknowledged sync.WaitGroup
	acknowledged.Add(count)
	var failed sync.Once
	for i := range count {
		client.Produce(context.Background(), &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "v%d", i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Do(func() { t.Error(err) })
			}
			acknowledged.Done()
		})
		if i == 0 { // a producer that has no id yet gives up when its connection ends
			if err := client.Flush(harness.Context(t)); err != nil {
				t.Fatal(err)
			}
		}
		if i == count/2 {
			node.Kill(t)
			node.Restart(t)
		}
	}
	acknowledged.Wait()
	for i, value := range harness.Values(node.Consume(t, topic, count)) {
		if want := fmt.Sprintf("v%d", i); value != want {
			t.Fatalf("offset %d holds %s, want %s", i, value, want)
		}
	}
}

// TestFranzTransactionsOverKill: a transaction that kill -9 cuts in two is committed whole or not at all, and the next go on.
func TestFranzTransactionsOverKill(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	topic := node.CreateTopic(t, "exact", 3)
	client := node.Client(t, kgo.TransactionalID("exact-"+topic), kgo.DefaultProduceTopic(topic))
	var want []string
	for txn := range 20 {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		var values []string
		for i := range 10 {
			v := fmt.Sprintf("%d-%d", txn, i)
			values = append(values, v)
			client.Produce(context.Background(), kgo.StringRecord(v), nil)
			if txn%7 == 3 && i == 5 {
				node.Kill(t)
				node.Restart(t)
			}
		}
		commit := txn%3 != 0
		flushed := client.Flush(harness.Context(t))
		if err := client.EndTransaction(harness.Context(t), kgo.TransactionEndTry(commit && flushed == nil)); err != nil {
			t.Fatalf("transaction %d: %v", txn, err)
		}
		if commit && flushed == nil {
			want = append(want, values...)
		}
	}
	reader := node.Client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	seen := make(map[string]int)
	for n := 0; n < len(want); {
		got := reader.PollFetches(harness.Context(t))
		if err := got.Err0(); err != nil {
			t.Fatal(err)
		}
		got.EachRecord(func(r *kgo.Record) {
			seen[string(r.Value)]++
			n++
		})
	}
	for _, v := range want {
		if seen[v] != 1 {
			t.Errorf("record %s was read %d times", v, seen[v])
		}
	}
}
