package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func metadataRequest(topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &topic
		req.Topics = append(req.Topics, t)
	}
	return req
}

// The empty array is all topics in v0 and none from v1 on, null is all from v1 on: apache/iggy PR#4231.
func TestMetadataEmptyAndNull(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	for version := int16(0); version <= 13; version++ {
		empty := ask[*kmsg.MetadataResponse](c, version, metadataRequest())
		want(t, "empty array lists the topic", lists(empty, topic), version == 0)
		if version == 0 {
			continue
		}
		null := kmsg.NewPtrMetadataRequest()
		null.Topics = nil
		all := ask[*kmsg.MetadataResponse](c, version, null)
		want(t, "null lists the topic", lists(all, topic), true)
	}
}

func lists(res *kmsg.MetadataResponse, topic string) bool {
	for _, t := range res.Topics {
		if t.Topic != nil && *t.Topic == topic {
			return true
		}
	}
	return false
}

func TestMetadataTopicErrors(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for _, row := range []struct {
		name, topic string
		want        *kerr.Error
	}{
		{"empty", "", kerr.InvalidTopicException},
		{"blank", "a b", kerr.InvalidTopicException},
		{"slash", "../etc", kerr.InvalidTopicException},
		{"dot", ".", kerr.InvalidTopicException},
		{"unknown", "no-such-topic", kerr.UnknownTopicOrPartition},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := dial(t, node)
			for version := int16(4); version <= 13; version++ {
				req := metadataRequest(row.topic)
				req.AllowAutoTopicCreation = false
				res := ask[*kmsg.MetadataResponse](c, version, req)
				if len(res.Topics) != 1 {
					t.Fatalf("v%d: %d topics in the answer", version, len(res.Topics))
				}
				wantCode(t, row.name, res.Topics[0].ErrorCode, row.want)
				want(t, "name is repeated", text(res.Topics[0].Topic), row.topic)
			}
		})
	}
}

func TestMetadataDescribesATopic(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c, topic := dial(t, node), node.CreateTopic(t, "meta", 3)
	for version := int16(0); version <= 13; version++ {
		res := ask[*kmsg.MetadataResponse](c, version, metadataRequest(topic))
		if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 3 {
			t.Fatalf("v%d: %+v", version, res.Topics)
		}
		if len(res.Brokers) != 1 || res.Brokers[0].Port == 0 || res.Brokers[0].Host == "" {
			t.Fatalf("v%d: brokers %+v", version, res.Brokers)
		}
		broker := res.Brokers[0].NodeID
		for _, p := range res.Topics[0].Partitions {
			wantCode(t, "partition", p.ErrorCode, nil)
			want(t, "leader", p.Leader, broker)
			want(t, "replicas", len(p.Replicas), 1)
			want(t, "in-sync replicas", len(p.ISR), 1)
		}
		if version >= 1 {
			want(t, "controller", res.ControllerID, broker)
			want(t, "internal", res.Topics[0].IsInternal, false)
		}
		if version >= 2 && text(res.ClusterID) == "" {
			t.Errorf("v%d: no cluster id", version)
		}
		if version >= 10 && res.Topics[0].TopicID == [16]byte{} {
			t.Errorf("v%d: zero topic id, which makes clients that fetch by id fail for ever (confluentinc/librdkafka#4806)", version)
		}
	}
}

func TestMetadataByTopicID(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	id := c.topicID(topic)
	for _, row := range []struct {
		name string
		id   [16]byte
		want *kerr.Error
	}{
		{"known", id, nil},
		{"unknown", [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, kerr.UnknownTopicID},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = []kmsg.MetadataRequestTopic{{TopicID: row.id}}
			res := ask[*kmsg.MetadataResponse](dial(t, harness.Shared(t)), 12, req)
			if len(res.Topics) != 1 {
				t.Fatalf("%d topics", len(res.Topics))
			}
			wantCode(t, row.name, res.Topics[0].ErrorCode, row.want)
			if row.want == nil {
				want(t, "name", text(res.Topics[0].Topic), topic)
			}
		})
	}
}

// Agents rely on creation by asking (rsyslog, collectd, kcat); a client has to ask again.
func TestMetadataAutoCreates(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c, topic := dial(t, node), harness.Name("auto")
	req := metadataRequest(topic)
	req.AllowAutoTopicCreation = true
	first := ask[*kmsg.MetadataResponse](c, 4, req).Topics[0]
	wantCode(t, "first answer", first.ErrorCode, kerr.UnknownTopicOrPartition)
	harness.Await(t, "the topic is created with num.partitions", func() bool {
		res := ask[*kmsg.MetadataResponse](c, 4, req)
		return res.Topics[0].ErrorCode == 0 && len(res.Topics[0].Partitions) == 1
	})
}

func TestDescribeCluster(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	meta := ask[*kmsg.MetadataResponse](c, 7, metadataRequest())
	for version := int16(0); version <= 2; version++ {
		res := ask[*kmsg.DescribeClusterResponse](c, version, kmsg.NewPtrDescribeClusterRequest())
		wantCode(t, "DescribeCluster", res.ErrorCode, nil)
		want(t, "cluster id", res.ClusterID, text(meta.ClusterID))
		want(t, "controller", res.ControllerID, meta.ControllerID)
		if len(res.Brokers) != 1 || res.Brokers[0].NodeID != meta.Brokers[0].NodeID || res.Brokers[0].Port != meta.Brokers[0].Port {
			t.Errorf("brokers %+v, Metadata says %+v", res.Brokers, meta.Brokers)
		}
	}
}

func TestDescribeTopicPartitions(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c, topic := dial(t, node), node.CreateTopic(t, "dtp", 3)
	describe := func(limit int32, cursor *kmsg.DescribeTopicPartitionsRequestCursor, names ...string) *kmsg.DescribeTopicPartitionsResponse {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit, req.Cursor = limit, cursor
		for _, name := range names {
			req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
		}
		return ask[*kmsg.DescribeTopicPartitionsResponse](c, 0, req)
	}
	all := describe(2000, nil, topic)
	wantCode(t, "known topic", all.Topics[0].ErrorCode, nil)
	want(t, "partitions", len(all.Topics[0].Partitions), 3)
	if all.NextCursor != nil {
		t.Errorf("a cursor after the last partition: %+v", all.NextCursor)
	}
	wantCode(t, "unknown topic", describe(2000, nil, "no-such-topic").Topics[0].ErrorCode, kerr.UnknownTopicOrPartition)
	part := describe(2, nil, topic)
	want(t, "limited partitions", len(part.Topics[0].Partitions), 2)
	if part.NextCursor == nil || part.NextCursor.Topic != topic || part.NextCursor.Partition != 2 {
		t.Fatalf("cursor %+v, want %s/2", part.NextCursor, topic)
	}
	rest := describe(2000, &kmsg.DescribeTopicPartitionsRequestCursor{Topic: topic, Partition: 2}, topic)
	want(t, "rest", len(rest.Topics[0].Partitions), 1)
	want(t, "rest's partition", rest.Topics[0].Partitions[0].Partition, 2)
}
