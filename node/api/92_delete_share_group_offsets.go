package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var deleteShareGroupOffsetsRow = row{key: wire.KeyDeleteShareGroupOffsets, min: 0, max: 0, handle: on(deleteShareGroupOffsets)}

func deleteShareGroupOffsets(b Broker, r *Request, req *kmsg.DeleteShareGroupOffsetsRequest) *kmsg.DeleteShareGroupOffsetsResponse {
	if !servesShareGroups(b) {
		resp := kmsg.NewPtrDeleteShareGroupOffsetsResponse()
		resp.ErrorCode, resp.ErrorMessage = unsupportedVersion, kmsg.StringPtr(unsupportedText)
		return resp
	}
	return b.Coordinate(req.GroupID, r.Client, req).(*kmsg.DeleteShareGroupOffsetsResponse)
}
