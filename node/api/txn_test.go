package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

func (b *fakeBroker) producerFor(t *testing.T, id string) (producer int64, epoch int16) {
	t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, 1000
	resp := ask[*kmsg.InitProducerIDResponse](t, b, 5, req)
	if resp.ErrorCode != 0 {
		t.Fatal(wire.ErrorCode(resp.ErrorCode))
	}
	return resp.ProducerID, resp.ProducerEpoch
}

// TestAddPartitionsIsAllOrNothing has the answers of Apache Kafka 4.1.1.
func TestAddPartitionsIsAllOrNothing(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a", 2)
	producer, epoch := b.producerFor(t, "t")
	for v := int16(0); v <= 5; v++ {
		for _, c := range []struct{ id, partitions, want string }{
			{"t", "a-0 a-7 b-0", "a-0 OPERATION_NOT_ATTEMPTED, a-7 UNKNOWN_TOPIC_OR_PARTITION, b-0 UNKNOWN_TOPIC_OR_PARTITION"},
			{"t", "a-0 a-1", "a-0 NONE, a-1 NONE"},
			{"", "a-0", "a-0 INVALID_REQUEST"},
			{"u", "a-0", "a-0 INVALID_PRODUCER_ID_MAPPING"},
		} {
			req := kmsg.NewPtrAddPartitionsToTxnRequest()
			one := kmsg.NewAddPartitionsToTxnRequestTransaction()
			req.TransactionalID, req.ProducerID, req.ProducerEpoch = c.id, producer, epoch
			one.TransactionalID, one.ProducerID, one.ProducerEpoch = c.id, producer, epoch
			for _, p := range strings.Fields(c.partitions) {
				topic, n := p[:1], int32(p[2]-'0')
				req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: topic, Partitions: []int32{n}})
				one.Topics = append(one.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: topic, Partitions: []int32{n}})
			}
			req.Transactions = append(req.Transactions, one)
			if got := addedPartitions(ask[*kmsg.AddPartitionsToTxnResponse](t, b, v, req)); got != c.want {
				t.Errorf("version %d, id %q: %s, want %s", v, c.id, got, c.want)
			}
		}
	}
}

func addedPartitions(resp *kmsg.AddPartitionsToTxnResponse) string {
	var out []string
	say := func(topic string, p int32, code int16) {
		out = append(out, fmt.Sprintf("%s-%d %s", topic, p, wire.ErrorCode(code)))
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			say(t.Topic, p.Partition, p.ErrorCode)
		}
	}
	for _, one := range resp.Transactions {
		for _, t := range one.Topics {
			for _, p := range t.Partitions {
				say(t.Topic, p.Partition, p.ErrorCode)
			}
		}
	}
	return strings.Join(out, ", ")
}

func TestTransactionsWithoutAnID(t *testing.T) {
	b := newFakeBroker(t)
	if got := ask[*kmsg.EndTxnResponse](t, b, 5, kmsg.NewPtrEndTxnRequest()); wire.ErrorCode(got.ErrorCode) != wire.InvalidRequest {
		t.Errorf("EndTxn: %s", wire.ErrorCode(got.ErrorCode))
	}
	if got := ask[*kmsg.AddOffsetsToTxnResponse](t, b, 4, kmsg.NewPtrAddOffsetsToTxnRequest()); wire.ErrorCode(got.ErrorCode) != wire.InvalidRequest {
		t.Errorf("AddOffsetsToTxn: %s", wire.ErrorCode(got.ErrorCode))
	}
	b.notReady = true
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID = "t"
	if got := ask[*kmsg.AddOffsetsToTxnResponse](t, b, 4, req); wire.ErrorCode(got.ErrorCode) != wire.CoordinatorNotAvailable {
		t.Errorf("AddOffsetsToTxn without __consumer_offsets: %s", wire.ErrorCode(got.ErrorCode))
	}
}

