package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeShareGroupOffsetsRow = row{
	key: wire.KeyDescribeShareGroupOffsets, min: 0, max: 0, handle: on(describeShareGroupOffsets),
}

func describeShareGroupOffsets(b Broker, r *Request, req *kmsg.DescribeShareGroupOffsetsRequest) *kmsg.DescribeShareGroupOffsetsResponse {
	if servesShareGroups(b) {
		return describedShareOffsets(b, r, req)
	}
	resp := kmsg.NewPtrDescribeShareGroupOffsetsResponse()
	for i := range req.Groups {
		g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
		g.GroupID, g.ErrorCode = req.Groups[i].GroupID, unsupportedVersion
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}

// describedShareOffsets refuses groups that the client may not describe, and topics; where all of a group's are asked for, such topics are
// left out.
func describedShareOffsets(b Broker, r *Request, req *kmsg.DescribeShareGroupOffsetsRequest) *kmsg.DescribeShareGroupOffsetsResponse {
	if b.Authorizer() == nil {
		return coordinateEach[*kmsg.DescribeShareGroupOffsetsResponse](b, r, req)
	}
	resp := kmsg.NewPtrDescribeShareGroupOffsetsResponse()
	for _, g := range req.Groups {
		if !r.may(b, describeGroup, g.GroupID) {
			out := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
			out.GroupID, out.ErrorCode = g.GroupID, int16(unauthorizedGroup.code)
			resp.Groups = append(resp.Groups, out)
			continue
		}
		var refused []kmsg.DescribeShareGroupOffsetsResponseGroupTopic
		g.Topics, refused = r.describableShareTopics(b, g.Topics)
		one := *req
		one.Groups = []kmsg.DescribeShareGroupOffsetsRequestGroup{g}
		for _, out := range coordinateEach[*kmsg.DescribeShareGroupOffsetsResponse](b, r, &one).Groups {
			if out.ErrorCode == 0 && g.Topics == nil {
				out.Topics = slices.DeleteFunc(out.Topics, func(t kmsg.DescribeShareGroupOffsetsResponseGroupTopic) bool {
					return !r.allows(b, describeTopic, t.Topic)
				})
			}
			if out.ErrorCode == 0 {
				out.Topics = append(out.Topics, refused...)
			}
			resp.Groups = append(resp.Groups, out)
		}
	}
	return resp
}

// describableShareTopics splits topics into those that the client may know of, and the refusals of the others. All (nil) are not split.
func (r *Request) describableShareTopics(b Broker, asked []kmsg.DescribeShareGroupOffsetsRequestGroupTopic) (known []kmsg.DescribeShareGroupOffsetsRequestGroupTopic, refused []kmsg.DescribeShareGroupOffsetsResponseGroupTopic) {
	known, unknown := permitted(b, r, describeTopic, asked, func(t *kmsg.DescribeShareGroupOffsetsRequestGroupTopic) string { return t.Topic })
	for _, t := range unknown {
		out := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
		out.Topic = t.Topic
		for _, index := range t.Partitions {
			p := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopicPartition()
			p.Partition, p.StartOffset, p.ErrorCode, p.ErrorMessage = index, int64(wire.NoOffset), int16(unauthorizedTopic.code), unauthorizedTopic.text()
			out.Partitions = append(out.Partitions, p)
		}
		refused = append(refused, out)
	}
	return known, refused
}
