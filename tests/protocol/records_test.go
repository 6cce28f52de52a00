package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ringmill/ringmill/tests/harness"
)

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
