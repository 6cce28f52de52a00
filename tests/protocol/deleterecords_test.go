package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// deleteRecords is the answer for the one partition that is asked for, if need be in several places.
func (c *conn) deleteRecords(version int16, topic string, partition int32, offsets ...int64) kmsg.DeleteRecordsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10000
	for _, off := range offsets {
		t := kmsg.NewDeleteRecordsRequestTopic()
		t.Topic, t.Partitions = topic, []kmsg.DeleteRecordsRequestTopicPartition{{Partition: partition, Offset: off}}
		req.Topics = append(req.Topics, t)
	}
	res := ask[*kmsg.DeleteRecordsResponse](c, version, req)
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		c.t.Fatalf("the answer names %d topics", len(res.Topics))
	}
	return res.Topics[0].Partitions[0]
}

func TestDeleteRecords(t *testing.T) {
	node := harness.Shared(t)
	c := dial(t, node)
	plain := node.CreateTopic(t, "delete", 1)
	compacted := node.CreateTopic(t, "delete", 1, "cleanup.policy=compact")
	both := node.CreateTopic(t, "delete", 1, "cleanup.policy=compact,delete")
	for _, topic := range []string{plain, compacted, both} {
		c.mustProduce(topic, newBatch(keyedAll(5, "v")...))
	}
	for _, row := range []struct {
		name      string
		topic     string
		partition int32
		offsets   []int64
		low       int64
		code      *kerr.Error
	}{
		{"into a batch", plain, 0, []int64{1}, 1, nil},
		{"again", plain, 0, []int64{1}, 1, nil},
		{"below", plain, 0, []int64{0}, 1, nil},
		{"beyond", plain, 0, []int64{6}, -1, kerr.OffsetOutOfRange},
		{"-2", plain, 0, []int64{-2}, -1, kerr.OffsetOutOfRange},
		{"no such partition", plain, 7, []int64{1}, -1, kerr.UnknownTopicOrPartition},
		{"no such topic", harness.Name("nope"), 0, []int64{1}, -1, kerr.UnknownTopicOrPartition},
		{"compact alone", compacted, 0, []int64{1}, -1, kerr.PolicyViolation},
		{"compact and delete", both, 0, []int64{2}, 2, nil},
		{"twice", plain, 0, []int64{4, 2}, 2, nil},
	} {
		for version := range int16(3) {
			res := c.deleteRecords(version, row.topic, row.partition, row.offsets...)
			wantCode(t, row.name, res.ErrorCode, row.code)
			want(t, row.name+": low watermark", res.LowWatermark, row.low)
		}
	}
	want(t, "earliest offset", c.listOffset(5, plain, 0, -2).Offset, 2)
	wantCode(t, "fetch below", c.fetch(fetchVersion, fetchRequest(plain, 0, 1)).ErrorCode, kerr.OffsetOutOfRange)
	want(t, "records from the start", len(c.readFrom(plain, 2)), 3)
	want(t, "to the high watermark", c.deleteRecords(2, plain, 0, -1).LowWatermark, 5)
	want(t, "records left", len(c.readFrom(plain, 5)), 0)
	want(t, "the next offset", c.mustProduce(plain, newBatch(record("next"))), 5)
}
