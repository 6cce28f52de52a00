package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

func TestFindCoordinatorOfAGroup(t *testing.T) {
	b := newFakeBroker(t)
	for v := int16(0); v <= 6; v++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys = "g", []string{"g", "h"}
		got := ask[*kmsg.FindCoordinatorResponse](t, b, v, req)
		if v < 4 {
			if got.ErrorCode != 0 || got.NodeID != 1 || got.Host != "127.0.0.1" || got.Port != 9092 {
				t.Errorf("version %d: %+v", v, got)
			}
			continue
		}
		for i, key := range req.CoordinatorKeys {
			if c := got.Coordinators[i]; c.Key != key || c.ErrorCode != 0 || c.NodeID != 1 || c.Port != 9092 {
				t.Errorf("version %d: %+v", v, c)
			}
		}
	}
	if b.image.ByName(image.ConsumerOffsetsTopic) == nil {
		t.Error("the offsets topic was not made")
	}
}

func TestFindCoordinatorRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		kind int8
		code wire.ErrorCode
	}{
		{"no transaction topic", 1, wire.CoordinatorNotAvailable},
		{"share groups are not built yet", 2, wire.InvalidRequest},
		{"unknown kind", 7, wire.InvalidRequest},
		{"no offsets topic", 0, wire.CoordinatorNotAvailable},
	} {
		b := newFakeBroker(t)
		b.notReady = true
		for _, v := range []int16{1, 3, 6} {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKeys = c.kind, []string{"t"}
			got := ask[*kmsg.FindCoordinatorResponse](t, b, v, req)
			code, node, message := got.ErrorCode, got.NodeID, got.ErrorMessage
			if v >= 4 {
				code, node, message = got.Coordinators[0].ErrorCode, got.Coordinators[0].NodeID, got.Coordinators[0].ErrorMessage
			}
			if wire.ErrorCode(code) != c.code || node != -1 || text(message) == "" {
				t.Errorf("%s, version %d: %d %q", c.name, v, code, text(message))
			}
		}
	}
}

func commitRequest(group string, topics ...kmsg.OffsetCommitRequestTopic) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.Topics = group, -1, topics
	return req
}

func commitTopic(name string, partitions ...int32) kmsg.OffsetCommitRequestTopic {
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = name
	for _, i := range partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = i, int64(i)+5, kmsg.StringPtr("m")
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// commitOutline writes an answer as "topic: partition=error ...".
func commitOutline(resp *kmsg.OffsetCommitResponse) string {
	var lines []string
	for _, t := range resp.Topics {
		line := t.Topic + ":"
		for _, p := range t.Partitions {
			line += fmt.Sprintf(" %d=%d", p.Partition, p.ErrorCode)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " | ")
}

// TestOffsetCommitOfWhatIsNotThere: the others are committed. The orders are those of Apache Kafka 4.1.1.
func TestOffsetCommitOfWhatIsNotThere(t *testing.T) {
	for v := int16(2); v <= 9; v++ {
		b := newFakeBroker(t)
		b.withTopic(t, "p", 2)
		b.OffsetsTopicReady()
		got := ask[*kmsg.OffsetCommitResponse](t, b, v, commitRequest("g", commitTopic("none", 0, 9, 1), commitTopic("p", 0, 9, 1)))
		if s := commitOutline(got); s != "none: 0=3 9=3 1=3 | p: 9=3 0=0 1=0" {
			t.Errorf("version %d: %s", v, s)
		}
		asked := b.asked[0].(*kmsg.OffsetCommitRequest)
		if len(asked.Topics) != 1 || len(asked.Topics[0].Partitions) != 2 {
			t.Errorf("version %d: the coordinator saw %+v", v, asked.Topics)
		}
	}
}

// TestOffsetCommitOfNothing does not bother the coordinator, and so no group is made.
func TestOffsetCommitOfNothing(t *testing.T) {
	b := newFakeBroker(t)
	for _, req := range []*kmsg.OffsetCommitRequest{commitRequest("g"), commitRequest("g", commitTopic("none", 0))} {
		ask[*kmsg.OffsetCommitResponse](t, b, 9, req)
	}
	if len(b.asked) != 0 {
		t.Errorf("%+v", b.asked)
	}
}

func TestOffsetFetch(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "p", 2)
	b.OffsetsTopicReady()
	ask[*kmsg.OffsetCommitResponse](t, b, 9, commitRequest("g", commitTopic("p", 0, 1)))
	ask[*kmsg.OffsetCommitResponse](t, b, 9, commitRequest("", commitTopic("p", 0))) // a group may have no name
	for v := int16(2); v <= 7; v++ {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = "g"
		got := ask[*kmsg.OffsetFetchResponse](t, b, v, req)
		if p := got.Topics[0].Partitions[1]; got.ErrorCode != 0 || p.Offset != 6 || text(p.Metadata) != "m" {
			t.Errorf("version %d: %+v", v, got)
		}
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}, {Group: "g"}, {Group: ""}, {Group: "none"},
		{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "p", Partitions: []int32{1}}}}}
	for v := int16(8); v <= 9; v++ {
		got := ask[*kmsg.OffsetFetchResponse](t, b, v, req)
		var sums []string
		for _, g := range got.Groups {
			n := 0
			for _, topic := range g.Topics {
				n += len(topic.Partitions)
			}
			sums = append(sums, fmt.Sprintf("%q %d %d", g.Group, g.ErrorCode, n))
		}
		slices.Sort(sums)
		// Kafka tells of a whole group as often as it is named; here once, and the offsets by name as often as asked.
		if s := strings.Join(sums, ", "); s != `"" 0 1, "g" 0 1, "g" 0 2, "none" 0 0` {
			t.Errorf("version %d: %s", v, s)
		}
	}
}

