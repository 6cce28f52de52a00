package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var listTransactionsRow = row{key: wire.KeyListTransactions, min: 0, max: 2, handle: on(listTransactions)}

func listTransactions(b Broker, _ *Request, req *kmsg.ListTransactionsRequest) kmsg.Response {
	return txn.Merge(req, b.TransactAll(req))
}
