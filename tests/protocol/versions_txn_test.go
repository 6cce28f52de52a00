package protocol

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// transactionSweeps are the calls of producers with an id, and of the tools that look after transactions.
var transactionSweeps = []sweep{
	{22, []exchange{
		{name: "an idempotent producer", request: func(*scene) kmsg.Request { return initProducerIDRequest() }},
		{name: "a transactional producer", request: func(s *scene) kmsg.Request {
			p := producer{transactional: s.name("transaction")}
			s.conn.findTransactions(p.transactional)
			return p.init()
		}},
		{name: "the same once more", request: func(s *scene) kmsg.Request {
			p := s.producer()
			return p.init()
		}},
		{name: "with an epoch that is over", request: func(s *scene) kmsg.Request {
			p := s.producer()
			ask[*kmsg.InitProducerIDResponse](s.conn, 4, p.init())
			req := p.init()
			if s.version >= 3 {
				req.ProducerID, req.ProducerEpoch = p.id, p.epoch
			}
			return req
		}},
		{name: "with a timeout that is too long", request: func(s *scene) kmsg.Request {
			p := s.producer()
			req := p.init()
			req.TransactionTimeoutMillis = 1 << 30
			return req
		}},
	}},
	{24, []exchange{
		{name: "a partition", request: func(s *scene) kmsg.Request { return addPartitionsRequest(s.producer(), s.records()) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return addPartitionsRequest(s.producer(), s.name("missing")) }},
		{name: "of an epoch that is over", request: func(s *scene) kmsg.Request { return addPartitionsRequest(s.fenced(), s.records()) }},
		{name: "of an id that is not there", request: func(s *scene) kmsg.Request {
			p := s.producer()
			p.transactional = s.name("missing")
			s.conn.findTransactions(p.transactional)
			return addPartitionsRequest(p, s.records())
		}},
	}},
	{25, []exchange{
		{name: "a group", request: func(s *scene) kmsg.Request { return addOffsetsRequest(s.producer(), s.group()) }},
		{name: "of an epoch that is over", request: func(s *scene) kmsg.Request { return addOffsetsRequest(s.fenced(), s.group()) }},
	}},
	{26, []exchange{
		{name: "commit", request: func(s *scene) kmsg.Request { return endRequest(s.openTransaction(), true) }},
		{name: "abort", request: func(s *scene) kmsg.Request { return endRequest(s.openTransaction(), false) }},
		{name: "of nothing begun", request: func(s *scene) kmsg.Request { return endRequest(s.producer(), true) }},
		{name: "of an epoch that is over", request: func(s *scene) kmsg.Request { return endRequest(s.fenced(), true) }},
	}},
	{27, []exchange{
		{name: "a marker", request: func(s *scene) kmsg.Request {
			p := s.openTransaction()
			m := kmsg.NewWriteTxnMarkersRequestMarker()
			m.ProducerID, m.ProducerEpoch = p.id, p.epoch
			m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: p.topic, Partitions: []int32{0}}}
			return &kmsg.WriteTxnMarkersRequest{Markers: []kmsg.WriteTxnMarkersRequestMarker{m}}
		}},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request {
			m := kmsg.NewWriteTxnMarkersRequestMarker()
			m.ProducerID = s.producer().id
			m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: s.name("missing"), Partitions: []int32{0}}}
			return &kmsg.WriteTxnMarkersRequest{Markers: []kmsg.WriteTxnMarkersRequestMarker{m}}
		}},
	}},
	{28, []exchange{
		{name: "an offset", request: func(s *scene) kmsg.Request {
			p, group := s.producer(), s.group()
			wantCode(s.t, "AddOffsetsToTxn", ask[*kmsg.AddOffsetsToTxnResponse](s.conn, 3, addOffsetsRequest(p, group)).ErrorCode, nil)
			return txnCommitRequest(p, group, s.records())
		}},
		{name: "of a member that is not there", request: func(s *scene) kmsg.Request {
			p, m := s.producer(), s.member()
			wantCode(s.t, "AddOffsetsToTxn", ask[*kmsg.AddOffsetsToTxnResponse](s.conn, 3, addOffsetsRequest(p, m.group)).ErrorCode, nil)
			req := txnCommitRequest(p, m.group, s.records())
			if s.version >= 3 {
				req.MemberID, req.Generation = "nobody", m.generation
			}
			return req
		}},
		{name: "to a topic that is not there", request: func(s *scene) kmsg.Request {
			p, group := s.producer(), s.group()
			wantCode(s.t, "AddOffsetsToTxn", ask[*kmsg.AddOffsetsToTxnResponse](s.conn, 3, addOffsetsRequest(p, group)).ErrorCode, nil)
			return txnCommitRequest(p, group, s.name("missing"))
		}},
	}},
	{61, []exchange{
		{name: "in a transaction", request: func(s *scene) kmsg.Request { return producersRequest(s.openTransaction().topic) }},
		{name: "without an id", request: func(s *scene) kmsg.Request { return producersRequest(s.records()) }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return producersRequest(s.name("missing")) }},
	}},
	{65, []exchange{
		{name: "under way", request: func(s *scene) kmsg.Request {
			return &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{s.openTransaction().transactional}}
		}},
		{name: "nothing begun", request: func(s *scene) kmsg.Request {
			return &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{s.producer().transactional}}
		}},
		{name: "committed", request: func(s *scene) kmsg.Request {
			p := s.openTransaction()
			s.endTransaction(p, true)
			return &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{p.transactional}}
		}},
		{name: "an id that is not there", request: func(s *scene) kmsg.Request {
			s.producer()
			return &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{s.name("missing")}}
		}},
	}},
	{66, []exchange{
		{name: "by producer", request: func(s *scene) kmsg.Request {
			return &kmsg.ListTransactionsRequest{ProducerIDFilters: []int64{s.openTransaction().id}, DurationFilterMillis: -1}
		}},
		{name: "by state", request: func(s *scene) kmsg.Request {
			p := s.openTransaction()
			return &kmsg.ListTransactionsRequest{ProducerIDFilters: []int64{p.id}, StateFilters: []string{"Empty", "Odd"}, DurationFilterMillis: -1}
		}},
		{name: "by duration", request: func(s *scene) kmsg.Request {
			p := s.openTransaction()
			return &kmsg.ListTransactionsRequest{ProducerIDFilters: []int64{p.id}, DurationFilterMillis: 1 << 40}
		}},
		{name: "by pattern", request: func(s *scene) kmsg.Request {
			p := s.openTransaction()
			req := &kmsg.ListTransactionsRequest{ProducerIDFilters: []int64{p.id}, DurationFilterMillis: -1, TransactionalIDPattern: ptr("nothing.*")}
			return req
		}},
	}},
}

