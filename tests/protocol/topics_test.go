package protocol

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func newTopic(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for _, kv := range configs {
		k, v, _ := strings.Cut(kv, "=")
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, &v
		t.Configs = append(t.Configs, c)
	}
	return t
}

func createRequest(validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis, req.ValidateOnly, req.Topics = 10000, validateOnly, topics
	return req
}

func deleteRequest(names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 10000, names
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestCreateTopicsRefusals(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	exists := node.CreateTopic(t, "exists", 1)
	dotted := harness.Name("a.c")
	c := dial(t, node)
	ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(false, newTopic(dotted, 1, 1)))
	t.Cleanup(func() { ask[*kmsg.DeleteTopicsResponse](dial(t, node), 5, deleteRequest(dotted)) })
	for _, row := range []struct {
		name         string
		topic        kmsg.CreateTopicsRequestTopic
		validateOnly bool
		want         *kerr.Error
	}{
		{"empty name", newTopic("", 1, 1), false, kerr.InvalidTopicException},
		{"dot", newTopic(".", 1, 1), false, kerr.InvalidTopicException},
		{"two dots", newTopic("..", 1, 1), false, kerr.InvalidTopicException},
		{"blank", newTopic("a b", 1, 1), false, kerr.InvalidTopicException},
		{"slash", newTopic("a/b", 1, 1), false, kerr.InvalidTopicException},
		{"250 characters", newTopic(strings.Repeat("x", 250), 1, 1), false, kerr.InvalidTopicException},
		{"249 characters", newTopic(strings.Repeat("x", 249), 1, 1), true, nil},
		{"same metric name", newTopic(strings.ReplaceAll(dotted, ".", "_"), 1, 1), false, kerr.InvalidTopicException},
		{"existing", newTopic(exists, 1, 1), false, kerr.TopicAlreadyExists},
		{"existing, validate only (redpanda-data/redpanda#7946)", newTopic(exists, 1, 1), true, kerr.TopicAlreadyExists},
		{"unknown config", newTopic(harness.Name("t"), 1, 1, "no.such.config=1"), false, kerr.InvalidConfig},
		{"config of a wrong type", newTopic(harness.Name("t"), 1, 1, "retention.ms=soon"), false, kerr.InvalidConfig},
		{"config out of range", newTopic(harness.Name("t"), 1, 1, "max.message.bytes=-2"), false, kerr.InvalidConfig},
		{"config not in its list", newTopic(harness.Name("t"), 1, 1, "cleanup.policy=shred"), false, kerr.InvalidConfig},
		{"no partitions", newTopic(harness.Name("t"), 0, 1), false, kerr.InvalidPartitions},
		{"negative partitions", newTopic(harness.Name("t"), -2, 1), false, kerr.InvalidPartitions},
		{"two replicas on one node", newTopic(harness.Name("t"), 1, 2), false, kerr.InvalidReplicationFactor},
		{"no replicas", newTopic(harness.Name("t"), 1, 0), false, kerr.InvalidReplicationFactor},
		{"defaults, validate only", newTopic(harness.Name("t"), -1, -1), true, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := ask[*kmsg.CreateTopicsResponse](dial(t, node), 7, createRequest(row.validateOnly, row.topic))
			if len(res.Topics) != 1 {
				t.Fatalf("%d topics in the answer", len(res.Topics))
			}
			wantCode(t, row.name, res.Topics[0].ErrorCode, row.want)
			if row.want != nil && text(res.Topics[0].ErrorMessage) == "" {
				t.Error("an error without a message")
			}
		})
	}
}

func TestCreateTopicsAnswers(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for version := int16(2); version <= 7; version++ {
		c, name := dial(t, node), harness.Name("created")
		res := ask[*kmsg.CreateTopicsResponse](c, version, createRequest(false, newTopic(name, 2, 1, "retention.ms=1234567")))
		wantCode(t, "create", res.Topics[0].ErrorCode, nil)
		if version >= 5 {
			want(t, "partitions", res.Topics[0].NumPartitions, 2)
			want(t, "replicas", res.Topics[0].ReplicationFactor, 1)
			want(t, "retention.ms in the answer", configIn(res.Topics[0].Configs, "retention.ms"), "1234567")
		}
		if version >= 7 {
			want(t, "topic id is Metadata's", res.Topics[0].TopicID, c.topicID(name))
		}
		gone := ask[*kmsg.DeleteTopicsResponse](c, 5, deleteRequest(name))
		wantCode(t, "delete", gone.Topics[0].ErrorCode, nil)
	}
}

func configIn(configs []kmsg.CreateTopicsResponseTopicConfig, name string) string {
	for _, c := range configs {
		if c.Name == name {
			return text(c.Value)
		}
	}
	return "absent"
}

