package api

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

func offsetQuery(partition int32, ts int64, epoch int32) kmsg.ListOffsetsRequestTopicPartition {
	q := kmsg.NewListOffsetsRequestTopicPartition()
	q.Partition, q.Timestamp, q.CurrentLeaderEpoch = partition, ts, epoch
	return q
}

func listOffsetsRequest(queries ...kmsg.ListOffsetsRequestTopicPartition) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "v", Partitions: queries}}
	return req
}

// found is one answer of ListOffsets.
type found struct {
	code       int16
	offset, at int64
	epoch      int32
}

func listed(t *testing.T, b Broker, version int16, req *kmsg.ListOffsetsRequest) found {
	t.Helper()
	p := ask[*kmsg.ListOffsetsResponse](t, b, version, req).Topics[0].Partitions[0]
	return found{p.ErrorCode, p.Offset, p.Timestamp, p.LeaderEpoch}
}

// TestListOffsetsOfANewLeader: what it does not know yet is not there yet (KIP-207), as in Kafka's Partition.fetchOffsetForTimestamp.
func TestListOffsetsOfANewLeader(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	b.partitions[wire.TopicPartition{Topic: "v"}] = &fakePartition{highWatermark: 2, lastStable: 2, watermarkOld: true, times: []wire.Timestamp{1000, 2000, 3000}}
	for _, c := range []struct {
		version int16
		replica int32
		ts      int64
		want    found
	}{
		{10, -1, -1, found{78, -1, -1, -1}},
		{4, -1, -1, found{5, -1, -1, -1}},
		{10, 2, -1, found{0, 2, -1, 0}},
		{10, -1, -2, found{0, 0, -1, 0}},
		{10, -1, -3, found{78, -1, -1, -1}},
		{10, -1, 2000, found{0, 1, 2000, 0}},
		{10, -1, 3000, found{78, -1, -1, -1}},
		{10, -1, -5, found{0, -1, -1, -1}},
	} {
		req := listOffsetsRequest(offsetQuery(0, c.ts, -1))
		req.ReplicaID = c.replica
		if got := listed(t, b, c.version, req); got != c.want {
			t.Errorf("v%d of replica %d at %d: %+v, want %+v", c.version, c.replica, c.ts, got, c.want)
		}
	}
}

// TestListOffsetsOfTimestamps: batches with the timestamps {1000, 3000, 2000} and {2500}, and what Apache Kafka 4.1.1
// answered about them.
func TestListOffsetsOfTimestamps(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 2)
	b.partitions[wire.TopicPartition{Topic: "v"}] = &fakePartition{highWatermark: 4, lastStable: 4, times: []wire.Timestamp{1000, 3000, 2000, 2500}}
	b.partitions[wire.TopicPartition{Topic: "v", Partition: 1}] = &fakePartition{epoch: 2}
	for _, c := range []struct {
		ts   int64
		want found
	}{
		{-1, found{0, 4, -1, 0}},
		{-2, found{0, 0, -1, 0}},
		{-3, found{0, 1, 3000, 0}},
		{-4, found{0, 0, -1, 0}},
		{-5, found{0, -1, -1, -1}},
		{-6, found{35, -1, -1, -1}},
		{-7, found{35, -1, -1, -1}},
		{2000, found{0, 1, 3000, 0}},
		{2500, found{0, 1, 3000, 0}},
		{0, found{0, 0, 1000, 0}},
		{3001, found{0, -1, -1, -1}},
	} {
		if got := listed(t, b, 10, listOffsetsRequest(offsetQuery(0, c.ts, -1))); got != c.want {
			t.Errorf("timestamp %d: %+v", c.ts, got)
		}
	}
	if got := listed(t, b, 10, listOffsetsRequest(offsetQuery(1, -3, -1))); got != (found{0, -1, -1, -1}) {
		t.Errorf("timestamp -3 of an empty log: %+v", got)
	}
	if got := listed(t, b, 10, listOffsetsRequest(offsetQuery(1, -2, -1))); got != (found{0, 0, -1, 2}) {
		t.Errorf("timestamp -2 of an empty log: %+v", got)
	}
	if got := listed(t, b, 1, listOffsetsRequest(offsetQuery(0, -1, -1))); got != (found{0, 4, -1, -1}) {
		t.Errorf("version 1: %+v", got)
	}
}

func TestListOffsetsOfTimestampsThatAVersionHasNot(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	for ts, since := range map[int64]int16{-1: 1, -2: 1, -3: 7, -4: 8, -5: 9} {
		for v := int16(1); v <= 10; v++ {
			want := int16(0)
			if v < since {
				want = 35
			}
			if got := listed(t, b, v, listOffsetsRequest(offsetQuery(0, ts, -1))); got.code != want {
				t.Errorf("timestamp %d, version %d: error %d", ts, v, got.code)
			}
		}
	}
}

