package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var addOffsetsRow = row{wire.KeyAddOffsetsToTxn, 0, 4, on(addOffsetsToTxn)}

func addOffsetsToTxn(b Broker, _ *Request, req *kmsg.AddOffsetsToTxnRequest) kmsg.Response {
	switch {
	case req.TransactionalID == "":
		return txn.Refuse(req, wire.InvalidRequest)
	case !b.OffsetsTopicReady():
		return txn.Refuse(req, wire.CoordinatorNotAvailable)
	}
	return b.Transact(req.TransactionalID, req)
}
