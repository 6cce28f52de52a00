package api

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

func topicToCreate(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		if c.Name = configs[i]; configs[i+1] != "<null>" {
			c.Value = &configs[i+1]
		}
		t.Configs = append(t.Configs, c)
	}
	return t
}

func assigned(t kmsg.CreateTopicsRequestTopic, partition int32, replicas ...int32) kmsg.CreateTopicsRequestTopic {
	t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: partition, Replicas: replicas})
	return t
}

func createRequest(validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics, req.ValidateOnly = topics, validateOnly
	return req
}

// TestCreateTopicsAnswers holds the codes and messages against what Apache Kafka 4.1.1 answered to the same requests.
func TestCreateTopicsAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		topic   kmsg.CreateTopicsRequestTopic
		code    wire.ErrorCode
		message string
	}{
		{"empty name", topicToCreate("", 1, 1), 17, "Topic name is invalid: the empty string is not allowed"},
		{"dot", topicToCreate(".", 1, 1), 17, "Topic name is invalid: '.' is not allowed"},
		{"space", topicToCreate("a b", 1, 1), 17, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"collision", topicToCreate("a_c", 1, 1), 17, "Topic 'a_c' collides with existing topic: a.c"},
		{"existing", topicToCreate("a.c", 1, 1), 36, "Topic 'a.c' already exists."},
		{"existing, all else wrong", topicToCreate("a.c", 0, 1, "x", "y"), 36, "Topic 'a.c' already exists."},
		{"metadata topic", topicToCreate("__cluster_metadata", 1, 1), 42, "Creation of internal topic __cluster_metadata is prohibited."},
		{"groups' topic", topicToCreate("__consumer_offsets", 1, 1), 42, "Creation of internal topic __consumer_offsets is prohibited."},
		{"no partitions", topicToCreate("v", 0, 1), 37, "Number of partitions was set to an invalid non-positive value."},
		{"-2 partitions", topicToCreate("v", -2, 1), 37, "Number of partitions was set to an invalid non-positive value."},
		{"10,001 partitions", topicToCreate("v", 10_001, 1), 44, "Excessively large number of partitions per request."},
		{"no replicas", topicToCreate("v", 1, 0), 38, "Replication factor must be larger than 0, or -1 to use the default value."},
		{"2 replicas", topicToCreate("v", 1, 2), 38, "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only 1 broker(s) are registered."},
		{"unknown config", topicToCreate("v", 1, 1, "nope", "1"), 40, "Unknown topic config name: nope"},
		{"bad config", topicToCreate("v", 1, 1, "retention.ms", "x"), 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{"null config", topicToCreate("v", 1, 1, "retention.ms", "<null>"), 40, "Null value not supported for topic configs: retention.ms"},
		{"config before counts", topicToCreate("v", 0, 5, "retention.ms", "x"), 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{"assignment and count", assigned(topicToCreate("v", 1, -1), 0, 1), 42, "A manual partition assignment was specified, but numPartitions was not set to -1."},
		{"assignment and replicas", assigned(topicToCreate("v", -1, 1), 0, 1), 42, "A manual partition assignment was specified, but replication factor was not set to -1."},
		{"assignment with a gap", assigned(assigned(topicToCreate("v", -1, -1), 0, 1), 2, 1), 39, "partitions should be a consecutive 0-based integer sequence"},
		{"assignment twice", assigned(assigned(topicToCreate("v", -1, -1), 0, 1), 0, 1), 39, "partitions should be a consecutive 0-based integer sequence"},
		{"assignment to -1", assigned(topicToCreate("v", -1, -1), -1, 1), 39, "partitions should be a consecutive 0-based integer sequence"},
		{"unknown broker", assigned(topicToCreate("v", -1, -1), 0, 99), 39, "The manual partition assignment includes broker 99, but no such broker is registered."},
		{"broker twice", assigned(topicToCreate("v", -1, -1), 0, 1, 1), 39, "The manual partition assignment includes the broker 1 more than once."},
		{"no broker", assigned(topicToCreate("v", -1, -1), 0), 39, "The manual partition assignment includes an empty replica list."},
		{"defaults", topicToCreate("v", -1, -1), 0, "<null>"},
		{"assignment", assigned(assigned(topicToCreate("v", -1, -1), 1, 1), 0, 1), 0, "<null>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFakeBroker(t)
			b.withTopic(t, "a.c", 1)
			for _, validateOnly := range []bool{true, false} {
				got := ask[*kmsg.CreateTopicsResponse](t, b, 7, createRequest(validateOnly, c.topic)).Topics[0]
				if wire.ErrorCode(got.ErrorCode) != c.code || text(got.ErrorMessage) != c.message {
					t.Errorf("got %d %q", got.ErrorCode, text(got.ErrorMessage))
				}
				if c.code == 0 && got.TopicID == [16]byte{} {
					t.Errorf("validateOnly %v: no topic id", validateOnly)
				}
				if made := b.image.ByName("v") != nil; made != (c.code == 0 && !validateOnly) {
					t.Errorf("validateOnly %v: made %v", validateOnly, made)
				}
			}
		})
	}
}

