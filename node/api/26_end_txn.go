package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var endTxnRow = row{key: wire.KeyEndTxn, min: 0, max: 5, handle: on(endTxn)}

func endTxn(b Broker, r *Request, req *kmsg.EndTxnRequest) kmsg.Response {
	if !r.may(b, writeTransaction, req.TransactionalID) {
		return txn.Refuse(req, unauthorizedTransaction.code)
	}
	if req.TransactionalID == "" {
		return txn.Refuse(req, wire.InvalidRequest)
	}
	return b.Transact(req.TransactionalID, req)
}
