package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var consumerGroupDescribeRow = row{key: wire.KeyConsumerGroupDescribe, min: 0, max: 1, handle: on(consumerGroupDescribe)}

func consumerGroupDescribe(b Broker, r *Request, req *kmsg.ConsumerGroupDescribeRequest) *kmsg.ConsumerGroupDescribeResponse {
	req.Groups = distinct(req.Groups)
	if !servesConsumerProtocol(b) {
		return refusedConsumerGroups(req.Groups, wire.UnsupportedVersion)
	}
	resp := coordinateEach[*kmsg.ConsumerGroupDescribeResponse](b, r, req)
	for i := range resp.Groups {
		g := &resp.Groups[i]
		g.AuthorizedOperations = allowedOnGroup(req.IncludeAuthorizedOperations, g.ErrorCode)
	}
	return resp
}

func refusedConsumerGroups(ids []string, code wire.ErrorCode) *kmsg.ConsumerGroupDescribeResponse {
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	for _, id := range ids {
		g := kmsg.NewConsumerGroupDescribeResponseGroup()
		g.Group, g.ErrorCode = id, int16(code)
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