func TestDescribeAndListTransactions(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a", 2)
	producer, epoch := b.producerFor(t, "t")
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = "t", producer, epoch
	add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "a", Partitions: []int32{1}}}
	ask[*kmsg.AddPartitionsToTxnResponse](t, b, 3, add)

	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{"t", "", "u", "t"}
	states := ask[*kmsg.DescribeTransactionsResponse](t, b, 0, describe).TransactionStates
	if len(states) != 3 || states[0].State != "Ongoing" || states[0].Topics[0].Topic != "a" || states[0].Topics[0].Partitions[0] != 1 ||
		wire.ErrorCode(states[1].ErrorCode) != wire.InvalidRequest || wire.ErrorCode(states[2].ErrorCode) != wire.TransactionalIDNotFound {
		t.Errorf("%+v", states)
	}
	for v := int16(0); v <= 2; v++ {
		list := kmsg.NewPtrListTransactionsRequest()
		list.DurationFilterMillis = -1
		list.StateFilters = []string{"Ongoing", "Sleeping"}
		got := ask[*kmsg.ListTransactionsResponse](t, b, v, list)
		if len(got.TransactionStates) != 1 || got.TransactionStates[0].TransactionalID != "t" || got.UnknownStateFilters[0] != "Sleeping" {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

// TestDescribeProducers has the codes and messages of Apache Kafka 4.1.1.
func TestDescribeProducers(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a", 1)
	b.partitions[wire.TopicPartition{Topic: "a"}] = &fakePartition{producers: []segment.ActiveProducer{
		{ID: 7, Epoch: 2, LastSequence: 5, LastTimestamp: 1000, CoordinatorEpoch: 3, TxnStartOffset: 40},
	}}
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, name := range []string{"a", "nosuch", "a b"} {
		req.Topics = append(req.Topics, kmsg.DescribeProducersRequestTopic{Topic: name, Partitions: []int32{0, 9}})
	}
	topics := ask[*kmsg.DescribeProducersResponse](t, b, 0, req).Topics
	p := topics[0].Partitions[0]
	want := kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
		ProducerID: 7, ProducerEpoch: 2, LastSequence: 5, LastTimestamp: 1000, CoordinatorEpoch: 3, CurrentTxnStartOffset: 40,
	}
	if p.ErrorCode != 0 || len(p.ActiveProducers) != 1 || fmt.Sprint(p.ActiveProducers[0]) != fmt.Sprint(want) {
		t.Errorf("%+v", p)
	}
	for _, c := range []struct {
		topic, partition int
		code             wire.ErrorCode
		message          string
	}{
		{0, 1, wire.UnknownTopicOrPartition, ""},
		{1, 0, wire.UnknownTopicOrPartition, "This server does not host this topic-partition."},
		{2, 0, wire.InvalidTopicException, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
	} {
		p := topics[c.topic].Partitions[c.partition]
		message := ""
		if p.ErrorMessage != nil {
			message = *p.ErrorMessage
		}
		if wire.ErrorCode(p.ErrorCode) != c.code || message != c.message {
			t.Errorf("%s-%d: %s %q", topics[c.topic].Topic, p.Partition, wire.ErrorCode(p.ErrorCode), message)
		}
	}
}

// TestDescribeProducersOfAFollower: a replica that follows tells of the producers that it knows (kafka-transactions --broker-id).
func TestDescribeProducersOfAFollower(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a", 1)
	b.follow("a", &fakePartition{producers: []segment.ActiveProducer{{ID: 7}}})
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "a", Partitions: []int32{0}}}
	p := ask[*kmsg.DescribeProducersResponse](t, b, 0, req).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || len(p.ActiveProducers) != 1 || p.ActiveProducers[0].ProducerID != 7 {
		t.Errorf("%+v", p)
	}
}

func TestWriteTxnMarkers(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a", 1)
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	for _, producer := range []int64{7, -1} {
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID = producer
		m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "a", Partitions: []int32{0, 4}}}
		req.Markers = append(req.Markers, m)
	}
	markers := ask[*kmsg.WriteTxnMarkersResponse](t, b, 1, req).Markers
	var got []string
	for _, m := range markers {
		for _, p := range m.Topics[0].Partitions {
			got = append(got, fmt.Sprint(m.ProducerID, " ", p.Partition, " ", wire.ErrorCode(p.ErrorCode)))
		}
	}
	if s := strings.Join(got, ", "); s != "7 0 NONE, 7 4 UNKNOWN_TOPIC_OR_PARTITION, -1 0 INVALID_REQUEST, -1 4 INVALID_REQUEST" {
		t.Error(s)
	}
}

// TestTxnOffsetCommitOfUnknownPartitions: they are answered here, in their place.
func TestTxnOffsetCommitOfUnknownPartitions(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a", 1)
	for v := int16(0); v <= 5; v++ {
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.Group, req.TransactionalID = fmt.Sprint("g", v), "t"
		for _, name := range []string{"b", "a"} {
			topic := kmsg.NewTxnOffsetCommitRequestTopic()
			topic.Topic = name
			topic.Partitions = []kmsg.TxnOffsetCommitRequestTopicPartition{{Partition: 0}, {Partition: 3}}
			req.Topics = append(req.Topics, topic)
		}
		var got []string
		for _, topic := range ask[*kmsg.TxnOffsetCommitResponse](t, b, v, req).Topics {
			for _, p := range topic.Partitions {
				got = append(got, fmt.Sprintf("%s-%d %d", topic.Topic, p.Partition, p.ErrorCode))
			}
		}
		if s := strings.Join(got, ", "); s != "b-0 3, b-3 3, a-3 3, a-0 0" {
			t.Errorf("version %d: %s", v, s)
		}
	}
}
