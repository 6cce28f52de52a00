package protocol

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// batch is a RecordBatch v2 in the making. It is laid out here and not by package wire: what is under test must not make
// its own input. Zero values are those of a plain batch of a producer without an id.
type batch struct {
	kmsg.RecordBatch
	records []kmsg.Record
}

func nowMS() int64 { return time.Now().UnixMilli() }

func record(value string) kmsg.Record { return kmsg.Record{Value: []byte(value)} }

func keyed(key, value string) kmsg.Record {
	return kmsg.Record{Key: []byte(key), Value: []byte(value)}
}

// newBatch gives the records consecutive offset deltas and the current time.
func newBatch(records ...kmsg.Record) *batch {
	b := &batch{records: records}
	b.Magic = 2
	b.PartitionLeaderEpoch = -1
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1
	b.FirstTimestamp = nowMS()
	b.MaxTimestamp = b.FirstTimestamp
	b.NumRecords = int32(len(records))
	b.LastOffsetDelta = int32(len(records)) - 1
	for i := range records {
		b.records[i].OffsetDelta = int32(i)
	}
	return b
}

// timestamps sets each record's time and the header's bounds.
func (b *batch) timestamps(ms ...int64) *batch {
	b.FirstTimestamp, b.MaxTimestamp = ms[0], ms[0]
	for i, t := range ms {
		b.records[i].TimestampDelta64 = t - ms[0]
		b.MaxTimestamp = max(b.MaxTimestamp, t)
	}
	return b
}

// producer sets the idempotent producer's identity.
func (b *batch) producer(id int64, epoch int16, sequence int32) *batch {
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, epoch, sequence
	return b
}

// compressed sets a codec (1 gzip … 4 zstd) and the compressed records.
func (b *batch) compressed(codec int16, pack func([]byte) []byte) *batch {
	b.Attributes |= codec
	b.Records = pack(encodeRecords(b.records))
	return b
}

func encodeRecords(records []kmsg.Record) []byte {
	var out []byte
	for _, r := range records {
		body := r.AppendTo(nil)[1:] // Length is 0 as yet: one byte
		r.Length = int32(len(body))
		out = r.AppendTo(out)
	}
	return out
}

// bytes lays the batch out with its length and CRC.
func (b *batch) bytes() []byte {
	if b.Records == nil {
		b.Records = encodeRecords(b.records)
	}
	b.Length = int32(49 + len(b.Records))
	raw := b.AppendTo(nil)
	seal(raw)
	return raw
}

// seal writes the CRC-32C of everything after it.
func seal(raw []byte) {
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
}

// produceRequest is one batch, or any bytes, for one partition.
func produceRequest(topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	return req
}

// produceVersion is the newest that names topics by name.
const produceVersion = 12

// produce sends bytes to a partition and returns its part of the answer.
func (c *conn) produce(topic string, partition int32, records []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return c.produceAt(produceVersion, topic, partition, records)
}

func (c *conn) produceAt(version int16, topic string, partition int32, records []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	res := ask[*kmsg.ProduceResponse](c, version, produceRequest(topic, partition, records))
	if len(res.Topics) != 1 || len(res.Topics[0].Partitions) != 1 {
		c.t.Fatalf("the answer names %d topics", len(res.Topics))
	}
	return res.Topics[0].Partitions[0]
}

// mustProduce stores a batch and returns its base offset.
func (c *conn) mustProduce(topic string, b *batch) int64 {
	c.t.Helper()
	p := c.produce(topic, 0, b.bytes())
	if p.ErrorCode != 0 {
		c.t.Fatalf("produce: %s", codeName(p.ErrorCode))
	}
	return p.BaseOffset
}

// topicID asks Metadata for a topic's id.
func (c *conn) topicID(topic string) [16]byte {
	c.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	res := ask[*kmsg.MetadataResponse](c, 12, req)
	if res.Topics[0].ErrorCode != 0 {
		c.t.Fatalf("metadata of %s: %s", topic, codeName(res.Topics[0].ErrorCode))
	}
	return res.Topics[0].TopicID
}

// fresh is a connection and an empty topic of one partition.
func fresh(t *testing.T, configs ...string) (*conn, string) {
	t.Helper()
	node := harness.Shared(t)
	return dial(t, node), node.CreateTopic(t, "proto", 1, configs...)
}
