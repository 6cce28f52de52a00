package protocol

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func (c *conn) listOffset(version int16, topic string, partition int32, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	return c.listOffsetAt(version, topic, partition, timestamp, -1)
}

func (c *conn) listOffsetAt(version int16, topic string, partition int32, timestamp int64, epoch int32) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.TimeoutMillis = -1, 10000
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, timestamp, epoch
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ListOffsetsRequestTopicPartition{p}
	req.Topics = []kmsg.ListOffsetsRequestTopic{t}
	return ask[*kmsg.ListOffsetsResponse](c, version, req).Topics[0].Partitions[0]
}

// timed is a topic with the records 1000, 3000, 2000 in one batch and 2500 in another: redpanda-data/redpanda#6604.
// Its times are far in the past, so retention is off.
func timed(t *testing.T) (*conn, string) {
	t.Helper()
	c, topic := fresh(t, "retention.ms=-1")
	c.mustProduce(topic, newBatch(record("a"), record("b"), record("c")).timestamps(1000, 3000, 2000))
	c.mustProduce(topic, newBatch(record("d")).timestamps(2500))
	return c, topic
}

func TestListOffsetsByTime(t *testing.T) {
	t.Parallel()
	c, topic := timed(t)
	for _, row := range []struct {
		name              string
		timestamp, offset int64
		time              int64
	}{
		{"latest", -1, 4, -1},
		{"earliest", -2, 0, -1},
		{"max timestamp", -3, 1, 3000},
		{"earliest local", -4, 0, -1},
		{"latest tiered", -5, -1, -1},
		{"time 0", 0, 0, 1000},
		{"the first record's time", 1000, 0, 1000},
		{"between: the first in offset order that is not older", 1500, 1, 3000},
		{"2000 is behind 3000", 2000, 1, 3000},
		{"2500", 2500, 1, 3000},
		{"3000", 3000, 1, 3000},
		{"past the last", 3001, -1, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := dial(t, harness.Shared(t)).listOffset(10, topic, 0, row.timestamp)
			wantCode(t, row.name, p.ErrorCode, nil)
			want(t, "offset", p.Offset, row.offset)
			want(t, "timestamp", p.Timestamp, row.time)
		})
	}
	want(t, "at every version", c.listOffset(1, topic, 0, 2000).Offset, 1)
}

func TestListOffsetsEveryVersion(t *testing.T) {
	t.Parallel()
	c, topic := timed(t)
	for version := int16(1); version <= 10; version++ {
		latest := c.listOffset(version, topic, 0, -1)
		wantCode(t, "latest", latest.ErrorCode, nil)
		want(t, "latest", latest.Offset, 4)
		want(t, "earliest", c.listOffset(version, topic, 0, -2).Offset, 0)
		if version >= 4 {
			want(t, "leader epoch", latest.LeaderEpoch, 0)
		}
	}
	wantCode(t, "max timestamp before v7", c.listOffset(6, topic, 0, -3).ErrorCode, kerr.UnsupportedVersion)
	wantCode(t, "earliest local before v8", c.listOffset(7, topic, 0, -4).ErrorCode, kerr.UnsupportedVersion)
	wantCode(t, "latest tiered before v9", c.listOffset(8, topic, 0, -5).ErrorCode, kerr.UnsupportedVersion)
}

func TestListOffsetsErrors(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	_, topic := fresh(t)
	for _, row := range []struct {
		name, topic string
		partition   int32
		timestamp   int64
		epoch       int32
		want        *kerr.Error
	}{
		{"unknown topic", "no-such-topic", 0, -1, -1, kerr.UnknownTopicOrPartition},
		{"unknown partition", topic, 9, -1, -1, kerr.UnknownTopicOrPartition},
		{"-6 means nothing", topic, 0, -6, -1, kerr.UnsupportedVersion},
		{"an epoch to come", topic, 0, -1, 5, kerr.UnknownLeaderEpoch},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := dial(t, node).listOffsetAt(10, row.topic, row.partition, row.timestamp, row.epoch)
			wantCode(t, row.name, p.ErrorCode, row.want)
			want(t, "offset", p.Offset, -1)
		})
	}
}