func TestOffsetDelete(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "p", 2)
	b.OffsetsTopicReady()
	ask[*kmsg.OffsetCommitResponse](t, b, 9, commitRequest("g", commitTopic("p", 0, 1)))
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = "g"
	partitions := []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 9}}
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "none", Partitions: partitions}, {Topic: "p", Partitions: partitions}}
	got := ask[*kmsg.OffsetDeleteResponse](t, b, 0, req)
	var s []string
	for _, topic := range got.Topics {
		for _, p := range topic.Partitions {
			s = append(s, fmt.Sprintf("%s-%d=%d", topic.Topic, p.Partition, p.ErrorCode))
		}
	}
	if s := strings.Join(s, " "); got.ErrorCode != 0 || s != "none-0=3 none-9=3 p-9=3 p-0=0" {
		t.Errorf("%d %s", got.ErrorCode, s)
	}
	req.Group = "gone"
	for _, topics := range [][]kmsg.OffsetDeleteRequestTopic{req.Topics, req.Topics[:1]} {
		req.Topics = topics
		if got := ask[*kmsg.OffsetDeleteResponse](t, b, 0, req); got.ErrorCode != 69 || len(got.Topics) != 0 {
			t.Errorf("unknown group: %+v", got)
		}
	}
}

func TestDescribeGroups(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "p", 2)
	b.OffsetsTopicReady()
	ask[*kmsg.OffsetCommitResponse](t, b, 9, commitRequest("g", commitTopic("p", 0)))
	for v := int16(0); v <= 6; v++ {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{"g", "none", "g"}, true
		got := ask[*kmsg.DescribeGroupsResponse](t, b, v, req).Groups
		if len(got) != 2 {
			t.Fatalf("version %d: %+v", v, got)
		}
		slices.SortFunc(got, func(a, b kmsg.DescribeGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
		if g := got[0]; g.State != "Empty" || g.ErrorCode != 0 || v >= 3 && g.AuthorizedOperations != 3400 {
			t.Errorf("version %d: %+v", v, g)
		}
		none, code, operations := got[1], int16(0), int32(3400)
		if v >= 6 {
			code, operations = 69, operationsUnknown
		}
		if none.State != "Dead" || none.ErrorCode != code || v >= 3 && none.AuthorizedOperations != operations {
			t.Errorf("version %d: %+v", v, none)
		}
	}
}

func TestDeleteGroups(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "p", 2)
	b.OffsetsTopicReady()
	ask[*kmsg.OffsetCommitResponse](t, b, 9, commitRequest("g", commitTopic("p", 0)))
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{"g", "gone", "g"}
	codes := map[string]int16{}
	for _, g := range ask[*kmsg.DeleteGroupsResponse](t, b, 2, req).Groups {
		codes[g.Group] = g.ErrorCode
	}
	if len(codes) != 2 || codes["g"] != 0 || codes["gone"] != 69 {
		t.Errorf("%v", codes)
	}
}

func TestListGroups(t *testing.T) {
	b := newFakeBroker(t)
	if got := ask[*kmsg.ListGroupsResponse](t, b, 5, kmsg.NewPtrListGroupsRequest()); got.ErrorCode != 0 || len(got.Groups) != 0 {
		t.Errorf("no group was ever made: %+v", got)
	}
	b.withTopic(t, "p", 2)
	b.OffsetsTopicReady()
	ask[*kmsg.OffsetCommitResponse](t, b, 9, commitRequest("g", commitTopic("p", 0)))
	for v := int16(0); v <= 5; v++ {
		got := ask[*kmsg.ListGroupsResponse](t, b, v, kmsg.NewPtrListGroupsRequest()).Groups
		if len(got) != 1 || got[0].Group != "g" || v >= 4 && got[0].GroupState != "Empty" || v >= 5 && got[0].GroupType != "classic" {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

// TestAMembersLife goes through the four keys that only hand a request on, in their oldest and newest versions.
func TestAMembersLife(t *testing.T) {
	for _, newest := range []bool{false, true} {
		pick := func(v int16) int16 {
			if newest {
				return v
			}
			return 0
		}
		b := newFakeBroker(t)
		b.OffsetsTopicReady()
		join := kmsg.NewPtrJoinGroupRequest()
		join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = "g", "consumer", 10_000, 10_000
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{1}}}
		joined := ask[*kmsg.JoinGroupResponse](t, b, pick(9), join)
		if joined.ErrorCode == int16(wire.MemberIDRequired) {
			join.MemberID = joined.MemberID
			joined = ask[*kmsg.JoinGroupResponse](t, b, pick(9), join)
		}
		if joined.ErrorCode != 0 || joined.Generation != 1 || joined.LeaderID != joined.MemberID {
			t.Fatalf("%+v", joined)
		}
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group, sync.Generation, sync.MemberID = "g", 1, joined.MemberID
		sync.ProtocolType, sync.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte{7}}}
		if got := ask[*kmsg.SyncGroupResponse](t, b, pick(5), sync); got.ErrorCode != 0 || len(got.MemberAssignment) != 1 {
			t.Errorf("%+v", got)
		}
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.Generation, beat.MemberID = "g", 1, joined.MemberID
		if got := ask[*kmsg.HeartbeatResponse](t, b, pick(4), beat); got.ErrorCode != 0 {
			t.Errorf("%+v", got)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Group, leave.MemberID = "g", joined.MemberID
		leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: joined.MemberID}}
		if got := ask[*kmsg.LeaveGroupResponse](t, b, pick(5), leave); got.ErrorCode != 0 {
			t.Errorf("%+v", got)
		}
	}
}
