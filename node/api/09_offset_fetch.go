package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var offsetFetchRow = row{wire.KeyOffsetFetch, 1, 9, on(offsetFetch)}

// offsetFetchManyFrom is the first version that asks for several groups at once (KIP-709).
const offsetFetchManyFrom = 8

func offsetFetch(b Broker, r *Request, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	if req.Version < offsetFetchManyFrom {
		return b.Coordinate(req.Group, r.Client, req).(*kmsg.OffsetFetchResponse)
	}
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, 0, len(req.Groups))
	for i := range req.Groups {
		one := *req
		one.Groups = req.Groups[i : i+1]
		answered := b.Coordinate(req.Groups[i].Group, r.Client, &one).(*kmsg.OffsetFetchResponse)
		resp.Groups = append(resp.Groups, answered.Groups...)
	}
	return resp
}
