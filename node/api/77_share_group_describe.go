package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var shareGroupDescribeRow = row{key: wire.KeyShareGroupDescribe, min: 1, max: 1, handle: on(shareGroupDescribe)}

func shareGroupDescribe(b Broker, r *Request, req *kmsg.ShareGroupDescribeRequest) *kmsg.ShareGroupDescribeResponse {
	var refused []string
	req.GroupIDs = distinct(req.GroupIDs)
	if !servesShareGroups(b) {
		return refusedShareGroups(req.GroupIDs, wire.UnsupportedVersion)
	}
	req.GroupIDs, refused = permitted(b, r, describeGroup, req.GroupIDs, itself)
	resp := coordinateEach[*kmsg.ShareGroupDescribeResponse](b, r, req)
	for i := range resp.Groups {
		g := &resp.Groups[i]
		g.AuthorizedOperations = r.allowedOnGroup(b, g.GroupID, req.IncludeAuthorizedOperations, g.ErrorCode)
		if !r.mayDescribeSharers(b, g) {
			*g = hiddenShareGroup(g.GroupID)
		}
	}
	resp.Groups = append(resp.Groups, refusedShareGroups(refused, unauthorizedGroup.code).Groups...)
	return resp
}

// mayDescribeSharers is mayDescribeMembers of a share group.
func (r *Request) mayDescribeSharers(b Broker, g *kmsg.ShareGroupDescribeResponseGroup) bool {
	for i := range g.Members {
		for _, t := range g.Members[i].Assignment.TopicPartitions {
			if !r.may(b, describeTopic, t.Topic) {
				return false
			}
		}
	}
	return true
}

func hiddenShareGroup(id string) kmsg.ShareGroupDescribeResponseGroup {
	g := kmsg.NewShareGroupDescribeResponseGroup()
	g.GroupID, g.ErrorCode, g.ErrorMessage = id, int16(unauthorizedTopic.code), kmsg.StringPtr(hiddenTopics)
	return g
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
