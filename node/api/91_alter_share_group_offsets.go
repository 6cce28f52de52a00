package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var alterShareGroupOffsetsRow = row{key: wire.KeyAlterShareGroupOffsets, min: 0, max: 0, handle: on(alterShareGroupOffsets)}

// unsupportedText is what Kafka says of error 35 where there is room for words.
const unsupportedText = "The version of API is not supported."

func alterShareGroupOffsets(b Broker, r *Request, req *kmsg.AlterShareGroupOffsetsRequest) *kmsg.AlterShareGroupOffsetsResponse {
	if !servesShareGroups(b) {
		resp := kmsg.NewPtrAlterShareGroupOffsetsResponse()
		resp.ErrorCode, resp.ErrorMessage = unsupportedVersion, kmsg.StringPtr(unsupportedText)
		return resp
	}
	return b.Coordinate(req.GroupID, r.Client, req).(*kmsg.AlterShareGroupOffsetsResponse)
}
