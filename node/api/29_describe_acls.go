package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeACLsRow = row{key: wire.KeyDescribeACLs, min: 1, max: 3, handle: on(describeACLs)}

// describeACLs: there is no authorizer, which tools ask in this way.
func describeACLs(Broker, *Request, *kmsg.DescribeACLsRequest) *kmsg.DescribeACLsResponse {
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorCode = int16(wire.SecurityDisabled)
	resp.ErrorMessage = kmsg.StringPtr("No Authorizer is configured on the broker")
	return resp
}
