package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func describeTopicsRequest(limit int32, cursor string, partition int32, names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	if cursor != "" {
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic, c.Partition = cursor, partition
		req.Cursor = &c
	}
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// outline writes an answer as "topic[partitions]" or "topic!error", and "> topic-partition" where it goes on.
func outline(resp *kmsg.DescribeTopicPartitionsResponse) string {
	var parts []string
	for _, t := range resp.Topics {
		s := text(t.Topic)
		if t.ErrorCode != 0 {
			parts = append(parts, fmt.Sprintf("%s!%d", s, t.ErrorCode))
			continue
		}
		var numbers []string
		for _, p := range t.Partitions {
			numbers = append(numbers, fmt.Sprint(p.Partition))
		}
		parts = append(parts, s+"["+strings.Join(numbers, " ")+"]")
	}
	if c := resp.NextCursor; c != nil {
		parts = append(parts, fmt.Sprintf("> %s-%d", c.Topic, c.Partition))
	}
	return strings.Join(parts, " ")
}

// TestDescribeTopicPartitionsPages holds the pages against those of Apache Kafka 4.1.1, which had the same topics.
func TestDescribeTopicPartitionsPages(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "p", 2)
	b.withTopic(t, "auto", 1)
	for _, c := range []struct {
		name string
		req  *kmsg.DescribeTopicPartitionsRequest
		want string
	}{
		{"one", describeTopicsRequest(100, "", 0, "p"), "p[0 1]"},
		{"all", describeTopicsRequest(100, "", 0), "auto[0] p[0 1]"},
		{"limit 1", describeTopicsRequest(1, "", 0, "p", "auto"), "auto[0] > p-0"},
		{"limit 0 is 1", describeTopicsRequest(0, "", 0, "p", "auto"), "auto[0] > p-0"},
		{"limit -1 is 1", describeTopicsRequest(-1, "", 0, "p"), "p[0] > p-1"},
		{"limit reached before a topic that is not there", describeTopicsRequest(2, "", 0, "p", "zzz"), "p[0 1] > zzz-0"},
		{"named twice", describeTopicsRequest(3, "", 0, "p", "zzz", "p"), "p[0 1] zzz!3"},
		{"not there, and no name", describeTopicsRequest(3, "", 0, "none", "a b", "p"), "a b!17 none!3 p[0 1]"},
		{"cursor", describeTopicsRequest(3, "p", 1, "p"), "p[1]"},
		{"cursor beyond", describeTopicsRequest(3, "p", 7, "p"), "p[]"},
		{"cursor below 0", describeTopicsRequest(3, "p", -1, "p"), "p!42"},
		{"cursor not in the list", describeTopicsRequest(3, "q", 0, "p"), "p!42"},
		{"cursor before the list", describeTopicsRequest(3, "a", 0, "p"), "p!42"},
		{"cursor on a topic that is not there", describeTopicsRequest(3, "none", 0, "none", "p"), "none!3 p[0 1]"},
		{"all from a cursor", describeTopicsRequest(1, "p", 1), "p[1]"},
		{"all, page by page", describeTopicsRequest(1, "", 0), "auto[0] > p-0"},
	} {
		if got := outline(ask[*kmsg.DescribeTopicPartitionsResponse](t, b, 0, c.req)); got != c.want {
			t.Errorf("%s: got %s", c.name, got)
		}
	}
}

func TestDescribeTopicPartitionsHasTheNodesLimit(t *testing.T) {
	b := newFakeBroker(t, "max.request.partition.size.limit=3")
	b.withTopic(t, "p", 5)
	if got := outline(ask[*kmsg.DescribeTopicPartitionsResponse](t, b, 0, describeTopicsRequest(100, "", 0))); got != "p[0 1 2] > p-3" {
		t.Error(got)
	}
}

func TestDescribeTopicPartitionsTellsOfEachPartition(t *testing.T) {
	b := newFakeBroker(t)
	id := b.withTopic(t, "p", 1)
	got := ask[*kmsg.DescribeTopicPartitionsResponse](t, b, 0, describeTopicsRequest(9, "", 0)).Topics[0]
	p := got.Partitions[0]
	if got.TopicID != id || got.AuthorizedOperations != 3576 || p.LeaderID != 1 || p.Replicas[0] != 1 || p.ISR[0] != 1 ||
		p.EligibleLeaderReplicas == nil || len(p.OfflineReplicas) != 0 {
		t.Errorf("%+v", got)
	}
}
