package group

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// errorResponse turns a request down as a whole, each kind in the way that its clients understand.
func errorResponse(req kmsg.Request, code wire.ErrorCode) kmsg.Response {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	switch r := req.(type) {
	case *kmsg.HeartbeatRequest:
		if code != wire.CoordinatorLoadInProgress { // as long as the log is read, every member is believed to be one
			resp.(*kmsg.HeartbeatResponse).ErrorCode = int16(code)
		}
	case *kmsg.JoinGroupRequest:
		join := joinError("", code) // Kafka does not name the member here
		join.Version = r.Version
		return join
	case *kmsg.SyncGroupRequest:
		resp.(*kmsg.SyncGroupResponse).ErrorCode = int16(code)
	case *kmsg.LeaveGroupRequest:
		return refuseLeave(resp.(*kmsg.LeaveGroupResponse), r, code)
	case *kmsg.OffsetCommitRequest:
		return commitError(r, code)
	case *kmsg.TxnOffsetCommitRequest:
		return txnCommitError(r, code)
	case *kmsg.OffsetFetchRequest:
		return fetchError(r, code)
	case *kmsg.OffsetDeleteRequest:
		return deleteError(r, code)
	case *kmsg.ConsumerGroupHeartbeatRequest:
		resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode = int16(code)
	case *kmsg.ConsumerGroupDescribeRequest:
		for _, id := range r.Groups {
			described := resp.(*kmsg.ConsumerGroupDescribeResponse)
			described.Groups = append(described.Groups, describeConsumerError(id, refusal{code: code}))
		}
	case *kmsg.ShareGroupHeartbeatRequest:
		resp.(*kmsg.ShareGroupHeartbeatResponse).ErrorCode = int16(code)
	case *kmsg.ShareGroupDescribeRequest:
		for _, id := range r.GroupIDs {
			described := resp.(*kmsg.ShareGroupDescribeResponse)
			described.Groups = append(described.Groups, describeShareError(id, refusal{code: code}))
		}
	case *kmsg.DescribeShareGroupOffsetsRequest:
		for i := range r.Groups {
			described := resp.(*kmsg.DescribeShareGroupOffsetsResponse)
			described.Groups = append(described.Groups, shareOffsetsError(r.Groups[i].GroupID, code))
		}
	case *kmsg.AlterShareGroupOffsetsRequest:
		resp.(*kmsg.AlterShareGroupOffsetsResponse).ErrorCode = int16(code)
	case *kmsg.DeleteShareGroupOffsetsRequest:
		resp.(*kmsg.DeleteShareGroupOffsetsResponse).ErrorCode = int16(code)
	case *kmsg.ListGroupsRequest:
		resp.(*kmsg.ListGroupsResponse).ErrorCode = int16(code)
	case *kmsg.DescribeGroupsRequest:
		resp.(*kmsg.DescribeGroupsResponse).Groups = describeErrors(r.Groups, code)
	case *kmsg.DeleteGroupsRequest:
		resp.(*kmsg.DeleteGroupsResponse).Groups = deletionErrors(r.Groups, code)
	default:
		panic(fmt.Sprintf("BUG: the group coordinator does not serve %T", req))
	}
	return resp
}

func describeErrors(ids []string, code wire.ErrorCode) []kmsg.DescribeGroupsResponseGroup {
	out := make([]kmsg.DescribeGroupsResponseGroup, len(ids))
	for i, id := range ids {
		out[i] = kmsg.NewDescribeGroupsResponseGroup()
		out[i].Group, out[i].ErrorCode = id, int16(code)
	}
	return out
}

func deletionErrors(ids []string, code wire.ErrorCode) []kmsg.DeleteGroupsResponseGroup {
	out := make([]kmsg.DeleteGroupsResponseGroup, len(ids))
	for i, id := range ids {
		out[i].Group, out[i].ErrorCode = id, int16(code)
	}
	return out
}
