package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var listTransactionsRow = row{key: wire.KeyListTransactions, min: 0, max: 2, handle: on(listTransactions)}

func listTransactions(b Broker, r *Request, req *kmsg.ListTransactionsRequest) kmsg.Response {
	resp := txn.Merge(req, b.TransactAll(req)).(*kmsg.ListTransactionsResponse)
	resp.TransactionStates = slices.DeleteFunc(resp.TransactionStates, func(s kmsg.ListTransactionsResponseTransactionState) bool {
		return !r.allows(b, describeTransaction, s.TransactionalID)
	})
	return resp
}
