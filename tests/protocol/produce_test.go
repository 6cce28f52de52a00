package protocol

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func gzipped(raw []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(raw)
	w.Close()
	return out.Bytes()
}

func lz4ed(raw []byte) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	w.Write(raw)
	w.Close()
	return out.Bytes()
}

func zstded(raw []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(raw, nil)
}

func snappied(raw []byte) []byte { return s2.EncodeSnappy(nil, raw) }

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

func TestProduceCompactedTopicNeedsKeys(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t, "cleanup.policy=compact")
	wantCode(t, "null key", c.produce(topic, 0, newBatch(record("v")).bytes()).ErrorCode, kerr.InvalidRecord)
	wantCode(t, "null key behind a good one", c.produce(topic, 0, newBatch(keyed("k", "v"), record("v")).bytes()).ErrorCode, kerr.InvalidRecord)
	gz := newBatch(record("v")).compressed(1, gzipped)
	wantCode(t, "null key, gzip", c.produce(topic, 0, gz.bytes()).ErrorCode, kerr.InvalidRecord)
	wantCode(t, "empty key", c.produce(topic, 0, newBatch(keyed("", "v")).bytes()).ErrorCode, nil)
	want(t, "next offset", c.mustProduce(topic, newBatch(keyed("k", "v"))), 1)
}

// Where the node must look into records, their own counts are as little to be trusted as the batch's: apache/iggy PR#4229.
func TestProduceHostileRecords(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "hostile-records", 1, "cleanup.policy=compact")
	huge := []byte{0xfe, 0xff, 0xff, 0xff, 0x0f} // varint of 2^31-1
	for _, row := range []struct {
		name string
		body []byte // of a record, behind its length
	}{
		{"2^31-1 headers", append([]byte{0, 0, 0, 2, 'k', 2, 'v'}, huge...)},
		{"negative number of headers", []byte{0, 0, 0, 2, 'k', 2, 'v', 1}},
		{"key of 2^31-1 bytes", append([]byte{0, 0, 0}, huge...)},
		{"value longer than the record", []byte{0, 0, 0, 2, 'k', 100, 'v', 0}},
		{"bytes behind the headers", []byte{0, 0, 0, 2, 'k', 2, 'v', 0, 9, 9}},
	} {
		for codec, pack := range map[int16]func([]byte) []byte{0: func(raw []byte) []byte { return raw }, 1: gzipped} {
			t.Run(fmt.Sprintf("%s, codec %d", row.name, codec), func(t *testing.T) {
				b := newBatch(record("v")).compressed(codec, pack)
				b.Records = pack(append([]byte{byte(2 * len(row.body))}, row.body...))
				res := dial(t, node).produce(topic, 0, b.bytes())
				wantCode(t, row.name, res.ErrorCode, kerr.InvalidRecord)
			})
		}
	}
}

// The limit is on the batch as it is stored.
func TestProduceMaxMessageBytes(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t, "max.message.bytes=2000")
	random := make([]byte, 5000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	wantCode(t, "5 kB random", c.produce(topic, 0, newBatch(record(string(random))).bytes()).ErrorCode, kerr.MessageTooLarge)
	zeros := newBatch(record(string(make([]byte, 5000)))).compressed(2, snappied)
	wantCode(t, "5 kB of zeros, snappy", c.produce(topic, 0, zeros.bytes()).ErrorCode, nil)
	exact := newBatch(record(string(make([]byte, 1930))))
	for len(exact.bytes()) < 2000 {
		exact = newBatch(record(string(make([]byte, len(exact.records[0].Value)+1))))
	}
	wantCode(t, "2000 bytes", c.produce(topic, 0, exact.bytes()).ErrorCode, nil)
	over := newBatch(record(string(make([]byte, len(exact.records[0].Value)+1))))
	wantCode(t, "2001 bytes", c.produce(topic, 0, over.bytes()).ErrorCode, kerr.MessageTooLarge)
}

func TestProduceTimestamps(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	now := nowMS()
	hour := time.Hour.Milliseconds()
	for _, row := range []struct {
		name, config string
		timestamp    int64
		want         *kerr.Error
	}{
		{"two days ahead", "", now + 48*hour, kerr.InvalidTimestamp},
		{"half an hour ahead", "", now + hour/2, nil},
		{"1970", "", 1000, nil},
		{"two days ahead, allowed", "message.timestamp.after.max.ms=999999999", now + 48*hour, nil},
		{"two hours old, one allowed", "message.timestamp.before.max.ms=3600000", now - 2*hour, kerr.InvalidTimestamp},
		{"two days ahead, but the node stamps", "message.timestamp.type=LogAppendTime", now + 48*hour, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			var configs []string
			if row.config != "" {
				configs = append(configs, row.config)
			}
			topic := node.CreateTopic(t, "ts", 1, configs...)
			res := dial(t, node).produce(topic, 0, newBatch(record("v")).timestamps(row.timestamp).bytes())
			wantCode(t, row.name, res.ErrorCode, row.want)
		})
	}
}

// The node's clock goes into the answer, the batch header and every record's time (redpanda-data/redpanda#11922).
func TestProduceLogAppendTime(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t, "message.timestamp.type=LogAppendTime")
	before := nowMS()
	res := c.produce(topic, 0, newBatch(record("a"), record("b")).timestamps(1000, 2000).bytes())
	wantCode(t, "produce", res.ErrorCode, nil)
	if res.LogAppendTime < before || res.LogAppendTime > nowMS() {
		t.Errorf("log append time %d, produced between %d and %d", res.LogAppendTime, before, nowMS())
	}
	stored := c.fetchBatches(topic, 0)[0]
	want(t, "timestamp type bit", stored.Attributes&8, 8)
	want(t, "max timestamp", stored.MaxTimestamp, res.LogAppendTime)
}

// What is stored is what was produced, byte for byte behind the offset and the epoch.
func TestProduceKeepsCodecs(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for codec, pack := range []func([]byte) []byte{nil, gzipped, snappied, lz4ed, zstded} {
		c, topic := dial(t, node), node.CreateTopic(t, "codec", 1)
		b := newBatch(record("first"), record("second"))
		if pack != nil {
			b.compressed(int16(codec), pack)
		}
		want(t, "offset", c.mustProduce(topic, b), 0)
		raw := c.fetchRaw(topic, 0)
		if sent := b.bytes(); len(raw) != len(sent) || !bytes.Equal(raw[16:], sent[16:]) {
			t.Errorf("codec %d: %d bytes stored, %d sent", codec, len(raw), len(sent))
		}
	}
}

func TestProduceCodecErrors(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	zstdBatch := newBatch(record("v")).compressed(4, zstded).bytes()
	wantCode(t, "zstd before v7", c.produceAt(6, topic, 0, zstdBatch).ErrorCode, kerr.UnsupportedCompressionType)
	wantCode(t, "zstd at v7", c.produceAt(7, topic, 0, zstdBatch).ErrorCode, nil)
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
