package kafkatools

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// act does what no tool does. What an action starts ends with the transcript.
func (s *session) act(t *testing.T, verb string, args []string) {
	t.Helper()
	switch verb {
	case "file": // NAME TEXT: a file of {dir}
		if err := os.WriteFile(args[0], []byte(args[1]), 0o644); err != nil {
			t.Fatal(err)
		}
	case "join": // GROUP TOPIC COUNT: a member of a classic group that stays until the transcript ends, with COUNT records committed
		count, err := strconv.Atoi(args[2])
		if err != nil {
			t.Fatal(err)
		}
		s.join(t, args[0], args[1], count)
	case "begin": // TRANSACTIONAL-ID TOPIC VALUE: a transaction that its producer forgets, with one record in partition 0
		s.begin(t, args[0], args[1], args[2])
	case "share": // GROUP TOPIC: a member of a share group that has the topic's partitions, and is not heard of again
		s.share(t, args[0], args[1])
	case "unshare": // GROUP: that member leaves
		s.beat(t, args[0], -1, nil)
	case "lies": // TOPIC DIR: partition 0's log lies in DIR, and no copy of it anywhere
		s.lies(t, args[0], args[1])
	default:
		t.Fatalf("%s: no such action", verb)
	}
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
