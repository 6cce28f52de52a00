package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var describeTransactionsRow = row{key: wire.KeyDescribeTransactions, min: 0, max: 0, handle: on(describeTransactions)}

func describeTransactions(b Broker, _ *Request, req *kmsg.DescribeTransactionsRequest) kmsg.Response {
	req.TransactionalIDs = distinct(req.TransactionalIDs)
	parts := txn.Split(req)
	answers := make([]kmsg.Response, len(parts))
	for i, part := range parts {
		answers[i] = b.Transact(part.ID, part.Request)
	}
	return txn.Merge(req, answers)
}
