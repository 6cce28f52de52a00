package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// ShareAcknowledge 0 was of Kafka's early access release alone.
var shareAcknowledgeRow = row{key: wire.KeyShareAcknowledge, min: 1, max: 1, handle: on(shareAcknowledge)}

func shareAcknowledge(b Broker, r *Request, req *kmsg.ShareAcknowledgeRequest) *kmsg.ShareAcknowledgeResponse {
	if !servesShareGroups(b) {
		resp := kmsg.NewPtrShareAcknowledgeResponse()
		resp.ErrorCode = unsupportedVersion
		return resp
	}
	if !r.may(b, readGroup, nameOf(req.GroupID)) {
		resp := kmsg.NewPtrShareAcknowledgeResponse()
		resp.ErrorCode = int16(unauthorizedGroup.code)
		return resp
	}
	return b.ShareAcknowledge(r.Client, req)
}
