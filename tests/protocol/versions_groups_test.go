package protocol

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// groupSweeps are the calls of consumers, of both group protocols, and of the tools that look after groups.
var groupSweeps = []sweep{
	{8, []exchange{
		{name: "without membership", request: func(s *scene) kmsg.Request { return commitRequest(s.group(), "", -1, s.records()) }},
		{name: "of a member", request: func(s *scene) kmsg.Request {
			m := s.member()
			return commitRequest(m.group, m.id, m.generation, s.records())
		}},
		{name: "of an earlier generation", request: func(s *scene) kmsg.Request {
			m := s.member()
			return commitRequest(m.group, m.id, m.generation-1, s.records())
		}},
		{name: "of a member that is not there", request: func(s *scene) kmsg.Request {
			return commitRequest(s.member().group, "nobody", 1, s.records())
		}},
		{name: "to a topic that is not there", request: func(s *scene) kmsg.Request { return commitRequest(s.group(), "", -1, s.name("missing")) }},
	}},
	{9, []exchange{
		{name: "committed", request: func(s *scene) kmsg.Request {
			group, topic := s.group(), s.records()
			wantCode(s.t, "OffsetCommit", s.conn.commit(group, "", -1, topic, 0, 2, "note"), nil)
			return offsetFetchRequest(group, topic)
		}},
		{name: "all that is committed", request: func(s *scene) kmsg.Request {
			group, topic := s.group(), s.records()
			wantCode(s.t, "OffsetCommit", s.conn.commit(group, "", -1, topic, 0, 2, "note"), nil)
			if s.version < 2 { // null is not all before
				return offsetFetchRequest(group, topic)
			}
			return offsetFetchRequest(group)
		}},
		{name: "of a group that is not there", request: func(s *scene) kmsg.Request { return offsetFetchRequest(s.group(), s.records()) }},
		{name: "of a topic that is not there", request: func(s *scene) kmsg.Request { return offsetFetchRequest(s.group(), s.name("missing")) }},
	}},
	{11, []exchange{
		{name: "alone, as a new member", request: func(s *scene) kmsg.Request { return joinRequest(s.group(), "") }},
		{name: "alone, with the id that it was told", request: func(s *scene) kmsg.Request {
			req := joinRequest(s.group(), "")
			if s.version >= 4 {
				req.MemberID = ask[*kmsg.JoinGroupResponse](s.conn, s.version, req).MemberID
			}
			return req
		}},
		{name: "alone, as a static member", request: func(s *scene) kmsg.Request {
			req := joinRequest(s.group(), "")
			if s.version >= 5 {
				req.InstanceID = ptr("static")
			}
			return req
		}},
		{name: "with an id that is not there", request: func(s *scene) kmsg.Request { return joinRequest(s.group(), "nobody") }},
		{name: "with a session that is too short", request: func(s *scene) kmsg.Request {
			req := joinRequest(s.group(), "")
			req.SessionTimeoutMillis = 1
			return req
		}},
		{name: "of another protocol", request: func(s *scene) kmsg.Request {
			req := joinRequest(s.member().group, "")
			req.ProtocolType = "connect"
			return req
		}},
	}},
	{12, []exchange{
		{name: "of a member", request: func(s *scene) kmsg.Request {
			m := s.member()
			return &kmsg.HeartbeatRequest{Group: m.group, MemberID: m.id, Generation: m.generation}
		}},
		{name: "of an earlier generation", request: func(s *scene) kmsg.Request {
			m := s.member()
			return &kmsg.HeartbeatRequest{Group: m.group, MemberID: m.id, Generation: m.generation - 1}
		}},
		{name: "of a member that is not there", request: func(s *scene) kmsg.Request {
			return &kmsg.HeartbeatRequest{Group: s.group(), MemberID: "nobody", Generation: 1}
		}},
	}},
	{13, []exchange{
		{name: "a member", request: func(s *scene) kmsg.Request {
			m := s.member()
			return leaveRequest(m.group, m.id)
		}},
		{name: "a member that is not there", request: func(s *scene) kmsg.Request { return leaveRequest(s.member().group, "nobody") }},
		{name: "of a group that is not there", request: func(s *scene) kmsg.Request { return leaveRequest(s.group(), "nobody") }},
	}},
	{14, []exchange{
		{name: "of the leader", request: func(s *scene) kmsg.Request {
			group := s.group()
			joined := ask[*kmsg.JoinGroupResponse](s.conn, 3, joinRequest(group, ""))
			return syncRequest(group, joined.MemberID, joined.Generation)
		}},
		{name: "once more", request: func(s *scene) kmsg.Request {
			m := s.member()
			return syncRequest(m.group, m.id, m.generation)
		}},
		{name: "of an earlier generation", request: func(s *scene) kmsg.Request {
			m := s.member()
			return syncRequest(m.group, m.id, m.generation-1)
		}},
		{name: "of a member that is not there", request: func(s *scene) kmsg.Request { return syncRequest(s.group(), "nobody", 1) }},
		{name: "of another protocol", request: func(s *scene) kmsg.Request {
			m := s.member()
			req := syncRequest(m.group, m.id, m.generation)
			req.Protocol = ptr("roundrobin")
			return req
		}},
	}},
	{15, []exchange{
		{name: "a stable group", request: func(s *scene) kmsg.Request { return describeGroupsRequest(s.member().group) }},
		{name: "an empty group", request: func(s *scene) kmsg.Request { return describeGroupsRequest(s.emptyGroup()) }},
		{name: "a group that is not there", request: func(s *scene) kmsg.Request { return describeGroupsRequest(s.group()) }},
		{name: "a group of the consumer protocol", request: func(s *scene) kmsg.Request {
			m, _ := s.consumer()
			return describeGroupsRequest(m.group)
		}},
	}},
	{16, []exchange{
		{name: "a stable group", request: func(s *scene) kmsg.Request { s.member(); return kmsg.NewPtrListGroupsRequest() }, trim: onlyOwnGroups},
		{name: "by state", request: func(s *scene) kmsg.Request {
			s.member()
			req := kmsg.NewPtrListGroupsRequest()
			if s.version >= 4 {
				req.StatesFilter = []string{"Empty"}
			}
			return req
		}, trim: onlyOwnGroups},
		{name: "by type", request: func(s *scene) kmsg.Request {
			s.consumer()
			req := kmsg.NewPtrListGroupsRequest()
			if s.version >= 5 {
				req.TypesFilter = []string{"consumer"}
			}
			return req
		}, trim: onlyOwnGroups},
	}},
	{42, []exchange{
		{name: "an empty group", request: func(s *scene) kmsg.Request { return &kmsg.DeleteGroupsRequest{Groups: []string{s.emptyGroup()}} }},
		{name: "a group with a member", request: func(s *scene) kmsg.Request { return &kmsg.DeleteGroupsRequest{Groups: []string{s.member().group}} }},
		{name: "a group that is not there", request: func(s *scene) kmsg.Request { return &kmsg.DeleteGroupsRequest{Groups: []string{s.group()}} }},
	}},
	{47, []exchange{
		{name: "an offset", request: func(s *scene) kmsg.Request {
			group, topic := s.group(), s.records()
			wantCode(s.t, "OffsetCommit", s.conn.commit(group, "", -1, topic, 0, 2, ""), nil)
			return offsetDeleteRequest(group, topic)
		}},
		{name: "of a group that is not there", request: func(s *scene) kmsg.Request { return offsetDeleteRequest(s.group(), s.records()) }},
		{name: "of a topic that is not there", request: func(s *scene) kmsg.Request { return offsetDeleteRequest(s.emptyGroup(), s.name("missing")) }},
	}},
	{68, []exchange{
		{name: "joins", request: func(s *scene) kmsg.Request { return beatRequest(s.group(), s.name("member"), 0, s.records()) }},
		{name: "stays", request: func(s *scene) kmsg.Request {
			m, topic := s.consumer()
			req := beatRequest(m.group, m.id, m.generation, topic)
			req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: s.conn.topicID(topic), Partitions: []int32{0, 1}}}
			return req
		}},
		{name: "leaves", request: func(s *scene) kmsg.Request {
			m, _ := s.consumer()
			return beatRequest(m.group, m.id, -1, "")
		}},
		{name: "is not there", request: func(s *scene) kmsg.Request {
			m, topic := s.consumer()
			return beatRequest(m.group, "nobody", 3, topic)
		}},
		{name: "of an epoch to come", request: func(s *scene) kmsg.Request {
			m, topic := s.consumer()
			return beatRequest(m.group, m.id, m.generation+1, topic)
		}},
		{name: "without a group", request: func(s *scene) kmsg.Request { return beatRequest("", "nobody", 0, "any") }},
	}},
	{69, []exchange{
		{name: "a group", request: func(s *scene) kmsg.Request {
			m, _ := s.consumer()
			return &kmsg.ConsumerGroupDescribeRequest{Groups: []string{m.group}, IncludeAuthorizedOperations: true}
		}},
		{name: "a group of the classic protocol", request: func(s *scene) kmsg.Request {
			return &kmsg.ConsumerGroupDescribeRequest{Groups: []string{s.member().group}}
		}},
		{name: "a group that is not there", request: func(s *scene) kmsg.Request {
			return &kmsg.ConsumerGroupDescribeRequest{Groups: []string{s.group()}}
		}},
	}},
}

