package kafkatools

import (
	"os"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

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
