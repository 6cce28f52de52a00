package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var deleteShareGroupOffsetsRow = row{key: wire.KeyDeleteShareGroupOffsets, min: 0, max: 0, handle: on(deleteShareGroupOffsets)}

func deleteShareGroupOffsets(b Broker, r *Request, req *kmsg.DeleteShareGroupOffsetsRequest) *kmsg.DeleteShareGroupOffsetsResponse {
	if !r.may(b, deleteGroup, req.GroupID) {
		resp := kmsg.NewPtrDeleteShareGroupOffsetsResponse()
		resp.ErrorCode, resp.ErrorMessage = int16(unauthorizedGroup.code), unauthorizedGroup.text()
		return resp
	}
	if !servesShareGroups(b) {
		resp := kmsg.NewPtrDeleteShareGroupOffsetsResponse()
		resp.ErrorCode, resp.ErrorMessage = unsupportedVersion, kmsg.StringPtr(unsupportedText)
		return resp
	}
	known := *req
	var refused []kmsg.DeleteShareGroupOffsetsResponseTopic
	var unreadable []kmsg.DeleteShareGroupOffsetsRequestTopic
	known.Topics, unreadable = permitted(b, r, readTopic, req.Topics, func(t *kmsg.DeleteShareGroupOffsetsRequestTopic) string { return t.Topic })
	for _, t := range unreadable {
		out := kmsg.NewDeleteShareGroupOffsetsResponseTopic()
		out.Topic, out.ErrorCode, out.ErrorMessage = t.Topic, int16(unauthorizedTopic.code), unauthorizedTopic.text()
		refused = append(refused, out)
	}
	resp := b.Coordinate(req.GroupID, r.Client, &known).(*kmsg.DeleteShareGroupOffsetsResponse)
	if resp.ErrorCode == 0 {
		resp.Topics = append(resp.Topics, refused...)
	}
	return resp
}
