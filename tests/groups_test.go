package tests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// awaitShares waits until the members have these numbers of the topic's partitions, each partition once.
func awaitShares(t *testing.T, partitions int, members map[string]javaMember, want map[string]int) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("the partitions are shared as %v", want), func() bool {
		all := map[int32]bool{}
		for name, member := range members {
			has := member.assigned()
			if len(has) != want[name] {
				return false
			}
			for _, p := range has {
				all[p] = true
			}
		}
		return len(all) == partitions
	})
}

func produceValues(t *testing.T, node *harness.Node, topic string, values []string) {
	t.Helper()
	records := make([]*kgo.Record, len(values))
	for i, value := range values {
		records[i] = &kgo.Record{Topic: topic, Key: []byte(value), Value: []byte(value)}
	}
	if err := node.Client(t).ProduceSync(harness.Context(t), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// awaitRead waits until the members together have read each value, and tells whether any came twice.
func awaitRead(t *testing.T, want []string, members ...javaMember) (twice bool) {
	t.Helper()
	times := map[string]int{}
	harness.Await(t, fmt.Sprintf("%d values are read", len(want)), func() bool {
		clear(times)
		for _, member := range members {
			for _, value := range member.read() {
				times[value]++
			}
		}
		return len(times) == len(want)
	})
	for _, value := range want {
		if times[value] == 0 {
			t.Fatalf("%s was not read", value)
		}
		twice = twice || times[value] > 1
	}
	return twice
}

// awaitCommitted waits until the group has committed all of the topic.
func awaitCommitted(t *testing.T, node *harness.Node, group, topic string) {
	t.Helper()
	harness.Await(t, "the group has committed everything", func() bool {
		commits := harness.Asked(t, node, "commits", func(ctx context.Context, admin *kadm.Client) (kadm.OffsetResponses, error) {
			return admin.FetchOffsets(ctx, group)
		})
		ends := harness.Asked(t, node, "end offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
			return admin.ListEndOffsets(ctx, topic)
		})
		complete := true
		ends.Each(func(end kadm.ListedOffset) {
			commit, committed := commits.Lookup(topic, end.Partition)
			complete = complete && committed && commit.At == end.Offset
		})
		return complete
	})
}

// groupType is what ListGroups says of the group: "classic" or "consumer".
func groupType(t *testing.T, node *harness.Node, group string) string {
	t.Helper()
	listed := java(t, javaTools+"GroupsCommand", "--bootstrap-server", node.Address, "--list")
	for line := range strings.Lines(listed) {
		if columns := strings.Fields(line); columns[0] == group {
			return strings.ToLower(columns[1])
		}
	}
	return "unknown"
}

// startPrompt starts a node whose members of consumer groups tell and hear twice a second: 5 s is Kafka's default.
func startPrompt(t *testing.T) *harness.Node {
	t.Helper()
	return harness.Start(t, harness.Options{Properties: map[string]string{
		"group.consumer.min.heartbeat.interval.ms": "500", "group.consumer.heartbeat.interval.ms": "500"}})
}

// TestJavaConsumerProtocol: Apache Kafka's own consumer with group.protocol=consumer (KIP-848): a member joins and leaves
// beside another, and every record is given to one of them.
func TestJavaConsumerProtocol(t *testing.T) {
	t.Parallel()
	node := startPrompt(t)
	topic, group := node.CreateTopic(t, "java-848", 4), harness.Name("java-848")
	values := harness.Numbered("value ", 1000)
	produceValues(t, node, topic, values[:400])
	first := startMember(t, node, topic, group, "consumer")
	awaitShares(t, 4, map[string]javaMember{"first": first}, map[string]int{"first": 4})
	awaitRead(t, values[:400], first)
	second := startMember(t, node, topic, group, "consumer")
	awaitShares(t, 4, map[string]javaMember{"first": first, "second": second}, map[string]int{"first": 2, "second": 2})
	produceValues(t, node, topic, values[400:700])
	if awaitRead(t, values[:700], first, second) {
		t.Error("a record was read twice, and no member had failed")
	}
	if len(second.read()) == 0 {
		t.Error("the second member was given nothing")
	}
	second.Stop(t)
	awaitShares(t, 4, map[string]javaMember{"first": first}, map[string]int{"first": 4})
	produceValues(t, node, topic, values[700:])
	awaitRead(t, values, first, second)
	awaitCommitted(t, node, group, topic)
	if got := groupType(t, node, group); got != "consumer" {
		t.Errorf("the group is of type %s", got)
	}
}

// TestJavaConsumerProtocolStatic: a static member that was away within its session has its partitions again, and the other
// keeps its own all the while.
func TestJavaConsumerProtocolStatic(t *testing.T) {
	t.Parallel()
	node := startPrompt(t)
	topic, group := node.CreateTopic(t, "java-848-static", 4), harness.Name("java-848-static")
	static := startMember(t, node, topic, group, "consumer", "--group-instance-id", "one")
	other := startMember(t, node, topic, group, "consumer", "--group-instance-id", "two")
	members, even := map[string]javaMember{"static": static, "other": other}, map[string]int{"static": 2, "other": 2}
	awaitShares(t, 4, members, even)
	before, assignments := static.assigned(), other.count("partitions_assigned")
	static.Stop(t)
	again := startMember(t, node, topic, group, "consumer", "--group-instance-id", "one")
	members["static"] = again
	awaitShares(t, 4, members, even)
	if got := again.assigned(); !slices.Equal(got, before) {
		t.Errorf("the static member has %v, and had %v", got, before)
	}
	if got := other.count("partitions_assigned"); got != assignments {
		t.Errorf("the other member was assigned partitions %d times, %d before", got, assignments)
	}
}

// TestJavaMigration: a classic group becomes a consumer group while it reads, one member at a time, and back again.
func TestJavaMigration(t *testing.T) {
	t.Parallel()
	node := startPrompt(t)
	topic, group := node.CreateTopic(t, "java-migration", 4), harness.Name("java-migration")
	values := harness.Numbered("value ", 900)
	old := startMember(t, node, topic, group, "classic", "--assignment-strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor")
	awaitShares(t, 4, map[string]javaMember{"old": old}, map[string]int{"old": 4})
	produceValues(t, node, topic, values[:300])
	awaitRead(t, values[:300], old)
	if got := groupType(t, node, group); got != "classic" {
		t.Errorf("the group is of type %s", got)
	}
	upgraded := startMember(t, node, topic, group, "consumer")
	awaitShares(t, 4, map[string]javaMember{"old": old, "new": upgraded}, map[string]int{"old": 2, "new": 2})
	produceValues(t, node, topic, values[300:600])
	awaitRead(t, values[:600], old, upgraded)
	if got := groupType(t, node, group); got != "consumer" {
		t.Errorf("with members of both protocols the group is of type %s", got)
	}
	upgraded.Stop(t)
	awaitShares(t, 4, map[string]javaMember{"old": old}, map[string]int{"old": 4})
	produceValues(t, node, topic, values[600:])
	awaitRead(t, values, old, upgraded)
	awaitCommitted(t, node, group, topic)
	if got := groupType(t, node, group); got != "classic" {
		t.Errorf("with classic members only the group is of type %s", got)
	}
}

// serverSide are franz-go's members of one group of the consumer protocol, which read in turn.
type serverSide struct {
	node         *harness.Node
	topic, group string
	members      []*kgo.Client
	seen         map[string]bool // values
}

func (s *serverSide) join(t *testing.T) {
	t.Helper()
	s.members = append(s.members, s.node.Client(t, kgo.ConsumerGroup(s.group), kgo.ConsumeTopics(s.topic), kgo.ServerSideBalancer(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitMarks()))
}

// poll lets each member read for a moment.
func (s *serverSide) poll(t *testing.T) {
	for _, member := range s.members {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		fetches := member.PollFetches(ctx)
		cancel()
		fetches.EachRecord(func(r *kgo.Record) {
			s.seen[string(r.Value)] = true
			member.MarkCommitRecords(r)
		})
	}
}

// shares are the numbers of partitions that the group's members have, in order.
func (s *serverSide) shares(t *testing.T) (shares []int) {
	t.Helper()
	groups := harness.Asked(t, s.node, "members", func(ctx context.Context, admin *kadm.Client) (kadm.DescribedConsumerGroups, error) {
		return admin.DescribeConsumerGroups(ctx, s.group)
	})
	for _, member := range groups[s.group].Members {
		shares = append(shares, len(member.Assignment[s.topic]))
	}
	slices.Sort(shares)
	return shares
}

func (s *serverSide) await(t *testing.T, count int, shares ...int) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("%d records are read, the partitions shared as %v", count, shares), func() bool {
		s.poll(t)
		return len(s.seen) == count && slices.Equal(s.shares(t), shares)
	})
}

// TestFranzConsumerProtocol: franz-go's members of a consumer group (KIP-848): three share the partitions, one leaves, the
// node ends by kill -9 and comes back, and every record is delivered.
func TestFranzConsumerProtocol(t *testing.T) {
	t.Parallel()
	node := startPrompt(t)
	s := &serverSide{node: node, topic: node.CreateTopic(t, "franz-848", 6), group: harness.Name("franz-848"), seen: map[string]bool{}}
	for range 3 {
		s.join(t)
	}
	values := harness.Numbered("value ", 2000)
	produceValues(t, node, s.topic, values[:1000])
	s.await(t, 1000, 2, 2, 2)
	s.members[0].Close()
	s.members = s.members[1:]
	node.Kill(t)
	node.Restart(t)
	produceValues(t, node, s.topic, values[1000:])
	s.await(t, 2000, 3, 3)
}
