package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var createACLsRow = row{key: wire.KeyCreateACLs, min: 1, max: 3, handle: on(createACLs)}

// noAuthorizer is the refusal of a changed ACL.
var noAuthorizer = refusal{wire.SecurityDisabled, "No Authorizer is configured."}

func createACLs(_ Broker, _ *Request, req *kmsg.CreateACLsRequest) *kmsg.CreateACLsResponse {
	resp := kmsg.NewPtrCreateACLsResponse()
	for range req.Creations {
		out := kmsg.NewCreateACLsResponseResult()
		out.ErrorCode, out.ErrorMessage = int16(noAuthorizer.code), noAuthorizer.text()
		resp.Results = append(resp.Results, out)
	}
	return resp
}
