package txn

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Part is what one shard has to answer of a request.
type Part struct {
	// ID leads to the shard.
	ID      string
	Request kmsg.Request
}

// Split says which transactional ids a request is for. Most name one; DescribeTransactions and AddPartitionsToTxn from
// version 4 are cut by id. ListTransactions is for all shards, and not for here. The answers are put together by Merge;
// for no Part, Empty is the answer.
func Split(req kmsg.Request) []Part {
	switch r := req.(type) {
	case *kmsg.InitProducerIDRequest:
		return []Part{{*r.TransactionalID, r}}
	case *kmsg.AddOffsetsToTxnRequest:
		return []Part{{r.TransactionalID, r}}
	case *kmsg.EndTxnRequest:
		return []Part{{r.TransactionalID, r}}
	case *kmsg.DescribeTransactionsRequest:
		parts := make([]Part, len(r.TransactionalIDs))
		for i, id := range r.TransactionalIDs {
			part := *r
			part.TransactionalIDs = []string{id}
			parts[i] = Part{id, &part}
		}
		return parts
	case *kmsg.AddPartitionsToTxnRequest:
		if r.Version < batchedFrom {
			return []Part{{r.TransactionalID, r}}
		}
		parts := make([]Part, len(r.Transactions))
		for i := range r.Transactions {
			part := *r
			part.Transactions = r.Transactions[i : i+1]
			parts[i] = Part{r.Transactions[i].TransactionalID, &part}
		}
		return parts
	}
	panic(fmt.Sprintf("BUG: the transaction coordinator does not serve %T", req))
}

// Merge puts the answers of the Parts of one request together. What it gives is the first of them, changed; for none, an
// answer about nothing.
func Merge(req kmsg.Request, responses []kmsg.Response) kmsg.Response {
	if len(responses) == 0 {
		if r, ok := req.(*kmsg.ListTransactionsRequest); ok {
			return new(Coordinator).list(r)
		}
		return errorResponse(req, wire.None)
	}
	for _, resp := range responses[1:] {
		switch all := responses[0].(type) {
		case *kmsg.DescribeTransactionsResponse:
			all.TransactionStates = append(all.TransactionStates, resp.(*kmsg.DescribeTransactionsResponse).TransactionStates...)
		case *kmsg.AddPartitionsToTxnResponse:
			all.Transactions = append(all.Transactions, resp.(*kmsg.AddPartitionsToTxnResponse).Transactions...)
		case *kmsg.ListTransactionsResponse:
			part := resp.(*kmsg.ListTransactionsResponse)
			all.TransactionStates = append(all.TransactionStates, part.TransactionStates...)
			if all.ErrorCode == int16(wire.None) {
				all.ErrorCode = part.ErrorCode
			}
		default:
			panic(fmt.Sprintf("BUG: %T answers one shard's request alone", all))
		}
	}
	return responses[0]
}
