package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var describeTransactionsRow = row{key: wire.KeyDescribeTransactions, min: 0, max: 0, handle: on(describeTransactions)}

func describeTransactions(b Broker, r *Request, req *kmsg.DescribeTransactionsRequest) kmsg.Response {
	req.TransactionalIDs = distinct(req.TransactionalIDs)
	parts := txn.Split(req)
	answers := make([]kmsg.Response, len(parts))
	for i, part := range parts {
		if r.may(b, describeTransaction, part.ID) {
			answers[i] = b.Transact(part.ID, part.Request)
		} else {
			answers[i] = txn.Refuse(part.Request, unauthorizedTransaction.code)
		}
	}
	resp := txn.Merge(req, answers).(*kmsg.DescribeTransactionsResponse)
	for i := range resp.TransactionStates { // of whose topics the client sees those that it may know of
		s := &resp.TransactionStates[i]
		s.Topics = slices.DeleteFunc(s.Topics, func(t kmsg.DescribeTransactionsResponseTransactionStateTopic) bool {
			return !r.allows(b, describeTopic, t.Topic)
		})
	}
	return resp
}
