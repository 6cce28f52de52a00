package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/wire"
)

var offsetFetchRow = row{key: wire.KeyOffsetFetch, min: 1, max: 9, handle: on(offsetFetch)}

// offsetFetchManyFrom is the first version that asks for several groups at once (KIP-709).
const offsetFetchManyFrom = 8

func offsetFetch(b Broker, r *Request, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	if b.Authorizer() != nil {
		return authorizedOffsets(b, r, req)
	}
	return fetchedOffsets(b, r, req)
}

func fetchedOffsets(b Broker, r *Request, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	if req.Version < offsetFetchManyFrom {
		return b.Coordinate(req.Group, r.Client, req).(*kmsg.OffsetFetchResponse)
	}
	req.Groups = wholeGroupsOnce(req.Groups)
	return coordinateEach[*kmsg.OffsetFetchResponse](b, r, req)
}

// wholeGroupsOnce drops repetitions of a group whose every offset is asked for: a short request must not have a long
// answer repeated. Kafka answers each.
func wholeGroupsOnce(groups []kmsg.OffsetFetchRequestGroup) []kmsg.OffsetFetchRequestGroup {
	seen := make(map[string]struct{})
	kept := groups[:0]
	for _, g := range groups {
		if g.Topics == nil {
			if _, again := seen[g.Group]; again {
				continue
			}
			seen[g.Group] = struct{}{}
		}
		kept = append(kept, g)
	}
	return kept
}

// authorizedOffsets refuses groups that the client may not describe, and topics; where all of a group's offsets are asked for, those of
// such topics are left out.
func authorizedOffsets(b Broker, r *Request, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	if req.Version < offsetFetchManyFrom {
		return authorizedOffsetsOfOne(b, r, req)
	}
	resp := kmsg.NewPtrOffsetFetchResponse()
	for _, g := range wholeGroupsOnce(req.Groups) {
		if !r.may(b, describeGroup, g.Group) {
			out := kmsg.NewOffsetFetchResponseGroup()
			out.Group, out.ErrorCode = g.Group, int16(unauthorizedGroup.code)
			resp.Groups = append(resp.Groups, out)
			continue
		}
		var refused []kmsg.OffsetFetchResponseGroupTopic
		g.Topics, refused = describedOffsets(b, r, g.Topics)
		one := *req
		one.Groups = []kmsg.OffsetFetchRequestGroup{g}
		for _, out := range fetchedOffsets(b, r, &one).Groups {
			if out.ErrorCode == 0 && g.Topics == nil {
				out.Topics = slices.DeleteFunc(out.Topics, func(t kmsg.OffsetFetchResponseGroupTopic) bool { return !r.allows(b, describeTopic, t.Topic) })
			}
			if out.ErrorCode == 0 {
				out.Topics = append(out.Topics, refused...)
			}
			resp.Groups = append(resp.Groups, out)
		}
	}
	return resp
}

// describedOffsets splits the topics that are asked for into those that the client may describe, and the refusals of the others. All
// (nil) are not split.
func describedOffsets(b Broker, r *Request, asked []kmsg.OffsetFetchRequestGroupTopic) (known []kmsg.OffsetFetchRequestGroupTopic, refused []kmsg.OffsetFetchResponseGroupTopic) {
	known, unknown := permitted(b, r, describeTopic, asked, func(t *kmsg.OffsetFetchRequestGroupTopic) string { return t.Topic })
	for _, t := range unknown {
		out := kmsg.NewOffsetFetchResponseGroupTopic()
		out.Topic = t.Topic
		for _, index := range t.Partitions {
			p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Partition, p.Offset, p.Metadata, p.ErrorCode = index, int64(wire.NoOffset), new(string), int16(unauthorizedTopic.code)
			out.Partitions = append(out.Partitions, p)
		}
		refused = append(refused, out)
	}
	return known, refused
}

// authorizedOffsetsOfOne is authorizedOffsets for the versions that name one group.
func authorizedOffsetsOfOne(b Broker, r *Request, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	if !r.may(b, describeGroup, req.Group) {
		return group.Refuse(req, unauthorizedGroup.code).(*kmsg.OffsetFetchResponse)
	}
	mayNot := func(topic string) bool { return !r.allows(b, describeTopic, topic) }
	known := *req
	if req.Topics != nil {
		known.Topics = slices.DeleteFunc(append([]kmsg.OffsetFetchRequestTopic{}, req.Topics...), func(t kmsg.OffsetFetchRequestTopic) bool { return mayNot(t.Topic) })
	}
	resp := fetchedOffsets(b, r, &known)
	if resp.ErrorCode != 0 {
		return resp
	}
	resp.Topics = slices.DeleteFunc(resp.Topics, func(t kmsg.OffsetFetchResponseTopic) bool { return req.Topics == nil && mayNot(t.Topic) })
	for _, t := range req.Topics {
		if r.may(b, describeTopic, t.Topic) {
			continue
		}
		out := kmsg.NewOffsetFetchResponseTopic()
		out.Topic = t.Topic
		for _, index := range t.Partitions {
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			p.Partition, p.Offset, p.Metadata, p.ErrorCode = index, int64(wire.NoOffset), new(string), int16(unauthorizedTopic.code)
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
