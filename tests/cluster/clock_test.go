package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
)

// hourOff are the ways in which a clock is an hour off.
var hourOff = []time.Duration{time.Hour, -time.Hour}

// withClocks are places whose clocks the test sets.
func withClocks(t *testing.T, n int) (places []harness.Place) {
	t.Helper()
	for range n {
		places = append(places, harness.Place{Clock: harness.NewClock(t)})
	}
	return places
}

// TestNewNodeWithAWrongClock: a node whose clock is an hour off does not come in, and nothing is written that keeps it from coming in when its
// clock is set.
func TestNewNodeWithAWrongClock(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 2, nil)
	clock := harness.NewClock(t)
	n := c.LayoutAt(t, 3, harness.Place{Clock: clock}, nil)
	for _, off := range hourOff {
		clock.Set(off)
		refused(t, n, "the wall clock is 1h0m", "away from the controller's; set it", "nothing was changed here")
	}
	clock.Set(0)
	n.Restart(t)
	awaitAgreement(t, append(slices.Clone(c.Nodes), n), 1, 2, 3)
}

// TestClocksAnHourOff: each node's clock in turn goes an hour ahead and an hour behind while it runs, as one that is set by hand, and right
// again. Every timeout is a few minutes, so that what goes by the wall clock and should not is over at once: no leader changes, the group keeps
// its generation and the transaction stays open. The node says that its clock is off; records are deleted by age as its clock says.
func TestClocksAnHourOff(t *testing.T) {
	t.Parallel()
	places := withClocks(t, 3)
	c := harness.StartClusterAt(t, places, map[string]string{
		"broker.session.timeout.ms": "300000", "broker.heartbeat.interval.ms": "500", "replica.lag.time.max.ms": "300000",
		"min.insync.replicas": "2", "default.replication.factor": "3", "offsets.topic.replication.factor": "3",
		"transaction.state.log.replication.factor": "3", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200", "auto.leader.rebalance.enable": "false",
		"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "0", "log.retention.ms": "7200000",
		"log.message.timestamp.after.max.ms": "7200000", // an hour is the default: a node further behind refuses what clients send now
	})
	kept, short := harness.Name("kept"), harness.Name("short")
	c.Nodes[0].MakeTopic(t, kept, 3, 3)
	c.Nodes[0].MakeTopic(t, short, 1, 3, "retention.ms=1800000")
	load.AwaitWhole(t, c.Nodes)
	c.Nodes[0].Produce(t, short, harness.Numbered("s", 10))

	values := harness.Numbered("v", 10) // each before a jump, one transaction over all of them beside
	client := c.Nodes[0].Client(t, kgo.TransactionalID(kept), kgo.TransactionTimeout(5*time.Minute))
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	produce := func(value string) {
		t.Helper()
		if err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: kept, Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
	}
	produce(values[0])
	member := c.Nodes[0].Client(t, kgo.ConsumerGroup(kept), kgo.ConsumeTopics(kept, short), kgo.SessionTimeout(5*time.Minute),
		kgo.HeartbeatInterval(4*time.Minute)) // none comes that would save a session
	harness.Await(t, "a member of the group", func() bool {
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer stop()
		member.PollFetches(ctx)
		_, generation := member.GroupMetadata()
		return generation > 0
	})
	id, generation := member.GroupMetadata()
	epochs := epochsOf(t, c, kept)

	sent := 1
	for i, place := range places {
		for _, off := range hourOff {
			place.Clock.Set(off)
			awaitSaid(t, c, i, off)
			listGroups(t, c.Nodes[i])
			produce(values[sent])
			sent++
		}
		place.Clock.Set(0)
		awaitSaid(t, c, i, 0)
	}
	produce(values[sent])
	sent++
	if err := client.EndTransaction(harness.Context(t), kgo.TryCommit); err != nil {
		t.Errorf("the transaction did not outlive the clocks: %v", err)
	}
	if got := committed(t, c, kept, sent); !slices.Equal(got, values[:sent]) {
		t.Errorf("%d records of the transaction, want %d", len(got), sent)
	}
	if now := epochsOf(t, c, kept); !slices.Equal(now, epochs) {
		t.Errorf("leader epochs are %v, and were %v: a clock has moved a leader", now, epochs)
	}
	group := harness.Asked(t, c.Nodes[0], "the group", func(ctx context.Context, admin *kadm.Client) (kadm.DescribedGroup, error) {
		groups, err := admin.DescribeGroups(ctx, kept)
		return groups[kept], err
	})
	if _, now := member.GroupMetadata(); group.State != "Stable" || len(group.Members) != 1 || group.Members[0].MemberID != id || now != generation {
		t.Errorf("the group is %+v in generation %d, and had %s in %d: a clock has ended a session", group, now, id, generation)
	}
	for _, place := range places {
		place.Clock.Set(time.Hour)
	}
	harness.Eventually(t, "records are deleted by age, as clocks an hour ahead have it", func(context.Context) error {
		if start := startOf(t, c, short); start != 10 {
			return fmt.Errorf("the log starts at %d", start)
		}
		return nil
	})
	if start := startOf(t, c, kept); start != 0 {
		t.Errorf("the log of what is not too old by any clock starts at %d", start)
	}
}

// listGroups has a node's group coordinator do something, and look at what is over by then.
func listGroups(t *testing.T, n *harness.Node) {
	t.Helper()
	harness.Asked(t, n, "groups", func(ctx context.Context, admin *kadm.Client) (kadm.ListedGroups, error) { return admin.ListGroups(ctx) })
}

// awaitSaid waits until a node says how far its clock is from the controller's, or if it is that all others do, and has written a line if it is far.
func awaitSaid(t *testing.T, c *harness.Cluster, i int, off time.Duration) {
	t.Helper()
	const near = 60 // s: a heartbeat's way
	harness.Eventually(t, fmt.Sprintf("a node says that the clock of node %d is %v off", i+1, off), func(ctx context.Context) error {
		m, err := metadata(ctx, t, c.Nodes[0])
		if err != nil {
			return err
		}
		sayer, want := c.Nodes[i], off.Seconds()
		if int(m.ControllerID) == i+1 {
			sayer, want = c.Nodes[(i+1)%len(c.Nodes)], -off.Seconds()
		}
		if ahead := sayer.Metric(t, "ringmill_clock_ahead_seconds"); ahead < want-near || ahead > want+near {
			return fmt.Errorf("it says %.0f s ahead, want %.0f", ahead, want)
		}
		if off != 0 && !strings.Contains(sayer.Log(), "the wall clock is not the controller's: set it") {
			return fmt.Errorf("its log has no line of it")
		}
		return nil
	})
}

// epochsOf are the leader epochs of a topic's partitions.
func epochsOf(t *testing.T, c *harness.Cluster, topic string) []int32 {
	t.Helper()
	epochs := map[int32]int32{}
	awaitTopic(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		epochs[p.Partition] = p.LeaderEpoch
		return nil
	})
	return []int32{epochs[0], epochs[1], epochs[2]}
}

// startOf is the first offset of a topic's partition 0.
func startOf(t *testing.T, c *harness.Cluster, topic string) int64 {
	t.Helper()
	starts := harness.Asked(t, c.Nodes[0], "start offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		return admin.ListStartOffsets(ctx, topic)
	})
	start, _ := starts.Lookup(topic, 0)
	return start.Offset
}