func TestCreateTopicsValidateOnlyCreatesNothing(t *testing.T) {
	t.Parallel()
	c, name := dial(t, harness.Shared(t)), harness.Name("dry")
	res := ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(true, newTopic(name, 3, 1)))
	wantCode(t, "validate", res.Topics[0].ErrorCode, nil)
	want(t, "partitions", res.Topics[0].NumPartitions, 3)
	req := metadataRequest(name)
	req.AllowAutoTopicCreation = false
	wantCode(t, "metadata", ask[*kmsg.MetadataResponse](c, 8, req).Topics[0].ErrorCode, kerr.UnknownTopicOrPartition)
}

func TestCreateTopicsTwiceInOneRequest(t *testing.T) {
	t.Parallel()
	c, name, other := dial(t, harness.Shared(t)), harness.Name("twice"), harness.Name("once")
	res := ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(true, newTopic(name, 1, 1), newTopic(name, 1, 1), newTopic(other, 1, 1)))
	for _, topic := range res.Topics {
		if topic.Topic == name {
			wantCode(t, "named twice", topic.ErrorCode, kerr.InvalidRequest)
		} else {
			wantCode(t, "named once", topic.ErrorCode, nil)
		}
	}
}

func TestDeleteTopics(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c := dial(t, node)
	wantCode(t, "unknown name", ask[*kmsg.DeleteTopicsResponse](c, 5, deleteRequest("no-such-topic")).Topics[0].ErrorCode, kerr.UnknownTopicOrPartition)
	byID := kmsg.NewPtrDeleteTopicsRequest()
	byID.TimeoutMillis = 10000
	byID.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: [16]byte{15: 9}}}
	wantCode(t, "unknown id", ask[*kmsg.DeleteTopicsResponse](c, 6, byID).Topics[0].ErrorCode, kerr.UnknownTopicID)
	topic := node.CreateTopic(t, "del", 1)
	byID.Topics[0].TopicID = c.topicID(topic)
	res := ask[*kmsg.DeleteTopicsResponse](c, 6, byID)
	wantCode(t, "by id", res.Topics[0].ErrorCode, nil)
	want(t, "name in the answer", text(res.Topics[0].Topic), topic)
	wantCode(t, "a second time", ask[*kmsg.DeleteTopicsResponse](c, 6, byID).Topics[0].ErrorCode, kerr.UnknownTopicID)
}

// A topic made again is another topic: a new id, and nothing of the old one's records (confluentinc/librdkafka#4898).
func TestRecreatedTopicIsNew(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c, topic := dial(t, node), node.CreateTopic(t, "again", 1)
	old := c.topicID(topic)
	c.mustProduce(topic, newBatch(record("old")))
	wantCode(t, "delete", ask[*kmsg.DeleteTopicsResponse](c, 5, deleteRequest(topic)).Topics[0].ErrorCode, nil)
	wantCode(t, "create", ask[*kmsg.CreateTopicsResponse](c, 7, createRequest(false, newTopic(topic, 1, 1))).Topics[0].ErrorCode, nil)
	if c.topicID(topic) == old {
		t.Error("the same topic id")
	}
	harness.Await(t, "the new topic takes records", func() bool { // the new leader may not be known at once
		p := c.produce(topic, 0, newBatch(record("new")).bytes())
		if p.ErrorCode == kerr.UnknownTopicOrPartition.Code || p.ErrorCode == kerr.NotLeaderForPartition.Code {
			return false
		}
		wantCode(t, "produce", p.ErrorCode, nil)
		want(t, "first offset", p.BaseOffset, 0)
		return true
	})
}

func TestCreatePartitions(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "grow", 2)
	for _, row := range []struct {
		name, topic  string
		count        int32
		validateOnly bool
		want         *kerr.Error
	}{
		{"fewer", topic, 1, false, kerr.InvalidPartitions},
		{"as many", topic, 2, false, kerr.InvalidPartitions},
		{"negative", topic, -1, false, kerr.InvalidPartitions},
		{"unknown topic", "no-such-topic", 5, false, kerr.UnknownTopicOrPartition},
		{"more, validate only", topic, 4, true, nil},
		{"more", topic, 5, false, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis, req.ValidateOnly = 10000, row.validateOnly
			req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: row.topic, Count: row.count}}
			res := ask[*kmsg.CreatePartitionsResponse](dial(t, node), 3, req)
			wantCode(t, row.name, res.Topics[0].ErrorCode, row.want)
		})
	}
	c := dial(t, node)
	harness.Await(t, "5 partitions are listed", func() bool {
		return len(ask[*kmsg.MetadataResponse](c, 8, metadataRequest(topic)).Topics[0].Partitions) == 5
	})
}
