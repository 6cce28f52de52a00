package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var addOffsetsRow = row{key: wire.KeyAddOffsetsToTxn, min: 0, max: 4, handle: on(addOffsetsToTxn)}

func addOffsetsToTxn(b Broker, r *Request, req *kmsg.AddOffsetsToTxnRequest) kmsg.Response {
	switch {
	case !r.may(b, writeTransaction, req.TransactionalID):
		return txn.Refuse(req, unauthorizedTransaction.code)
	case !r.may(b, readGroup, req.Group):
		return txn.Refuse(req, unauthorizedGroup.code)
	case req.TransactionalID == "":
		return txn.Refuse(req, wire.InvalidRequest)
	case !b.OffsetsTopicReady():
		return txn.Refuse(req, wire.CoordinatorNotAvailable)
	}
	return b.Transact(req.TransactionalID, req)
}
