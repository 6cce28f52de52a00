package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var shareGroupDescribeRow = row{key: wire.KeyShareGroupDescribe, min: 1, max: 1, handle: on(shareGroupDescribe)}

func shareGroupDescribe(b Broker, r *Request, req *kmsg.ShareGroupDescribeRequest) *kmsg.ShareGroupDescribeResponse {
	req.GroupIDs = distinct(req.GroupIDs)
	if !servesShareGroups(b) {
		return refusedShareGroups(req.GroupIDs, wire.UnsupportedVersion)
	}
	resp := coordinateEach[*kmsg.ShareGroupDescribeResponse](b, r, req)
	for i := range resp.Groups {
		g := &resp.Groups[i]
		g.AuthorizedOperations = allowedOnGroup(req.IncludeAuthorizedOperations, g.ErrorCode)
	}
	return resp
}

func refusedShareGroups(ids []string, code wire.ErrorCode) *kmsg.ShareGroupDescribeResponse {
	resp := kmsg.NewPtrShareGroupDescribeResponse()
	for _, id := range ids {
		g := kmsg.NewShareGroupDescribeResponseGroup()
		g.GroupID, g.ErrorCode = id, int16(code)
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