// emptyGroup has an offset and no member.
func (s *scene) emptyGroup() string {
	s.t.Helper()
	m := s.member()
	wantCode(s.t, "LeaveGroup", s.conn.leave(m.group, m.id).ErrorCode, nil)
	return m.group
}

// consumer is alone in a new group of the consumer protocol (KIP-848), and has both partitions of the topic.
func (s *scene) consumer() (member, string) {
	s.t.Helper()
	m, topic := member{group: s.group(), id: s.name("member")}, s.records()
	harness.Await(s.t, "an assignment", func() bool {
		res := ask[*kmsg.ConsumerGroupHeartbeatResponse](s.conn, 1, beatRequest(m.group, m.id, m.generation, topic))
		wantCode(s.t, "ConsumerGroupHeartbeat", res.ErrorCode, nil)
		m.generation = res.MemberEpoch
		return res.Assignment != nil && len(res.Assignment.Topics) == 1
	})
	return m, topic
}

func commitRequest(group, member string, generation int32, topic string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = 2, ptr("note")
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return req
}

// offsetFetchRequest asks for partitions 0 and 1 of the topics, or for all that is committed.
func offsetFetchRequest(group string, topics ...string) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	for _, topic := range topics {
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: []int32{0, 1}})
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic, Partitions: []int32{0, 1}})
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{g}
	return req
}

func leaveRequest(group, member string) *kmsg.LeaveGroupRequest {
	return &kmsg.LeaveGroupRequest{Group: group, MemberID: member, Members: []kmsg.LeaveGroupRequestMember{{MemberID: member}}}
}

func syncRequest(group, member string, generation int32) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	req.ProtocolType, req.Protocol = ptr("consumer"), ptr("range")
	req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: member, MemberAssignment: []byte("assigned")}}
	return req
}

func describeGroupsRequest(group string) *kmsg.DescribeGroupsRequest {
	return &kmsg.DescribeGroupsRequest{Groups: []string{group}, IncludeAuthorizedOperations: true}
}

func offsetDeleteRequest(group, topic string) *kmsg.OffsetDeleteRequest {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	return req
}

func beatRequest(group, member string, epoch int32, topic string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = group, member, epoch
	req.RebalanceTimeoutMillis = 30000
	req.SubscribedTopicNames, req.Topics = []string{topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

// onlyOwnGroups takes the other tests' groups out.
func onlyOwnGroups(s *scene, answer kmsg.Response) {
	res := answer.(*kmsg.ListGroupsResponse)
	res.Groups = slices.DeleteFunc(res.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return s.names[g.Group] == "" })
}
