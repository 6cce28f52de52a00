package protocol

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// compactedConfigs make a segment of everything that is older than the newest batch, and clean it at once.
var compactedConfigs = []string{"cleanup.policy=compact", "segment.ms=1800000", "min.cleanable.dirty.ratio=0.01"}

// positions is what a client gets that fetches at an offset: the offsets of records from there on, control records left out, and
// where it goes on.
func (c *conn) positions(topic string, at int64) (usable []int64, next, end int64) {
	c.t.Helper()
	p := c.fetch(fetchVersion, fetchRequest(topic, 0, at))
	wantCode(c.t, fmt.Sprint("fetch at ", at), p.ErrorCode, nil)
	next = at
	for _, b := range batches(c.t, p.RecordBatches) {
		for rest := b.Records; len(rest) > 0 && b.Attributes&0x20 == 0; {
			var r kmsg.Record
			if err := r.ReadFrom(rest); err != nil {
				c.t.Fatal(err)
			}
			if off := b.FirstOffset + int64(r.OffsetDelta); off >= at {
				usable = append(usable, off)
			}
			r.Length = 0
			rest = rest[len(encodeRecords([]kmsg.Record{r})):]
		}
		next = b.FirstOffset + int64(b.LastOffsetDelta) + 1
	}
	return usable, next, p.HighWatermark
}

// readFrom follows positions to the end of the log.
func (c *conn) readFrom(topic string, at int64) (usable []int64) {
	c.t.Helper()
	for {
		more, next, end := c.positions(topic, at)
		usable = append(usable, more...)
		if next == end {
			return usable
		}
		if next <= at {
			c.t.Fatalf("a fetch at %d of %d leads nowhere", at, end)
		}
		at = next
	}
}

func keyedAll(n int, value string) (records []kmsg.Record) {
	for i := range n {
		records = append(records, keyed(fmt.Sprint("k", i), value))
	}
	return records
}

// TestCompactedTopics: wherever a client stands in a compacted topic, a fetch leads it on, to the end. The names are of public
// reports of clients that did not get there.
func TestCompactedTopics(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{Properties: map[string]string{"log.cleaner.backoff.ms": "100"}})
	c := dial(t, node)
	for _, row := range []struct {
		name    string
		batches [][]kmsg.Record
		at      int64
		want    []int64 // the last offset is of a batch in the active segment
	}{
		{"tulios/kafkajs#562", [][]kmsg.Record{keyedAll(13, "old"), keyedAll(13, "new")}, 3,
			[]int64{13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26}},
		{"IBM/sarama#1005", [][]kmsg.Record{keyedAll(32, "a"), keyedAll(9, "b"), {keyed("gone", "1")}, {keyed("gone", "2"), keyed("x", "3")}}, 41,
			[]int64{42, 43, 44}},
		{"confluentinc/librdkafka#1472", [][]kmsg.Record{{keyed("a", "1")}, keyedAll(2, "old"), keyedAll(2, "older"), {keyed("a", "2")}, keyedAll(2, "new")}, 0,
			[]int64{5, 6, 7, 8}},
	} {
		topic := node.CreateTopic(t, "compacted", 1, compactedConfigs...)
		past := nowMS() - 24*3600*1000
		for _, records := range row.batches {
			c.mustProduce(topic, newBatch(records...).timestamps(slices.Repeat([]int64{past}, len(records))...))
		}
		c.mustProduce(topic, newBatch(keyed("end", "end")))
		harness.Await(t, row.name+": compaction", func() bool { return slices.Equal(c.readFrom(topic, row.at), row.want) })
		for at := range row.want[len(row.want)-1] {
			if usable := c.readFrom(topic, at); !slices.Contains(usable, row.want[len(row.want)-1]) {
				t.Errorf("%s: from %d on: %d", row.name, at, usable)
			}
		}
	}
}

// TestCompactedTransactions (redpanda-data/redpanda#8698): the position of a reader reaches the end offset, over markers and what
// compaction has left of transactions: nothing of one that was aborted.
func TestCompactedTransactions(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{Properties: map[string]string{"log.cleaner.backoff.ms": "100"}})
	topic := node.CreateTopic(t, "compacted-txn", 1, compactedConfigs...)
	txn := node.Client(t, kgo.TransactionalID(harness.Name("compacted")), kgo.DefaultProduceTopic(topic))
	ctx := harness.Context(t)
	produce := func(end kgo.TransactionEndTry, pairs ...string) {
		t.Helper()
		if err := txn.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(pairs); i += 2 {
			if err := txn.ProduceSync(ctx, &kgo.Record{Key: []byte(pairs[i]), Value: []byte(pairs[i+1])}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := txn.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, node)
	c.mustProduce(topic, newBatch(keyed("x", "1")).timestamps(nowMS()-24*3600*1000)) // what comes next rolls
	produce(kgo.TryCommit, "a", "1", "b", "1")
	produce(kgo.TryAbort, "a", "2", "c", "2")
	produce(kgo.TryCommit, "a", "3", "d", "3")
	harness.Await(t, "the last marker", func() bool { // it may come after the answer
		_, _, end := c.positions(topic, 0)
		return end == 10
	})
	c.mustProduce(topic, newBatch(keyed("y", "1")).timestamps(nowMS()+3500*1000)) // so does this
	left := []int64{0, 2, 7, 8, 10}
	harness.Await(t, "compaction", func() bool { return slices.Equal(c.readFrom(topic, 0), left) })
	for at := range int64(11) {
		want := slices.DeleteFunc(slices.Clone(left), func(off int64) bool { return off < at })
		if got := c.readFrom(topic, at); !slices.Equal(got, want) {
			t.Errorf("from %d on: %d, want %d", at, got, want)
		}
	}
}
