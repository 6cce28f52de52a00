package cluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// The kinds of coordinators that FindCoordinator knows.
const (
	ofGroup       int8 = 0
	ofTransaction int8 = 1
)

// coordinatorOf waits until a node knows the coordinator of a key, and gives that.
func coordinatorOf(t *testing.T, c *harness.Cluster, asked *harness.Node, kind int8, key string) (found *harness.Node) {
	t.Helper()
	harness.Eventually(t, "the coordinator of "+key, func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(asked.Address))
		if err != nil {
			return err
		}
		defer client.Close()
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKeys = kind, []string{key}
		resp, err := client.SeedBrokers()[0].Request(ctx, req)
		if err != nil {
			return err
		}
		answer := resp.(*kmsg.FindCoordinatorResponse).Coordinators[0]
		if answer.ErrorCode != 0 {
			return kerr.ErrorForCode(answer.ErrorCode)
		}
		found = c.Nodes[answer.NodeID-1]
		return nil
	})
	return found
}

// committed are the values of a topic's committed records, as the first count of them are read.
func committed(t *testing.T, c *harness.Cluster, topic string, count int) []string {
	t.Helper()
	client := c.Client(t, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	got := harness.Values(harness.Poll(t, client, count))
	slices.Sort(got)
	return got
}

// TestTransactionsReachOtherNodes: transactions whose partitions are led by all nodes are committed and aborted as a whole, one right
// after the other, whichever node their coordinator is on.
func TestTransactionsReachOtherNodes(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic := createTopic(t, c.Nodes[0], 6, 3)
	var want []string
	for id := range 4 {
		client := c.Client(t, kgo.TransactionalID(fmt.Sprint("t", id)), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		for txn := range 10 {
			if err := client.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			commit := txn%3 != 1
			for i := range 12 {
				value := fmt.Sprintf("%d-%d-%d", id, txn, i)
				if commit {
					want = append(want, value)
				}
				client.Produce(harness.Context(t), kgo.StringRecord(value), func(_ *kgo.Record, err error) {
					if err != nil {
						t.Errorf("record %s: %v", value, err)
					}
				})
			}
			if err := client.Flush(harness.Context(t)); err != nil {
				t.Fatal(err)
			}
			if err := client.EndTransaction(harness.Context(t), kgo.TransactionEndTry(commit)); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(want)
	if got := committed(t, c, topic, len(want)); !slices.Equal(got, want) {
		t.Errorf("%d committed records, want the %d of the transactions that were committed", len(got), len(want))
	}
}

// TestCopyIsExactOverKills: a program that copies a topic, exactly once, goes on while the nodes of its group's coordinator and of its
// transactions' are killed, and come back. Each record is copied once.
func TestCopyIsExactOverKills(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "2"})
	from, to := createTopic(t, c.Nodes[0], 3, 3), createTopic(t, c.Nodes[0], 6, 3)
	group, id := harness.Name("group"), harness.Name("copy")
	const each = 200
	var want []string
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(c.Addresses()...), kgo.TransactionalID(id), kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(from), kgo.DefaultProduceTopic(to), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.SessionTimeout(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	copied := 0
	for round := range 5 {
		values := harness.Numbered(fmt.Sprintf("r%d-", round), each)
		want = append(want, values...)
		producer := c.Client(t, kgo.DefaultProduceTopic(from))
		for _, v := range values {
			producer.Produce(context.Background(), kgo.StringRecord(v), func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("record %s: %v", v, err)
				}
			})
		}
		if err := producer.Flush(harness.Context(t)); err != nil {
			t.Fatal(err)
		}
		producer.Close()
		var killed *harness.Node
		if round > 0 {
			kind, key := ofGroup, group
			if round%2 == 0 {
				kind, key = ofTransaction, id
			}
			killed = coordinatorOf(t, c, c.Nodes[0], kind, key)
		}
		for copied < len(want) {
			copied += copySome(t, session, killed)
			killed = nil
		}
		for _, n := range c.Nodes {
			if !n.Alive() {
				n.Restart(t)
			}
		}
		awaitInSync(t, c.Nodes[0], from)
		awaitInSync(t, c.Nodes[0], to)
	}
	slices.Sort(want)
	if got := committed(t, c, to, len(want)); !slices.Equal(got, want) {
		t.Errorf("%d copies, want %d, each once", len(got), len(want))
	}
	// the last transaction's end comes to each of its partitions by itself: to the copies, which are read by now, and to the group's offsets
	offsets := harness.Asked(t, c.Nodes[0], "the group's offsets", func(ctx context.Context, admin *kadm.Client) (kadm.OffsetResponses, error) {
		return admin.FetchOffsets(kadm.RequireStable(ctx), group)
	})
	var sum int64
	offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
	if sum != int64(len(want)) {
		t.Errorf("the group's offsets add up to %d, want %d", sum, len(want))
	}
}

// copySome copies what comes next in one transaction and says how many records that were; none if it was aborted. killed is killed in its
// middle, nil for nobody.
func copySome(t *testing.T, session *kgo.GroupTransactSession, killed *harness.Node) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(harness.Context(t), 2*time.Minute)
	defer cancel()
	fetches := session.PollFetches(ctx)
	if err := ctx.Err(); err != nil {
		t.Fatal("there is nothing to copy: ", err)
	}
	if err := session.Begin(); err != nil {
		t.Fatal(err)
	}
	n := 0
	fetches.EachRecord(func(r *kgo.Record) {
		n++
		session.Produce(ctx, kgo.StringRecord(string(r.Value)), func(_ *kgo.Record, err error) {
			if err != nil {
				t.Logf("copy of %s: %v", r.Value, err)
			}
		})
	})
	if killed != nil {
		killed.Kill(t)
	}
	done, err := session.End(ctx, kgo.TryCommit)
	if err != nil {
		t.Logf("transaction of %d records: %v", n, err)
	}
	if !done {
		return 0
	}
	return n
}