func TestListOffsetsEmptyTopic(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	for timestamp, offset := range map[int64]int64{-1: 0, -2: 0, -3: -1, -4: 0, 0: -1, 1000: -1} {
		p := c.listOffset(10, topic, 0, timestamp)
		wantCode(t, "empty topic", p.ErrorCode, nil)
		want(t, "offset", p.Offset, offset)
	}
}

// A compressed batch whose header leaves max_timestamp unset, as old Sarama writes it, is stored with the right one:
// redpanda-data/redpanda#25769.
func TestListOffsetsUnsetMaxTimestamp(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	now := nowMS()
	b := newBatch(record("a"), record("b")).timestamps(now, now+5).compressed(1, gzipped)
	b.MaxTimestamp = -1
	c.mustProduce(topic, b)
	p := c.listOffset(10, topic, 0, now+3)
	wantCode(t, "by time", p.ErrorCode, nil)
	want(t, "offset", p.Offset, 1)
	want(t, "timestamp", p.Timestamp, now+5)
}

// On a topic that the node stamps, a client's future time is neither stored nor found: redpanda-data/redpanda#27674.
func TestListOffsetsLogAppendTime(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t, "message.timestamp.type=LogAppendTime")
	future := nowMS() + 48*time.Hour.Milliseconds()
	c.mustProduce(topic, newBatch(record("a"), record("b")).timestamps(future, future+5))
	want(t, "by the client's time", c.listOffset(10, topic, 0, future).Offset, -1)
	latest := c.listOffset(10, topic, 0, -3)
	if latest.Offset < 0 || latest.Timestamp > nowMS() {
		t.Errorf("max timestamp: offset %d, %d, which is to come", latest.Offset, latest.Timestamp)
	}
	want(t, "by the node's time", c.listOffset(10, topic, 0, latest.Timestamp).Offset, 0)
}

// A record older than its batch's base time has a negative delta: redpanda-data/redpanda#4010.
func TestListOffsetsNegativeDelta(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	now := nowMS()
	c.mustProduce(topic, newBatch(record("a"), record("b")).timestamps(now, now-60_000))
	c.mustProduce(topic, newBatch(record("c")).timestamps(now-30_000))
	p := c.listOffset(10, topic, 0, now-90_000)
	want(t, "offset", p.Offset, 0)
	want(t, "timestamp", p.Timestamp, now)
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	_, topic := timed(t)
	for _, row := range []struct {
		name           string
		topic          string
		current, epoch int32
		want           *kerr.Error
		wantEpoch      int32
		wantOffset     int64
	}{
		{"the only epoch", topic, -1, 0, nil, 0, 4},
		{"an epoch to come", topic, -1, 5, nil, -1, -1},
		{"no epoch", topic, -1, -1, nil, -1, -1},
		{"a leader epoch to come", topic, 5, 0, kerr.UnknownLeaderEpoch, -1, -1},
		{"unknown topic", "no-such-topic", -1, 0, kerr.UnknownTopicOrPartition, -1, -1},
	} {
		t.Run(row.name, func(t *testing.T) {
			for version := int16(2); version <= 4; version++ {
				req := kmsg.NewPtrOffsetForLeaderEpochRequest()
				p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				p.CurrentLeaderEpoch, p.LeaderEpoch = row.current, row.epoch
				req.ReplicaID = -2
				req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: row.topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
				got := ask[*kmsg.OffsetForLeaderEpochResponse](dial(t, node), version, req).Topics[0].Partitions[0]
				wantCode(t, row.name, got.ErrorCode, row.want)
				want(t, "epoch", got.LeaderEpoch, row.wantEpoch)
				want(t, "end offset", got.EndOffset, row.wantOffset)
			}
		})
	}
}
