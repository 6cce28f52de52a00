package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var deleteACLsRow = row{key: wire.KeyDeleteACLs, min: 1, max: 3, handle: on(deleteACLs)}

func deleteACLs(_ Broker, _ *Request, req *kmsg.DeleteACLsRequest) *kmsg.DeleteACLsResponse {
	resp := kmsg.NewPtrDeleteACLsResponse()
	for range req.Filters {
		out := kmsg.NewDeleteACLsResponseResult()
		out.ErrorCode, out.ErrorMessage = int16(noAuthorizer.code), noAuthorizer.text()
		resp.Results = append(resp.Results, out)
	}
	return resp
}
