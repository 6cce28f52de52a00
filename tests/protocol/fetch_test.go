package protocol

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// fetchVersion is the newest that names topics by name.
const fetchVersion = 12

// fetchRequest asks one partition, without a session, and does not wait.
func fetchRequest(topic string, partition int32, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 0, 0, 50<<20
	req.SessionEpoch = -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	req.Topics = []kmsg.FetchRequestTopic{t}
	return req
}

// fetch returns the answer for the one partition asked.
func (c *conn) fetch(version int16, req *kmsg.FetchRequest) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	res := ask[*kmsg.FetchResponse](c, version, req)
	wantCode(c.t, "Fetch", res.ErrorCode, nil)
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		c.t.Fatalf("the answer names %d topics", len(res.Topics))
	}
	return res.Topics[0].Partitions[0]
}

func (c *conn) fetchRaw(topic string, offset int64) []byte {
	c.t.Helper()
	p := c.fetch(fetchVersion, fetchRequest(topic, 0, offset))
	wantCode(c.t, "fetch", p.ErrorCode, nil)
	return p.RecordBatches
}

func (c *conn) fetchBatches(topic string, offset int64) []kmsg.RecordBatch {
	c.t.Helper()
	return batches(c.t, c.fetchRaw(topic, offset))
}

// batches parses whole batches; a truncated one at the end is legal and left out.
func batches(t *testing.T, raw []byte) []kmsg.RecordBatch {
	t.Helper()
	var out []kmsg.RecordBatch
	for len(raw) >= 61 {
		length := 12 + int(binary.BigEndian.Uint32(raw[8:]))
		if length > len(raw) {
			break
		}
		var b kmsg.RecordBatch
		if err := b.ReadFrom(raw[:length]); err != nil {
			t.Fatal(err)
		}
		out, raw = append(out, b), raw[length:]
	}
	return out
}

func TestFetchErrors(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	for range 3 {
		c.mustProduce(topic, newBatch(record("v")))
	}
	for _, row := range []struct {
		name, topic   string
		partition     int32
		offset        int64
		leaderEpoch   int32
		want          *kerr.Error
		highWatermark int64
	}{
		{"at the end", topic, 0, 3, -1, nil, 3},
		{"beyond the end", topic, 0, 4, -1, kerr.OffsetOutOfRange, -1},
		{"negative", topic, 0, -1, -1, kerr.OffsetOutOfRange, -1},
		{"unknown topic", "no-such-topic", 0, 0, -1, kerr.UnknownTopicOrPartition, -1},
		{"unknown partition", topic, 5, 0, -1, kerr.UnknownTopicOrPartition, -1},
		{"the leader's epoch", topic, 0, 0, 0, nil, 3},
		{"an epoch to come", topic, 0, 0, 5, kerr.UnknownLeaderEpoch, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := fetchRequest(row.topic, row.partition, row.offset)
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = row.leaderEpoch
			p := dial(t, harness.Shared(t)).fetch(fetchVersion, req)
			wantCode(t, row.name, p.ErrorCode, row.want)
			want(t, "high watermark", p.HighWatermark, row.highWatermark)
		})
	}
}

// The same bytes come back at every version; what a version adds has its value.
func TestFetchEveryVersion(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	c.mustProduce(topic, newBatch(record("a"), record("b")))
	id := c.topicID(topic)
	for version := int16(4); version <= 18; version++ {
		req := fetchRequest(topic, 0, 0)
		req.Topics[0].TopicID = id
		p := c.fetch(version, req)
		wantCode(t, "fetch", p.ErrorCode, nil)
		want(t, "high watermark", p.HighWatermark, 2)
		want(t, "last stable offset", p.LastStableOffset, 2)
		if version >= 5 {
			want(t, "log start offset", p.LogStartOffset, 0)
		}
		if version >= 11 {
			want(t, "preferred read replica", p.PreferredReadReplica, -1)
		}
		got := batches(t, p.RecordBatches)
		if len(got) != 1 || got[0].NumRecords != 2 || got[0].PartitionLeaderEpoch != 0 {
			t.Fatalf("v%d: batches %+v", version, got)
		}
	}
}

// Agents on old Sarama (Telegraf's default consumer asks v3) find v2 batches by their magic.
func TestFetchOldVersions(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	node := harness.Shared(t)
	c.mustProduce(topic, newBatch(record("a"), record("b")))
	for version := int16(0); version <= 3; version++ {
		old := dial(t, node)
		req := fetchRequest(topic, 0, 0)
		if node.IsKafka() { // removed in Apache Kafka 4.0 (KIP-896)
			req.SetVersion(version)
			old.send(req)
			old.closed()
			continue
		}
		p := old.fetch(version, req)
		wantCode(t, "fetch", p.ErrorCode, nil)
		want(t, "high watermark", p.HighWatermark, 2)
		want(t, "batches", len(batches(t, p.RecordBatches)), 1)
	}
}

func TestFetchByTopicID(t *testing.T) {
	t.Parallel()
	c, _ := fresh(t)
	for _, id := range [][16]byte{{}, {15: 200}} {
		req := fetchRequest("", 0, 0)
		req.Topics[0].TopicID = id
		p := c.fetch(13, req)
		wantCode(t, fmt.Sprint("id ", id), p.ErrorCode, kerr.UnknownTopicID)
	}
}

