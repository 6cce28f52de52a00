package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestDeleteRecords: each partition is answered once, with the last offset that was named for it, as Kafka 4.1.1 does.
func TestDeleteRecords(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a", 3)
	b.withTopic(t, "b", 1)
	req := kmsg.NewPtrDeleteRecordsRequest()
	for _, q := range []struct {
		topic  string
		part   int32
		offset int64
	}{{"a", 0, 4}, {"a", 2, 10}, {"b", 0, 3}, {"none", 0, 1}, {"a", 0, 2}, {"a", 7, 1}} {
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = q.topic
		topic.Partitions = []kmsg.DeleteRecordsRequestTopicPartition{{Partition: q.part, Offset: q.offset}}
		req.Topics = append(req.Topics, topic)
	}
	for version := range int16(3) {
		var got []string
		for _, topic := range ask[*kmsg.DeleteRecordsResponse](t, b, version, req).Topics {
			for _, p := range topic.Partitions {
				got = append(got, fmt.Sprintf("%s-%d low %d code %d", topic.Topic, p.Partition, p.LowWatermark, p.ErrorCode))
			}
		}
		want := "a-0 low 2 code 0, a-2 low -1 code 1, a-7 low -1 code 3, b-0 low 3 code 0, none-0 low -1 code 3"
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("version %d: %s, want %s", version, all, want)
		}
	}
	if resp := ask[*kmsg.DeleteRecordsResponse](t, b, 2, kmsg.NewPtrDeleteRecordsRequest()); len(resp.Topics) != 0 {
		t.Errorf("%+v", resp)
	}
}