func TestCreateTopicsTellsWhatItMade(t *testing.T) {
	b := newFakeBroker(t, "num.partitions=3")
	got := ask[*kmsg.CreateTopicsResponse](t, b, 7, createRequest(false, topicToCreate("v", -1, -1, "retention.ms", "5", "retention.ms", "7"))).Topics[0]
	topic := b.image.ByName("v")
	if topic == nil || topic.Partitions != 3 || wire.TopicID(got.TopicID) != topic.ID {
		t.Fatalf("%+v of %+v", topic, got)
	}
	if got.NumPartitions != 3 || got.ReplicationFactor != 1 {
		t.Errorf("%d partitions, %d replicas", got.NumPartitions, got.ReplicationFactor)
	}
	for _, c := range got.Configs {
		switch {
		case c.Name == "retention.ms" && (text(c.Value) != "7" || c.Source != 1),
			c.Name == "cleanup.policy" && (text(c.Value) != "delete" || c.Source != 5):
			t.Errorf("%s is %q of source %d", c.Name, text(c.Value), c.Source)
		}
	}
	if len(got.Configs) < 34 {
		t.Errorf("%d configs", len(got.Configs))
	}
}

func TestCreateTopicsVersionsBefore5TellNoDetails(t *testing.T) {
	b := newFakeBroker(t)
	for v := int16(2); v < 5; v++ {
		got := ask[*kmsg.CreateTopicsResponse](t, b, v, createRequest(true, topicToCreate("v", -1, -1))).Topics[0]
		if got.ErrorCode != 0 || got.Configs != nil {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

func TestCreateTopicsNamedTwiceIsMadeNever(t *testing.T) {
	b := newFakeBroker(t)
	got := ask[*kmsg.CreateTopicsResponse](t, b, 7, createRequest(false, topicToCreate("v", 1, 1), topicToCreate("v", 2, 1), topicToCreate("w", 2, 1)))
	if len(got.Topics) != 2 || got.Topics[0].ErrorCode != 42 || text(got.Topics[0].ErrorMessage) != "Duplicate topic name." || got.Topics[1].ErrorCode != 0 {
		t.Errorf("%+v", got.Topics)
	}
	if b.image.ByName("v") != nil || b.image.ByName("w") == nil {
		t.Error("v was made, or w was not")
	}
}

func TestCreateTopicsCountsPartitionsOfTheWholeRequest(t *testing.T) {
	b := newFakeBroker(t)
	got := ask[*kmsg.CreateTopicsResponse](t, b, 7, createRequest(true, topicToCreate("v", 6000, 1), topicToCreate("w", 6000, 1)))
	for _, topic := range got.Topics {
		if topic.ErrorCode != 44 {
			t.Errorf("%s: %d", topic.Topic, topic.ErrorCode)
		}
	}
}

func TestCreateTopicsPassesOnWhatTheNodeSays(t *testing.T) {
	b := newFakeBroker(t)
	b.createCode = wire.KafkaStorageError
	got := ask[*kmsg.CreateTopicsResponse](t, b, 7, createRequest(false, topicToCreate("v", 1, 1))).Topics[0]
	if got.ErrorCode != 56 || text(got.ErrorMessage) != "not today" {
		t.Errorf("%d %q", got.ErrorCode, text(got.ErrorMessage))
	}
	b.createCode = wire.TopicAlreadyExists // somebody else was faster
	got = ask[*kmsg.CreateTopicsResponse](t, b, 7, createRequest(false, topicToCreate("v", 1, 1))).Topics[0]
	if got.ErrorCode != 36 || !strings.Contains(text(got.ErrorMessage), "already exists") {
		t.Errorf("%d %q", got.ErrorCode, text(got.ErrorMessage))
	}
}
