package txn

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Refuse is the answer that turns a request down as a whole with code, in the way that its clients understand: for a
// caller that has no Coordinator for the id's shard.
func Refuse(req kmsg.Request, code wire.ErrorCode) kmsg.Response { return errorResponse(req, code) }

func errorResponse(req kmsg.Request, code wire.ErrorCode) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.InitProducerIDRequest:
		return initError(r, code)
	case *kmsg.AddPartitionsToTxnRequest:
		return addResponse(r, code)
	case *kmsg.AddOffsetsToTxnRequest:
		resp := kmsg.NewPtrAddOffsetsToTxnResponse()
		resp.Version, resp.ErrorCode = r.Version, int16(oldFenced(code, r.Version, 2))
		return resp
	case *kmsg.EndTxnRequest:
		return endResponse(r, nil, code)
	case *kmsg.DescribeTransactionsRequest:
		return describeError(r, code)
	case *kmsg.ListTransactionsRequest:
		resp := kmsg.NewPtrListTransactionsResponse()
		resp.Version, resp.ErrorCode = r.Version, int16(code)
		return resp
	}
	panic(fmt.Sprintf("BUG: the transaction coordinator does not serve %T", req))
}

func initError(req *kmsg.InitProducerIDRequest, code wire.ErrorCode) *kmsg.InitProducerIDResponse {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.Version, resp.ErrorCode = req.Version, int16(oldFenced(code, req.Version, 4))
	resp.ProducerID, resp.ProducerEpoch = int64(wire.NoProducerID), int16(wire.NoProducerEpoch)
	return resp
}

func describeError(req *kmsg.DescribeTransactionsRequest, code wire.ErrorCode) *kmsg.DescribeTransactionsResponse {
	resp := kmsg.NewPtrDescribeTransactionsResponse()
	resp.Version = req.Version
	for _, id := range req.TransactionalIDs {
		s := kmsg.NewDescribeTransactionsResponseTransactionState()
		s.TransactionalID, s.ErrorCode = id, int16(code)
		resp.TransactionStates = append(resp.TransactionStates, s)
	}
	return resp
}

// oldFenced says INVALID_PRODUCER_EPOCH for PRODUCER_FENCED to clients of a version before since, which do not know it.
func oldFenced(code wire.ErrorCode, version, since int16) wire.ErrorCode {
	if code == wire.ProducerFenced && version < since {
		return wire.InvalidProducerEpoch
	}
	return code
}