// findTransactions asks until the coordinator of the id is there.
func (c *conn) findTransactions(id string) {
	c.t.Helper()
	find := findRequest(1, id) // it makes the coordinators' topic
	harness.Await(c.t, "a transaction coordinator", func() bool {
		if ask[*kmsg.FindCoordinatorResponse](c, 3, find).ErrorCode != 0 {
			return false
		}
		res := ask[*kmsg.DescribeTransactionsResponse](c, 0, &kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{id}})
		return slices.Contains([]string{"TRANSACTIONAL_ID_NOT_FOUND", "NONE"}, codeName(res.TransactionStates[0].ErrorCode))
	})
}

// fenced is a producer whose id has been taken by a later one.
func (s *scene) fenced() producer {
	s.t.Helper()
	p := s.producer()
	wantCode(s.t, "InitProducerID", ask[*kmsg.InitProducerIDResponse](s.conn, 4, p.init()).ErrorCode, nil)
	return p
}

func addPartitionsRequest(p producer, topic string) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.transactional, p.id, p.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: p.transactional, ProducerID: p.id, ProducerEpoch: p.epoch,
		Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: []int32{0}}}}}
	return req
}

func addOffsetsRequest(p producer, group string) *kmsg.AddOffsetsToTxnRequest {
	return &kmsg.AddOffsetsToTxnRequest{TransactionalID: p.transactional, ProducerID: p.id, ProducerEpoch: p.epoch, Group: group}
}

func endRequest(p producer, commit bool) *kmsg.EndTxnRequest {
	return &kmsg.EndTxnRequest{TransactionalID: p.transactional, ProducerID: p.id, ProducerEpoch: p.epoch, Commit: commit}
}

func txnCommitRequest(p producer, group, topic string) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.transactional, p.id, p.epoch, group
	o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	o.Offset, o.Metadata = 2, ptr("note")
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{o}}}
	return req
}

func producersRequest(topic string) *kmsg.DescribeProducersRequest {
	return &kmsg.DescribeProducersRequest{Topics: []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}}
}
