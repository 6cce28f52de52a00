package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var initProducerIDRow = row{key: wire.KeyInitProducerID, min: 0, max: 5, handle: on(initProducerID)}

// initProducerID has the coordinator of a transactional id give its producer an id and epoch. An idempotent producer that is
// not transactional starts afresh with a new id, whatever id and epoch it had (TransactionCoordinator.handleInitProducerId).
func initProducerID(b Broker, r *Request, req *kmsg.InitProducerIDRequest) kmsg.Response {
	resp := kmsg.NewPtrInitProducerIDResponse()
	code := r.mayProduceWithID(b, req)
	if code == wire.None {
		code = checkInitProducerID(b, req)
	}
	if code == wire.None && req.TransactionalID != nil {
		return b.Transact(*req.TransactionalID, req)
	}
	if code == wire.None {
		var id wire.ProducerID
		if id, code = b.NewProducerID(); code == wire.None {
			resp.ProducerID, resp.ProducerEpoch = int64(id), 0
			return resp
		}
	}
	resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = int16(code), int64(wire.NoProducerID), -1
	return resp
}

// mayProduceWithID: whoever may write to some topic may do so idempotently (KIP-679).
func (r *Request) mayProduceWithID(b Broker, req *kmsg.InitProducerIDRequest) wire.ErrorCode {
	switch a := b.Authorizer(); {
	case a == nil:
	case req.TransactionalID != nil && !r.may(b, writeTransaction, *req.TransactionalID):
		return unauthorizedTransaction.code
	case req.TransactionalID == nil && !a.AllowsSome(r.Client.ACL(), writeTopic.operation, writeTopic.resource) && !r.mayInCluster(b, writeIdempotently):
		return unauthorizedCluster.code
	}
	return wire.None
}

func checkInitProducerID(b Broker, req *kmsg.InitProducerIDRequest) wire.ErrorCode {
	hasID, hasEpoch := req.ProducerID != int64(wire.NoProducerID), req.ProducerEpoch != -1
	switch {
	case hasID != hasEpoch:
		return wire.InvalidRequest
	case req.TransactionalID == nil:
		return wire.None
	case *req.TransactionalID == "":
		return wire.InvalidRequest
	case req.TransactionTimeoutMillis <= 0 || int64(req.TransactionTimeoutMillis) > b.Config().TransactionTimeoutMaxMS:
		return wire.InvalidTransactionTimeout
	}
	return wire.None
}
