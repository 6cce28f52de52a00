package kafkatools

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/wire"
)

// act does what no tool does. What an action starts ends with the transcript.
func (s *session) act(t *testing.T, verb string, args []string) {
	t.Helper()
	switch verb {
	case "file": // NAME LINE…: a file of {dir}
		if err := os.WriteFile(args[0], []byte(strings.Join(args[1:], "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	case "join": // GROUP TOPIC COUNT: a member of a classic group that stays until the transcript ends, with COUNT records committed
		s.join(t, args[0], args[1], number(t, args[2]))
	case "begin": // TRANSACTIONAL-ID TOPIC VALUE: a transaction that its producer forgets, with one record in partition 0
		s.begin(t, args[0], args[1], args[2])
	case "share": // GROUP TOPIC: a member of a share group that has the topic's partitions, and is not heard of again
		s.share(t, args[0], args[1])
	case "unshare": // GROUP: that member leaves
		s.beat(t, args[0], -1, nil)
	case "produce": // TOPIC PARTITION COUNT SIZE: records that all replicas in sync have
		s.produce(t, args[0], number(t, args[1]), number(t, args[2]), number(t, args[3]))
	case "kill", "stop", "restart": // NODE
		s.end(t, verb, s.cluster.Nodes[number(t, args[0])-1])
	case "node": // NODE FILE: what a node's own file of properties says that tools look for; its part of the quorum is in {fourthdirectory}
		s.properties(t, s.cluster.Nodes[number(t, args[0])-1], args[1])
	case "await": // TOPIC PARTITION LEADER REPLICAS ISR: until all nodes that run tell of this state of a partition
		s.await(t, args[0], number(t, args[1]), strings.Join(args[2:], " "))
	case "lies": // TOPIC DIR: partition 0's log lies in DIR, and no copy of it anywhere
		s.lies(t, args[0], args[1])
	default:
		t.Fatalf("%s: no such action", verb)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *session) produce(t *testing.T, topic string, partition, count, size int) {
	t.Helper()
	producer := s.node.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	now := time.Now()
	for i := range count {
		// one millisecond each: of records with one timestamp a topic's largest timestamp is the first's
		timestamp := now.Add(time.Duration(i) * time.Millisecond)
		record := &kgo.Record{Topic: topic, Partition: int32(partition), Value: make([]byte, size), Timestamp: timestamp}
		if err := producer.ProduceSync(harness.Context(t), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// end ends a node, or starts it again.
func (s *session) end(t *testing.T, verb string, n *harness.Node) {
	t.Helper()
	switch verb {
	case "kill":
		n.Kill(t)
	case "stop":
		n.Stop(t)
	case "restart":
		n.Restart(t)
	}
}

// properties writes a node's file of properties, which for Apache Kafka is there, and learns the id of its directory of metadata.
func (s *session) properties(t *testing.T, n *harness.Node, path string) {
	t.Helper()
	id := int32(slices.Index(s.cluster.Nodes, n) + 1)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	harness.Await(t, "the node is an observer of the quorum that has caught up", func() bool {
		quorum := harness.Ask[*kmsg.DescribeQuorumResponse](t, s.node, req).Topics[0].Partitions[0]
		for _, observer := range quorum.Observers {
			if observer.ReplicaID == id && observer.LastCaughtUpTimestamp > 0 {
				s.names["{fourthdirectory}"] = wire.UUID(observer.ReplicaDirectoryID).String()
				return true
			}
		}
		return false
	})
	text := fmt.Sprintf("node.id=%d\nprocess.roles=broker,controller\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://%s\nlog.dirs=%s\n", id, n.Address, n.LogDir)
	if n.Peer == harness.Kafka {
		written, err := os.ReadFile(n.ConfigFile)
		if err != nil {
			t.Fatal(err)
		}
		text = string(written)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s *session) await(t *testing.T, topic string, partition int, want string) {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	for _, n := range s.cluster.Nodes {
		if !n.Alive() {
			continue
		}
		harness.Eventually(t, topic+" at "+n.Address, func(ctx context.Context) error {
			client, err := kgo.NewClient(kgo.SeedBrokers(n.Address))
			if err != nil {
				return err
			}
			defer client.Close()
			answer, err := client.SeedBrokers()[0].Request(ctx, req)
			if err != nil {
				return err
			}
			for _, p := range answer.(*kmsg.MetadataResponse).Topics[0].Partitions {
				if int(p.Partition) == partition {
					if got := fmt.Sprint(p.Leader, " ", listed(p.Replicas), " ", listed(slices.Sorted(slices.Values(p.ISR)))); got != want {
						return fmt.Errorf("partition %d is %s, not %s", partition, got, want)
					}
					return nil
				}
			}
			return fmt.Errorf("no partition %d", partition)
		})
	}
}

// listed are nodes as a transcript has them; those in sync stand in no order.
func listed(nodes []int32) string {
	texts := make([]string, len(nodes))
	for i, n := range nodes {
		texts[i] = fmt.Sprint(n)
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ",")
}

func (s *session) join(t *testing.T, group, topic string, count int) {
	t.Helper()
	member := s.node.Client(t, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("member"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	harness.Poll(t, member, count)
	if err := member.CommitUncommittedOffsets(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
}

func (s *session) begin(t *testing.T, id, topic, value string) {
	t.Helper()
	producer := s.node.Client(t, kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	record := &kgo.Record{Topic: topic, Value: []byte(value)}
	if err := producer.ProduceSync(harness.Context(t), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// sharer is the member that takes part in share groups.
const sharer = "sharer"

func (s *session) share(t *testing.T, group, topic string) {
	t.Helper()
	answer := s.beat(t, group, 0, []string{topic})
	harness.Await(t, "partitions for a member of a share group", func() bool { // their states are made behind the answers
		answer = s.beat(t, group, answer.MemberEpoch, []string{topic})
		return answer.Assignment != nil && len(answer.Assignment.TopicPartitions) > 0
	})
}

// beat sends one heartbeat once the group has a coordinator.
func (s *session) beat(t *testing.T, group string, epoch int32, topics []string) (answer *kmsg.ShareGroupHeartbeatResponse) {
	t.Helper()
	client := s.node.Client(t, kgo.ClientID("member"))
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.MemberEpoch, req.SubscribedTopicNames = group, sharer, epoch, topics
	harness.Await(t, "a heartbeat of a share group", func() bool {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKey, find.CoordinatorKeys = group, []string{group}
		if _, err := find.RequestWith(harness.Context(t), client); err != nil {
			return false
		}
		var err error
		answer, err = req.RequestWith(harness.Context(t), client)
		return err == nil && answer.ErrorCode == 0
	})
	return answer
}

// lies waits until the log of a topic's partition 0 lies in dir and is not on its way elsewhere.
func (s *session) lies(t *testing.T, topic, dir string) {
	t.Helper()
	client := s.node.Client(t)
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	harness.Await(t, "log of "+topic+" in "+dir, func() bool {
		answer, err := req.RequestWith(harness.Context(t), client)
		if err != nil {
			t.Fatal(err)
		}
		var in []string
		for _, d := range answer.Dirs {
			if len(d.Topics) > 0 {
				in = append(in, d.Dir)
			}
		}
		return slices.Equal(in, []string{dir})
	})
}
