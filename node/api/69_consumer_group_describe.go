package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var consumerGroupDescribeRow = row{key: wire.KeyConsumerGroupDescribe, min: 0, max: 1, handle: on(consumerGroupDescribe)}

func consumerGroupDescribe(b Broker, r *Request, req *kmsg.ConsumerGroupDescribeRequest) *kmsg.ConsumerGroupDescribeResponse {
	var refused []string
	req.Groups = distinct(req.Groups)
	if !servesConsumerProtocol(b) {
		return refusedConsumerGroups(req.Groups, wire.UnsupportedVersion)
	}
	req.Groups, refused = permitted(b, r, describeGroup, req.Groups, itself)
	resp := coordinateEach[*kmsg.ConsumerGroupDescribeResponse](b, r, req)
	for i := range resp.Groups {
		g := &resp.Groups[i]
		g.AuthorizedOperations = r.allowedOnGroup(b, g.Group, req.IncludeAuthorizedOperations, g.ErrorCode)
		if !r.mayDescribeMembers(b, g) {
			*g = hiddenConsumerGroup(g.Group)
		}
	}
	resp.Groups = append(resp.Groups, refusedConsumerGroups(refused, unauthorizedGroup.code).Groups...)
	return resp
}

// mayDescribeMembers reports whether the client may know of all topics that the members of a group have, or are to have.
func (r *Request) mayDescribeMembers(b Broker, g *kmsg.ConsumerGroupDescribeResponseGroup) bool {
	for i := range g.Members {
		m := &g.Members[i]
		for _, t := range slices.Concat(m.Assignment.TopicPartitions, m.TargetAssignment.TopicPartitions) {
			if !r.may(b, describeTopic, t.Topic) {
				return false
			}
		}
	}
	return true
}

// hiddenTopics is what is told of a group whose members have topics that the client may not know of.
const hiddenTopics = "The group has described topic(s) that the client is not authorized to describe."

func hiddenConsumerGroup(id string) kmsg.ConsumerGroupDescribeResponseGroup {
	g := kmsg.NewConsumerGroupDescribeResponseGroup()
	g.Group, g.ErrorCode, g.ErrorMessage = id, int16(unauthorizedTopic.code), kmsg.StringPtr(hiddenTopics)
	return g
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