func TestListOffsetsRefuses(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 2)
	b.partitions[wire.TopicPartition{Topic: "v"}] = &fakePartition{epoch: 3, err: errors.New("EIO")}
	b.offline[wire.TopicPartition{Topic: "v", Partition: 1}] = true
	none := listOffsetsRequest(offsetQuery(0, -1, -1))
	none.Topics[0].Topic = "none"
	uncertain := listOffsetsRequest(offsetQuery(0, -1, -1))
	uncertain.IsolationLevel = 2
	for _, c := range []struct {
		name string
		req  *kmsg.ListOffsetsRequest
		code int16
	}{
		{"older epoch", listOffsetsRequest(offsetQuery(0, -1, 2)), 74},
		{"newer epoch", listOffsetsRequest(offsetQuery(0, -1, 4)), 75},
		{"this epoch", listOffsetsRequest(offsetQuery(0, -1, 3)), 0},
		{"epoch -2", listOffsetsRequest(offsetQuery(0, -1, -2)), 74},
		{"twice", listOffsetsRequest(offsetQuery(0, -1, -1), offsetQuery(0, -2, -1)), 42},
		{"twice, bad timestamp", listOffsetsRequest(offsetQuery(0, -9, -1), offsetQuery(0, -9, -1)), 42},
		{"isolation level 2", uncertain, 42},
		{"unknown partition", listOffsetsRequest(offsetQuery(9, -1, -1)), 3},
		{"unknown topic", none, 3},
		{"offline", listOffsetsRequest(offsetQuery(1, -1, -1)), 56},
		{"failed read", listOffsetsRequest(offsetQuery(0, 5, -1)), 56},
	} {
		got := listed(t, b, 10, c.req)
		if got.code != c.code || c.code != 0 && (got.offset != -1 || got.at != -1) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestListOffsetsReadCommitted: what lies beyond the last stable offset is not there for who reads committed.
func TestListOffsetsReadCommitted(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	b.partitions[wire.TopicPartition{Topic: "v"}] = &fakePartition{highWatermark: 4, lastStable: 1, times: []wire.Timestamp{1000, 3000, 2000, 2500}}
	for ts, want := range map[int64]found{-1: {0, 1, -1, 0}, -3: {0, -1, -1, -1}, 500: {0, 0, 1000, 0}, 1500: {0, -1, -1, -1}} {
		req := listOffsetsRequest(offsetQuery(0, ts, -1))
		req.IsolationLevel = 1
		if got := listed(t, b, 10, req); got != want {
			t.Errorf("timestamp %d: %+v", ts, got)
		}
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	b.partitions[wire.TopicPartition{Topic: "v"}] = &fakePartition{highWatermark: 4}
	for _, c := range []struct {
		name                      string
		partition, current, epoch int32
		code                      int16
		endEpoch                  int32
		end                       int64
	}{
		{"epoch 0", 0, -1, 0, 0, 0, 4},
		{"epoch 5", 0, -1, 5, 0, -1, -1},
		{"epoch -1", 0, -1, -1, 0, -1, -1},
		{"newer leader", 0, 1, 0, 75, -1, -1},
		{"older leader", 0, -2, 0, 74, -1, -1},
		{"unknown partition", 9, 1, 0, 3, -1, -1},
	} {
		for v := int16(2); v <= 4; v++ {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			q := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			q.Partition, q.CurrentLeaderEpoch, q.LeaderEpoch = c.partition, c.current, c.epoch
			req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "v", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{q}}}
			got := ask[*kmsg.OffsetForLeaderEpochResponse](t, b, v, req).Topics[0].Partitions[0]
			if got.Partition != c.partition || got.ErrorCode != c.code || got.LeaderEpoch != c.endEpoch || got.EndOffset != c.end {
				t.Errorf("%s, version %d: %+v", c.name, v, got)
			}
		}
	}
}

func TestInitProducerID(t *testing.T) {
	id := kmsg.StringPtr
	for _, c := range []struct {
		name     string
		txid     *string
		timeout  int32
		producer int64
		epoch    int16
		code     int16
	}{
		{"new", nil, 0, -1, -1, 0},
		{"again", nil, 0, 5, 3, 0},
		{"id without epoch", nil, 0, 5, -1, 42},
		{"epoch without id", nil, 0, -1, 3, 42},
		{"empty transactional id", id(""), 1000, -1, -1, 42},
		{"empty transactional id, no timeout", id(""), 0, -1, -1, 42},
		{"ids below 0", nil, 0, -2, -2, 0},
		{"id below 0 without epoch", nil, 0, -2, -1, 42},
		{"no timeout", id("t"), 0, -1, -1, 50},
		{"timeout beyond the node's", id("t"), 900_001, -1, -1, 50},
		{"transactional", id("t"), 900_000, -1, -1, 0},
	} {
		b := newFakeBroker(t)
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = c.txid, c.timeout, c.producer, c.epoch
		got := ask[*kmsg.InitProducerIDResponse](t, b, 5, req)
		if got.ErrorCode != c.code || c.code == 0 && (got.ProducerID != 1 || got.ProducerEpoch != 0) ||
			c.code != 0 && (got.ProducerID != -1 || got.ProducerEpoch != -1) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
