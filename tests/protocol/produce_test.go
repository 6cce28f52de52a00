package protocol

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// corrupt changes one byte of a sealed batch.
func corrupt(raw []byte, at int) []byte {
	raw[at] ^= 0x40
	return raw
}

// patched overwrites header bytes and seals the batch again, so that the change and not the CRC is judged.
func patched(b *batch, at int, value ...byte) []byte {
	raw := b.bytes()
	copy(raw[at:], value)
	seal(raw)
	return raw
}

func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func TestProduceRefusals(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	node := harness.Shared(t)
	one := func() *batch { return newBatch(record("v")) }
	for _, row := range []struct {
		name    string
		records []byte
		want    *kerr.Error
	}{
		{"flipped bit in a record", corrupt(one().bytes(), 65), kerr.CorruptMessage},
		{"flipped bit in the CRC", corrupt(one().bytes(), 17), kerr.CorruptMessage},
		{"magic 1", patched(one(), 16, 1), kerr.InvalidRecord},
		{"magic 9", patched(one(), 16, 9), kerr.CorruptMessage},
		{"two batches", append(one().bytes(), one().bytes()...), kerr.InvalidRecord},
		{"no record", newBatch().bytes(), kerr.InvalidRecord},
		{"claims 2^31-1 records in 61 bytes (apache/iggy PR#4229)", patched(newBatch(), 57, be32(math.MaxInt32)...), kerr.InvalidRecord},
		{"claims a negative count", patched(one(), 57, be32(0xffffffff)...), kerr.InvalidRecord},
		{"claims one record more", patched(one(), 57, be32(2)...), kerr.InvalidRecord},
		{"last offset delta beyond the count", patched(one(), 23, be32(7)...), kerr.InvalidRecord},
		{"negative last offset delta", patched(one(), 23, be32(0xffffffff)...), kerr.InvalidRecord},
		{"control batch from a client", patched(one(), 22, 0x20), kerr.InvalidRecord},
		{"length beyond the bytes", patched(one(), 8, be32(5000)...), kerr.InvalidRecord},
		{"length below a header", patched(one(), 8, be32(20)...), kerr.CorruptMessage},
		{"no bytes", []byte{}, kerr.InvalidRecord},
		{"truncated header", one().bytes()[:30], kerr.InvalidRecord},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := dial(t, node).produce(topic, 0, row.records)
			wantCode(t, row.name, res.ErrorCode, row.want)
			want(t, "base offset", res.BaseOffset, -1)
		})
	}
	want(t, "offset of the first good batch", c.mustProduce(topic, one()), 0)
}

func TestProduceTo(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "to", 1)
	for _, row := range []struct {
		name, topic string
		partition   int32
		want        *kerr.Error
	}{
		{"unknown topic", "no-such-topic", 0, kerr.UnknownTopicOrPartition},
		{"unknown partition", topic, 1, kerr.UnknownTopicOrPartition},
		{"negative partition", topic, -1, kerr.UnknownTopicOrPartition},
	} {
		t.Run(row.name, func(t *testing.T) {
			for version := int16(3); version <= produceVersion; version++ {
				res := dial(t, node).produceAt(version, row.topic, row.partition, newBatch(record("v")).bytes())
				wantCode(t, row.name, res.ErrorCode, row.want)
			}
		})
	}
}

func TestProduceByTopicID(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	id := c.topicID(topic)
	for _, row := range []struct {
		name string
		id   [16]byte
		want *kerr.Error
	}{
		{"known", id, nil}, {"unknown", [16]byte{15: 3}, kerr.UnknownTopicID}, {"zero", [16]byte{}, kerr.UnknownTopicID},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := produceRequest("", 0, newBatch(record("v")).bytes())
			req.Topics[0].TopicID = row.id
			res := ask[*kmsg.ProduceResponse](dial(t, harness.Shared(t)), 13, req)
			want(t, "id in the answer", res.Topics[0].TopicID, row.id)
			wantCode(t, row.name, res.Topics[0].Partitions[0].ErrorCode, row.want)
		})
	}
}

func TestProduceEveryVersion(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	for version := int16(3); version <= produceVersion; version++ {
		res := c.produceAt(version, topic, 0, newBatch(record("a"), record("b")).bytes())
		wantCode(t, "produce", res.ErrorCode, nil)
		want(t, "base offset", res.BaseOffset, int64(version-3)*2)
		want(t, "log append time", res.LogAppendTime, -1)
		if version >= 5 {
			want(t, "log start offset", res.LogStartOffset, 0)
		}
	}
}

// Versions 0 to 2 are advertised and not served: see TestApiVersions.
func TestProduceOldVersions(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "old", 1)
	for version := int16(0); version <= 2; version++ {
		c := dial(t, node)
		if node.IsKafka() {
			req := produceRequest(topic, 0, newBatch(record("v")).bytes())
			req.SetVersion(version)
			c.send(req)
			c.closed()
			continue
		}
		res := c.produceAt(version, topic, 0, newBatch(record("v")).bytes())
		wantCode(t, "a decodable refusal, so that the client can say why", res.ErrorCode, kerr.UnsupportedVersion)
	}
}

func TestProduceAcks(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	req := produceRequest(topic, 0, newBatch(record("v")).bytes())
	for _, row := range []struct {
		acks int16
		want *kerr.Error
	}{{-1, nil}, {1, nil}, {2, kerr.InvalidRequiredAcks}, {-2, kerr.InvalidRequiredAcks}} {
		req.Acks = row.acks
		res := ask[*kmsg.ProduceResponse](c, 9, req)
		wantCode(t, "acks", res.Topics[0].Partitions[0].ErrorCode, row.want)
	}
	req.Acks = 0 // no answer: the next one on the connection is the next request's
	req.SetVersion(9)
	c.send(req)
	want(t, "offset after acks -1, 1 and 0", c.mustProduce(topic, newBatch(record("v"))), 3)
}

// An error under acks=0 can't be told in an answer: the connection ends instead.
func TestProduceAcksZeroError(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	req := produceRequest(topic, 7, newBatch(record("v")).bytes())
	req.Acks = 0
	req.SetVersion(9)
	c.send(req)
	c.closed()
}

// The minimum in force is never above the number of replicas (KIP-966).
func TestProduceMinInsyncReplicas(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t, "min.insync.replicas=2")
	wantCode(t, "the only replica of a minimum of two", c.produce(topic, 0, newBatch(record("v")).bytes()).ErrorCode, nil)
}

// Clients write to Kafka's internal topics only by committing.
func TestProduceToInternalTopic(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c := dial(t, node)
	c.makeOffsetsTopic()
	res := c.produce("__consumer_offsets", 0, newBatch(keyed("k", "v")).bytes())
	wantCode(t, "internal topic", res.ErrorCode, kerr.InvalidTopicException)
}

func TestInitProducerID(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	seen := map[int64]bool{c.producerID(): true}
	for version := int16(0); version <= 5; version++ {
		res := ask[*kmsg.InitProducerIDResponse](c, version, initProducerIDRequest())
		wantCode(t, "InitProducerId", res.ErrorCode, nil)
		want(t, "epoch", res.ProducerEpoch, 0)
		if res.ProducerID < 0 || seen[res.ProducerID] {
			t.Errorf("producer id %d again", res.ProducerID)
		}
		seen[res.ProducerID] = true
	}
}

func initProducerIDRequest() *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = 60000
	req.ProducerID, req.ProducerEpoch = -1, -1
	return req
}
