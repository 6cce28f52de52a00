package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// deleteRecords gives the low watermark and the code of a DeleteRecords of one partition.
func (c *client) deleteRecords(topic string, part int32, off int64) (int64, wire.ErrorCode) {
	c.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version = 2
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	t.Partitions = []kmsg.DeleteRecordsRequestTopicPartition{{Partition: part, Offset: off}}
	req.Topics = append(req.Topics, t)
	p := c.call(req).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
	return p.LowWatermark, wire.ErrorCode(p.ErrorCode)
}

func (c *client) earliest(topic string) int64 {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 5, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Timestamp = -2
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	return c.call(req).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset
}

// TestDeleteRecords holds the answers of Apache Kafka 4.1.1 to the same calls.
func TestDeleteRecords(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("d", 1)
	tn.createTopic("c", 1, "cleanup.policy=compact")
	tn.createTopic("cd", 1, "cleanup.policy=compact,delete")
	if !tn.OffsetsTopicReady() {
		t.Fatal("no __consumer_offsets")
	}
	c := tn.dial()
	for _, topic := range []string{"d", "c", "cd"} {
		c.mustProduce(topic, 0, keyed("k=1", "k=2", "k=3", "k=4", "k=5"))
	}
	for _, q := range []struct {
		what  string
		topic string
		part  int32
		off   int64
		low   int64
		code  wire.ErrorCode
	}{
		{"into a batch", "d", 0, 1, 1, wire.None},
		{"again", "d", 0, 1, 1, wire.None},
		{"below", "d", 0, 0, 1, wire.None},
		{"beyond the high watermark", "d", 0, 6, -1, wire.OffsetOutOfRange},
		{"-2", "d", 0, -2, -1, wire.OffsetOutOfRange},
		{"no such partition", "d", 7, 1, -1, wire.UnknownTopicOrPartition},
		{"negative partition", "d", -1, 1, -1, wire.UnknownTopicOrPartition},
		{"no such topic", "nope", 0, 1, -1, wire.UnknownTopicOrPartition},
		{"no topic's name", "a b", 0, 1, -1, wire.UnknownTopicOrPartition},
		{"internal", "__consumer_offsets", 0, 0, -1, wire.InvalidTopicException},
		{"no partition of an internal one", "__consumer_offsets", 700, 0, -1, wire.UnknownTopicOrPartition},
		{"compact alone", "c", 0, 1, -1, wire.PolicyViolation},
		{"compact and delete", "cd", 0, 2, 2, wire.None},
	} {
		if low, code := c.deleteRecords(q.topic, q.part, q.off); low != q.low || code != q.code {
			t.Errorf("%s: low watermark %d, %s; Kafka answers %d, %s", q.what, low, code, q.low, q.code)
		}
	}
	if got := c.earliest("d"); got != 1 {
		t.Errorf("earliest offset %d", got)
	}
	code := func(off int64) wire.ErrorCode {
		return wire.ErrorCode(fetched(c.call(fetch(toFetch{"d", 0, off})))["d-0"].ErrorCode)
	}
	if code(0) != wire.OffsetOutOfRange || code(1) != wire.None {
		t.Errorf("fetch at 0: %s, at 1: %s", code(0), code(1))
	}
	if low, code := c.deleteRecords("d", 0, -1); low != 5 || code != wire.None {
		t.Errorf("all: low watermark %d, %s", low, code)
	}
}

// TestDeletedRecordsStayDeleted: the answer means that no crash brings the records back, and segments below are removed.
func TestDeletedRecordsStayDeleted(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("d", 1, "internal.segment.bytes=1000")
	c := tn.dial()
	for i := range 40 {
		c.mustProduce("d", 0, batch(fmt.Sprint(i, strings.Repeat(".", 100))))
	}
	if low, code := c.deleteRecords("d", 0, 31); low != 31 || code != wire.None {
		t.Fatal(low, code)
	}
	text, err := os.ReadFile(filepath.Join(tn.dirs[0].path, segment.LogStartCheckpoint))
	if err != nil || !strings.Contains(string(text), "d 0 31\n") {
		t.Fatalf("%q, %v", text, err)
	}
	first := filepath.Join(tn.dirs[0].path, "d-0", "00000000000000000000.log")
	await(t, "the first segment's end", func() bool {
		_, err := os.Stat(first)
		return os.IsNotExist(err)
	})
	tn.kill()
	tn = tn.restart()
	c = tn.dial()
	if got := c.earliest("d"); got != 31 {
		t.Errorf("earliest offset %d after kill -9", got)
	}
	if low, code := c.deleteRecords("d", 0, -1); low != 40 || code != wire.None {
		t.Fatal(low, code)
	}
	if off := c.mustProduce("d", 0, batch("next")); off != 40 {
		t.Errorf("the next record is at %d", off)
	}
	tn.kill()
	tn = tn.restart()
	c = tn.dial()
	if got := c.earliest("d"); got != 40 {
		t.Errorf("earliest offset %d after the second kill", got)
	}
	if got, next := values(t, fetched(c.call(fetch(toFetch{"d", 0, 40})))["d-0"].RecordBatches); len(got) != 1 || next != 41 {
		t.Errorf("%q, %d", got, next)
	}
}