// Positions are batches: an offset inside one gives that one, whole, from its start.
func TestFetchPositions(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	c.mustProduce(topic, newBatch(record("a"), record("b"), record("c"))) // 0-2
	c.mustProduce(topic, newBatch(record("d")))                           // 3
	for _, row := range []struct {
		offset int64
		first  int64
		count  int
	}{{0, 0, 2}, {1, 0, 2}, {2, 0, 2}, {3, 3, 1}} {
		got := c.fetchBatches(topic, row.offset)
		if len(got) != row.count || got[0].FirstOffset != row.first {
			t.Errorf("at %d: %d batches from %d, want %d from %d", row.offset, len(got), got[0].FirstOffset, row.count, row.first)
		}
	}
}

// Limits never keep a reader from its next batch, and may cut the last one: KIP-74, twmb/franz-go#809, IBM/sarama#998.
func TestFetchLimits(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	c.mustProduce(topic, newBatch(record(string(make([]byte, 60_000)))))
	c.mustProduce(topic, newBatch(record(string(make([]byte, 60_000)))))
	first := len(newBatch(record(string(make([]byte, 60_000)))).bytes())
	for _, row := range []struct {
		name                    string
		partitionMax, max       int32
		want                    int
		truncatedBatchIsALength bool
	}{
		{"both ample", 1 << 20, 1 << 20, 2 * first, false},
		{"partition limit 10", 10, 1 << 20, first, false},
		{"partition limit 0", 0, 1 << 20, first, false},
		{"both limits 1", 1, 1, first, false},
		{"limit of the whole answer 0", 1 << 20, 0, first, false},
		{"second batch cut", 100_000, 1 << 20, 100_000, true},
		{"second batch cut inside its first 12 bytes", int32(first) + 5, 1 << 20, first + 5, true},
		{"cut by the limit of the whole answer", 1 << 20, 100_000, 100_000, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := fetchRequest(topic, 0, 0)
			req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = row.max, row.partitionMax
			p := dial(t, harness.Shared(t)).fetch(fetchVersion, req)
			got := len(p.RecordBatches)
			if row.truncatedBatchIsALength && got == first && !harness.Shared(t).IsKafka() {
				return // whole batches only is as legal as a cut one
			}
			want(t, "bytes", got, row.want)
		})
	}
}

// The whole answer is bounded by max_bytes however many partitions ask for however much: redpanda-data/redpanda#3409.
func TestFetchManyPartitions(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	const partitions, each = 40, 50_000
	c, topic := dial(t, node), node.CreateTopic(t, "many", partitions)
	for i := range int32(partitions) {
		wantCode(t, "produce", c.produce(topic, i, newBatch(record(string(make([]byte, each)))).bytes()).ErrorCode, nil)
	}
	req := fetchRequest(topic, 0, 0)
	req.MaxBytes = 200_000
	req.Topics[0].Partitions = nil
	for i := range int32(partitions) {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = i, 10<<20
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	res := ask[*kmsg.FetchResponse](c, fetchVersion, req)
	total := 0
	for _, p := range res.Topics[0].Partitions {
		wantCode(t, "partition", p.ErrorCode, nil)
		total += len(p.RecordBatches)
	}
	want(t, "partitions in the answer", len(res.Topics[0].Partitions), partitions)
	if total < each || total > 200_000+each {
		t.Errorf("%d bytes for a limit of 200000", total)
	}
}

// A fetch at the end waits for its time or for its bytes, whichever is first.
func TestFetchWaits(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c, topic := fresh(t)
	empty := fetchRequest(topic, 0, 0)
	empty.MaxWaitMillis, empty.MinBytes = 300, 1
	start := time.Now()
	p := c.fetch(fetchVersion, empty)
	want(t, "bytes", len(p.RecordBatches), 0)
	if waited := time.Since(start); waited < 290*time.Millisecond { // it may not be early; late is the machine's affair
		t.Errorf("answered after %v, before its 300 ms", waited)
	}
	wait := fetchRequest(topic, 0, 0)
	wait.MaxWaitMillis, wait.MinBytes = int32(patience.Milliseconds()/2), 1
	wait.SetVersion(fetchVersion)
	correlation := c.send(wait)
	dial(t, node).mustProduce(topic, newBatch(record("wakes")))
	res := wait.ResponseKind().(*kmsg.FetchResponse)
	c.receive(correlation, res)
	want(t, "batches", len(batches(t, res.Topics[0].Partitions[0].RecordBatches)), 1)
}

// min_bytes that can't be met gives what there is when the time is over.
func TestFetchMinBytes(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	c.mustProduce(topic, newBatch(record("v")))
	req := fetchRequest(topic, 0, 0)
	req.MaxWaitMillis, req.MinBytes = 300, 10<<20
	start := time.Now()
	p := c.fetch(fetchVersion, req)
	want(t, "batches", len(batches(t, p.RecordBatches)), 1)
	if waited := time.Since(start); waited < 290*time.Millisecond {
		t.Errorf("answered after %v", waited)
	}
}

// An error is told at once, whatever the wait.
func TestFetchErrorDoesNotWait(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	req := fetchRequest(topic, 0, 99)
	req.MaxWaitMillis, req.MinBytes = int32(2*patience.Milliseconds()), 1<<20
	wantCode(t, "out of range", c.fetch(fetchVersion, req).ErrorCode, kerr.OffsetOutOfRange)
}

// Requests on one connection are answered in their order, a waiting fetch first.
func TestAnswersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	wait := fetchRequest(topic, 0, 0)
	wait.MaxWaitMillis, wait.MinBytes = 200, 1
	wait.SetVersion(fetchVersion)
	first := c.send(wait)
	meta := metadataRequest(topic)
	meta.SetVersion(8)
	second := c.send(meta)
	c.receive(first, wait.ResponseKind())
	c.receive(second, meta.ResponseKind())
}
