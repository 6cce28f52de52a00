package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var listTransactionsRow = row{wire.KeyListTransactions, 0, 2, on(listTransactions)}

func listTransactions(b Broker, _ *Request, req *kmsg.ListTransactionsRequest) kmsg.Response {
	return txn.Merge(req, b.TransactAll(req))
}
