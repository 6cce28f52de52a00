package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// ShareFetch 0 was of Kafka's early access release alone.
var shareFetchRow = row{key: wire.KeyShareFetch, min: 1, max: 1, handle: on(shareFetch)}

func shareFetch(b Broker, r *Request, req *kmsg.ShareFetchRequest) *kmsg.ShareFetchResponse {
	if !servesShareGroups(b) {
		resp := kmsg.NewPtrShareFetchResponse()
		resp.ErrorCode = unsupportedVersion
		return resp
	}
	if !r.may(b, readGroup, nameOf(req.GroupID)) {
		resp := kmsg.NewPtrShareFetchResponse()
		resp.ErrorCode = int16(unauthorizedGroup.code)
		return resp
	}
	resp := b.ShareFetch(r.Client, req)
	r.ThrottleMS = max(r.ThrottleMS, resp.ThrottleMillis)
	return resp
}
