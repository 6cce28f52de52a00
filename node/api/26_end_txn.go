package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

var endTxnRow = row{wire.KeyEndTxn, 0, 5, on(endTxn)}

func endTxn(b Broker, _ *Request, req *kmsg.EndTxnRequest) kmsg.Response {
	if req.TransactionalID == "" {
		return txn.Refuse(req, wire.InvalidRequest)
	}
	return b.Transact(req.TransactionalID, req)
}
