package group

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Part is what one shard has to answer of a request.
type Part struct {
	Partition int32 // of __consumer_offsets
	// Group is one of those that the part is about, and so leads to the shard as well; "" where it is about none.
	Group   string
	Request kmsg.Request
}

// Split says which shards a request is for. Most requests name one group and are one Part; DescribeGroups, ConsumerGroupDescribe,
// ShareGroupDescribe, DescribeShareGroupOffsets, DeleteGroups and OffsetFetch from version 8 are cut by shard, in the order in which a shard is first named; ListGroups goes to all.
// There is always at least one Part. The answers are put together by Merge.
func Split(req kmsg.Request, partitions int32) []Part {
	switch r := req.(type) {
	case *kmsg.DescribeGroupsRequest:
		return splitBy(r.Groups, same, partitions, func(ids []string) kmsg.Request {
			part := *r
			part.Groups = ids
			return &part
		})
	case *kmsg.ConsumerGroupDescribeRequest:
		return splitBy(r.Groups, same, partitions, func(ids []string) kmsg.Request {
			part := *r
			part.Groups = ids
			return &part
		})
	case *kmsg.ShareGroupDescribeRequest:
		return splitBy(r.GroupIDs, same, partitions, func(ids []string) kmsg.Request {
			part := *r
			part.GroupIDs = ids
			return &part
		})
	case *kmsg.DescribeShareGroupOffsetsRequest:
		return splitBy(r.Groups, describedOffsets, partitions, func(groups []kmsg.DescribeShareGroupOffsetsRequestGroup) kmsg.Request {
			part := *r
			part.Groups = groups
			return &part
		})
	case *kmsg.DeleteGroupsRequest:
		return splitBy(r.Groups, same, partitions, func(ids []string) kmsg.Request {
			part := *r
			part.Groups = ids
			return &part
		})
	case *kmsg.OffsetFetchRequest:
		if r.Version < 8 {
			break
		}
		return splitBy(r.Groups, fetchedGroup, partitions, func(groups []kmsg.OffsetFetchRequestGroup) kmsg.Request {
			part := *r
			part.Groups = groups
			return &part
		})
	case *kmsg.ListGroupsRequest:
		return toAll(r, partitions)
	}
	id := groupOf(req)
	return []Part{{PartitionFor(id, partitions), id, req}}
}

func same(id string) string { return id }

func fetchedGroup(g kmsg.OffsetFetchRequestGroup) string { return g.Group }

func describedOffsets(g kmsg.DescribeShareGroupOffsetsRequestGroup) string { return g.GroupID }

// splitBy cuts a list of groups by shard. An empty list is one Part.
func splitBy[T any](groups []T, id func(T) string, partitions int32, request func([]T) kmsg.Request) []Part {
	if len(groups) == 0 {
		return []Part{{0, "", request(groups)}}
	}
	lists := map[int32][]T{}
	var order []int32
	for _, g := range groups {
		p := PartitionFor(id(g), partitions)
		if lists[p] == nil {
			order = append(order, p)
		}
		lists[p] = append(lists[p], g)
	}
	parts := make([]Part, len(order))
	for i, p := range order {
		parts[i] = Part{p, id(lists[p][0]), request(lists[p])}
	}
	return parts
}

func toAll(req kmsg.Request, partitions int32) []Part {
	parts := make([]Part, partitions)
	for p := range partitions {
		parts[p] = Part{p, "", req}
	}
	return parts
}

// groupOf is the group that a request names.
func groupOf(req kmsg.Request) string {
	switch r := req.(type) {
	case *kmsg.HeartbeatRequest:
		return r.Group
	case *kmsg.JoinGroupRequest:
		return r.Group
	case *kmsg.SyncGroupRequest:
		return r.Group
	case *kmsg.LeaveGroupRequest:
		return r.Group
	case *kmsg.OffsetCommitRequest:
		return r.Group
	case *kmsg.TxnOffsetCommitRequest:
		return r.Group
	case *kmsg.OffsetFetchRequest:
		return r.Group
	case *kmsg.OffsetDeleteRequest:
		return r.Group
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return r.Group
	case *kmsg.ShareGroupHeartbeatRequest:
		return r.GroupID
	case *kmsg.AlterShareGroupOffsetsRequest:
		return r.GroupID
	case *kmsg.DeleteShareGroupOffsetsRequest:
		return r.GroupID
	}
	panic(fmt.Sprintf("BUG: the group coordinator does not serve %T", req))
}

// Merge puts the answers of the Parts of one request together; there is at least one. What it gives is the first of them,
// changed.
func Merge(responses []kmsg.Response) kmsg.Response {
	first := responses[0]
	for _, resp := range responses[1:] {
		switch all := first.(type) {
		case *kmsg.DescribeGroupsResponse:
			all.Groups = append(all.Groups, resp.(*kmsg.DescribeGroupsResponse).Groups...)
		case *kmsg.ConsumerGroupDescribeResponse:
			all.Groups = append(all.Groups, resp.(*kmsg.ConsumerGroupDescribeResponse).Groups...)
		case *kmsg.ShareGroupDescribeResponse:
			all.Groups = append(all.Groups, resp.(*kmsg.ShareGroupDescribeResponse).Groups...)
		case *kmsg.DescribeShareGroupOffsetsResponse:
			all.Groups = append(all.Groups, resp.(*kmsg.DescribeShareGroupOffsetsResponse).Groups...)
		case *kmsg.DeleteGroupsResponse:
			all.Groups = append(all.Groups, resp.(*kmsg.DeleteGroupsResponse).Groups...)
		case *kmsg.OffsetFetchResponse:
			all.Groups = append(all.Groups, resp.(*kmsg.OffsetFetchResponse).Groups...)
		case *kmsg.ListGroupsResponse:
			part := resp.(*kmsg.ListGroupsResponse)
			all.Groups = append(all.Groups, part.Groups...)
			if all.ErrorCode == int16(wire.None) {
				all.ErrorCode = part.ErrorCode
			}
		default:
			panic(fmt.Sprintf("BUG: %T answers one shard's request alone", first))
		}
	}
	return first
}

// Refuse is the answer that turns a request down as a whole with code, in the way that its clients understand: for a
// caller that has no Coordinator for the group's shard.
func Refuse(req kmsg.Request, code wire.ErrorCode) kmsg.Response { return errorResponse(req, code) }
