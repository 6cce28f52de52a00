package protocol

import (
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// producerID asks until a block of ids is there: a node that has just started says that it loads.
func (c *conn) producerID() int64 {
	c.t.Helper()
	var res *kmsg.InitProducerIDResponse
	harness.Await(c.t, "producer ids are loaded", func() bool {
		res = ask[*kmsg.InitProducerIDResponse](c, 4, initProducerIDRequest())
		return res.ErrorCode != kerr.CoordinatorLoadInProgress.Code
	})
	wantCode(c.t, "InitProducerId", res.ErrorCode, nil)
	return res.ProducerID
}

// The sequence of one producer, batch after batch on one partition, with what each gets.
func TestIdempotentSequence(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	id := c.producerID()
	other := c.producerID()
	for _, row := range []struct {
		name     string
		id       int64
		epoch    int16
		sequence int32
		records  int
		want     *kerr.Error
		offset   int64
	}{
		{"first", id, 0, 0, 2, nil, 0},
		{"second", id, 0, 2, 1, nil, 2},
		{"retry of the first: its own offset again", id, 0, 0, 2, nil, 0},
		{"retry of the second", id, 0, 2, 1, nil, 2},
		{"gap", id, 0, 7, 1, kerr.OutOfOrderSequenceNumber, -1},
		{"part of an old batch", id, 0, 1, 1, kerr.OutOfOrderSequenceNumber, -1},
		{"third", id, 0, 3, 1, nil, 3},
		{"fourth", id, 0, 4, 1, nil, 4},
		{"fifth", id, 0, 5, 1, nil, 5},
		{"sixth", id, 0, 6, 1, nil, 6},
		{"seventh", id, 0, 7, 1, nil, 7},
		{"retry of the third, the oldest of five", id, 0, 3, 1, nil, 3},
		{"retry of the second, no longer kept", id, 0, 2, 1, kerr.OutOfOrderSequenceNumber, -1},
		{"unknown producer may start anywhere (redpanda-data/redpanda#22670)", other, 0, 41, 1, nil, 8},
		{"and goes on from there", other, 0, 42, 1, nil, 9},
		{"new epoch must start at 0", id, 1, 8, 1, kerr.OutOfOrderSequenceNumber, -1},
		{"new epoch", id, 1, 0, 1, nil, 10},
		{"old epoch", id, 0, 8, 1, kerr.InvalidProducerEpoch, -1},
	} {
		records := make([]kmsg.Record, row.records)
		for i := range records {
			records[i] = record("v")
		}
		res := c.produce(topic, 0, newBatch(records...).producer(row.id, row.epoch, row.sequence).bytes())
		wantCode(t, row.name, res.ErrorCode, row.want)
		want(t, row.name+": base offset", res.BaseOffset, row.offset)
	}
}

// The sequence wraps to 0 after 2^31-1, inside a batch too.
func TestIdempotentSequenceWraps(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	id := c.producerID()
	for _, row := range []struct {
		sequence int32
		records  []kmsg.Record
		offset   int64
	}{
		{math.MaxInt32 - 1, []kmsg.Record{record("a"), record("b"), record("c")}, 0}, // ends at sequence 0
		{1, []kmsg.Record{record("d")}, 3},
		{math.MaxInt32 - 1, []kmsg.Record{record("a"), record("b"), record("c")}, 0}, // a retry
	} {
		res := c.produce(topic, 0, newBatch(row.records...).producer(id, 0, row.sequence).bytes())
		wantCode(t, "produce", res.ErrorCode, nil)
		want(t, "base offset", res.BaseOffset, row.offset)
	}
}

// A batch with a producer id must have a sequence.
func TestIdempotentWithoutSequence(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	b := newBatch(record("v")).producer(c.producerID(), 0, -1)
	wantCode(t, "no sequence", c.produce(topic, 0, b.bytes()).ErrorCode, kerr.InvalidRecord)
}

// The last five batches of a producer are known after kill -9 too, whatever segments rolled between them: a client that was cut
// off sends what it had in flight again. Apache Kafka forgets all but one of those before the last roll, since that is what its
// producer snapshot holds, and refuses their retries as out of order.
func TestIdempotentWindowOutlivesKill(t *testing.T) {
	idempotentWindowOutlives(t, (*harness.Node).Kill)
}

// TestIdempotentWindowOutlivesStop: the answers that a clean stop sends may not arrive.
func TestIdempotentWindowOutlivesStop(t *testing.T) {
	idempotentWindowOutlives(t, (*harness.Node).Stop)
}

func idempotentWindowOutlives(t *testing.T, end func(*harness.Node, testing.TB)) {
	if harness.ChosenPeer() != harness.Ringmill {
		t.Skip("Apache Kafka refuses these retries; the client starts over with a new epoch and stores its records twice")
	}
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	topic := "window"
	node.CreateNamedTopic(t, topic, 1, "segment.bytes=1048576")
	c := dial(t, node)
	id := c.producerID()
	const batches = 9 // of 300 kB: three to a segment
	send := func(c *conn, sequence int32) kmsg.ProduceResponseTopicPartition {
		return c.produce(topic, 0, newBatch(record(string(make([]byte, 300_000)))).producer(id, 0, sequence).bytes())
	}
	for sequence := range int32(batches) {
		wantCode(t, "produce", send(c, sequence).ErrorCode, nil)
	}
	end(node, t)
	node.Restart(t)
	c = dial(t, node)
	for sequence := int32(batches - 5); sequence < batches; sequence++ {
		res := send(c, sequence)
		wantCode(t, fmt.Sprint("retry of batch ", sequence), res.ErrorCode, nil)
		want(t, "base offset", res.BaseOffset, int64(sequence))
	}
	res := send(c, batches)
	wantCode(t, "the next batch", res.ErrorCode, nil)
	want(t, "base offset", res.BaseOffset, batches)
}
