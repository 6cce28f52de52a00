package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// findCoordinator asks until the group's coordinator is there: the first request creates __consumer_offsets.
func (c *conn) findCoordinator(group string) {
	c.t.Helper()
	harness.Await(c.t, "a group coordinator", func() bool {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey = group
		return ask[*kmsg.FindCoordinatorResponse](c, 3, req).ErrorCode == 0
	})
	harness.Await(c.t, "the coordinator has loaded the group", func() bool { // a heartbeat is told nothing of loading
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = group
		return ask[*kmsg.OffsetFetchResponse](c, 7, req).ErrorCode == 0
	})
}

func (c *conn) makeOffsetsTopic() { c.findCoordinator(harness.Name("any")) }

// groupConn is a connection whose group has a coordinator.
func groupConn(t *testing.T) (*conn, string) {
	t.Helper()
	c, group := dial(t, harness.Shared(t)), harness.Name("group")
	c.findCoordinator(group)
	return c, group
}

// subscription is what a consumer of one topic says. Apache Kafka 4.1.1 never answers a "consumer" whose subscription it
// can't parse, so no test sends one.
func subscription() []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = []string{"some-topic"}
	return m.AppendTo(nil)
}

func joinRequest(group, member string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID = group, member
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30000, 30000
	req.ProtocolType = "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription()}}
	return req
}

// joinAlone joins a group as its only member, as a client of that version does, and syncs it to be stable.
func (c *conn) joinAlone(group string, version int16, instance *string) (member string, generation int32) {
	c.t.Helper()
	req := joinRequest(group, "")
	req.InstanceID = instance
	res := ask[*kmsg.JoinGroupResponse](c, version, req)
	if res.ErrorCode == kerr.MemberIDRequired.Code {
		req.MemberID = res.MemberID
		res = ask[*kmsg.JoinGroupResponse](c, version, req)
	}
	wantCode(c.t, "JoinGroup", res.ErrorCode, nil)
	want(c.t, "leader", res.LeaderID, res.MemberID)
	sync := c.sync(group, res.MemberID, res.Generation, "assigned")
	wantCode(c.t, "SyncGroup", sync.ErrorCode, nil)
	want(c.t, "assignment", string(sync.MemberAssignment), "assigned")
	return res.MemberID, res.Generation
}

func (c *conn) sync(group, member string, generation int32, assignment string) *kmsg.SyncGroupResponse {
	c.t.Helper()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	req.ProtocolType, req.Protocol = ptr("consumer"), ptr("range")
	if assignment != "" {
		req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: member, MemberAssignment: []byte(assignment)}}
	}
	return ask[*kmsg.SyncGroupResponse](c, 5, req)
}

func (c *conn) heartbeat(group, member string, generation int32) int16 {
	c.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	return ask[*kmsg.HeartbeatResponse](c, 4, req).ErrorCode
}

func (c *conn) leave(group, member string) *kmsg.LeaveGroupResponse {
	c.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.Members = group, []kmsg.LeaveGroupRequestMember{{MemberID: member}}
	return ask[*kmsg.LeaveGroupResponse](c, 5, req)
}

func TestFindCoordinator(t *testing.T) {
	t.Parallel()
	c, group := groupConn(t)
	broker := ask[*kmsg.MetadataResponse](c, 7, metadataRequest()).Brokers[0]
	for version := int16(0); version <= 6; version++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys = group, []string{group, group + "2"}
		res := ask[*kmsg.FindCoordinatorResponse](c, version, req)
		if version < 4 {
			wantCode(t, "one key", res.ErrorCode, nil)
			want(t, "node", res.NodeID, broker.NodeID)
			want(t, "port", res.Port, broker.Port)
			continue
		}
		want(t, "coordinators", len(res.Coordinators), 2)
		for i, co := range res.Coordinators {
			wantCode(t, "several keys", co.ErrorCode, nil)
			want(t, "key", co.Key, req.CoordinatorKeys[i])
			want(t, "node", co.NodeID, broker.NodeID)
		}
	}
	bad := kmsg.NewPtrFindCoordinatorRequest()
	bad.CoordinatorKey, bad.CoordinatorType = group, 7
	wantCode(t, "a key type that means nothing", ask[*kmsg.FindCoordinatorResponse](c, 3, bad).ErrorCode, kerr.InvalidRequest)
}

func TestJoinGroupEveryVersion(t *testing.T) {
	t.Parallel()
	for version := int16(0); version <= 9; version++ {
		c, group := groupConn(t)
		member, generation := c.joinAlone(group, version, nil)
		want(t, "generation", generation, 1)
		wantCode(t, "heartbeat", c.heartbeat(group, member, generation), nil)
		left := c.leave(group, member)
		wantCode(t, "leave", left.ErrorCode, nil)
		wantCode(t, "the member's leave", left.Members[0].ErrorCode, nil)
		wantCode(t, "heartbeat after leaving", c.heartbeat(group, member, generation), kerr.UnknownMemberID)
	}
}

func TestJoinGroupRefusals(t *testing.T) {
	t.Parallel()
	_, group := groupConn(t)
	for _, row := range []struct {
		name    string
		version int16
		change  func(*kmsg.JoinGroupRequest)
		want    *kerr.Error
	}{
		{"empty group", 5, func(r *kmsg.JoinGroupRequest) { r.Group = "" }, kerr.InvalidGroupID},
		{"session below group.min.session.timeout.ms", 5, func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 10 }, kerr.InvalidSessionTimeout},
		{"session above group.max.session.timeout.ms", 5, func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1<<31 - 1 }, kerr.InvalidSessionTimeout},
		{"unknown member", 5, func(r *kmsg.JoinGroupRequest) { r.MemberID = "nobody" }, kerr.UnknownMemberID},
		{"no protocols", 3, func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }, kerr.InconsistentGroupProtocol},
		{"no protocol type", 3, func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" }, kerr.InconsistentGroupProtocol},
		{"first join from v4 on", 4, func(*kmsg.JoinGroupRequest) {}, kerr.MemberIDRequired},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := joinRequest(group+row.name, "")
			c := dial(t, harness.Shared(t))
			c.findCoordinator(req.Group)
			row.change(req)
			res := ask[*kmsg.JoinGroupResponse](c, row.version, req)
			wantCode(t, row.name, res.ErrorCode, row.want)
		})
	}
}

func TestGroupFencing(t *testing.T) {
	t.Parallel()
	_, topic := fresh(t)
	c, group := groupConn(t)
	member, generation := c.joinAlone(group, 5, nil)
	other := joinRequest(group, "")
	other.Protocols[0].Name = "of-its-own"
	wantCode(t, "no protocol in common", ask[*kmsg.JoinGroupResponse](c, 3, other).ErrorCode, kerr.InconsistentGroupProtocol)
	wantCode(t, "heartbeat of an old generation", c.heartbeat(group, member, generation-1), kerr.IllegalGeneration)
	wantCode(t, "heartbeat of a stranger", c.heartbeat(group, "nobody", generation), kerr.UnknownMemberID)
	wantCode(t, "sync of an old generation", c.sync(group, member, generation-1, "").ErrorCode, kerr.IllegalGeneration)
	wantCode(t, "sync of a stranger", c.sync(group, "nobody", generation, "").ErrorCode, kerr.UnknownMemberID)
	wantCode(t, "commit of an old generation", c.commit(group, member, generation-1, topic, 0, 1, ""), kerr.IllegalGeneration)
	wantCode(t, "commit of a stranger", c.commit(group, "nobody", generation, topic, 0, 1, ""), kerr.UnknownMemberID)
	wantCode(t, "simple commit into a group with members", c.commit(group, "", -1, topic, 0, 1, ""), kerr.UnknownMemberID)
	wantCode(t, "leave of a stranger", c.leave(group, "nobody").Members[0].ErrorCode, kerr.UnknownMemberID)
	wantCode(t, "delete of a group with members", c.deleteGroup(group), kerr.NonEmptyGroup)
	wantCode(t, "the member is well", c.heartbeat(group, member, generation), nil)
}

// Two members of the first version, which has no rebalance timeout (kafka4beam/brod#465), and a leader that assigns
// nothing to one of them.
func TestTwoMembersRebalance(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	a, group := groupConn(t)
	first := ask[*kmsg.JoinGroupResponse](a, 0, joinRequest(group, ""))
	wantCode(t, "first member", first.ErrorCode, nil)
	wantCode(t, "first sync", a.sync(group, first.MemberID, first.Generation, "all").ErrorCode, nil)

	b := dial(t, node)
	join := joinRequest(group, "")
	join.SetVersion(0)
	waiting := b.send(join)
	harness.Await(t, "the first member is told", func() bool {
		return a.heartbeat(group, first.MemberID, first.Generation) == kerr.RebalanceInProgress.Code
	})
	again := ask[*kmsg.JoinGroupResponse](a, 0, joinRequest(group, first.MemberID))
	wantCode(t, "first member joins again", again.ErrorCode, nil)
	second := join.ResponseKind().(*kmsg.JoinGroupResponse)
	b.receive(waiting, second)
	wantCode(t, "second member", second.ErrorCode, nil)
	want(t, "generation", second.Generation, again.Generation)
	want(t, "leader", second.LeaderID, first.MemberID)
	want(t, "the leader sees members", len(again.Members), 2)
	want(t, "the follower sees none", len(second.Members), 0)

	wantCode(t, "leader's sync", a.sync(group, first.MemberID, again.Generation, "all").ErrorCode, nil)
	sync := b.sync(group, second.MemberID, again.Generation, "")
	wantCode(t, "follower's sync", sync.ErrorCode, nil)
	want(t, "follower's assignment", string(sync.MemberAssignment), "")
}

// A static member that comes back takes its place without a rebalance, and fences its former self.
func TestStaticMember(t *testing.T) {
	t.Parallel()
	c, group := groupConn(t)
	instance := ptr("instance-1")
	member, generation := c.joinAlone(group, 5, instance)
	req := joinRequest(group, "")
	req.InstanceID = instance
	res := ask[*kmsg.JoinGroupResponse](c, 9, req)
	wantCode(t, "rejoin", res.ErrorCode, nil)
	want(t, "generation", res.Generation, generation)
	if res.MemberID == member {
		t.Error("the same member id")
	}
	old := kmsg.NewPtrHeartbeatRequest()
	old.Group, old.MemberID, old.Generation, old.InstanceID = group, member, generation, instance
	wantCode(t, "former self", ask[*kmsg.HeartbeatResponse](c, 4, old).ErrorCode, kerr.FencedInstanceID)
	gone := kmsg.NewPtrLeaveGroupRequest()
	gone.Group, gone.Members = group, []kmsg.LeaveGroupRequestMember{{InstanceID: instance}, {InstanceID: ptr("instance-2")}}
	left := ask[*kmsg.LeaveGroupResponse](c, 3, gone)
	wantCode(t, "leave by instance id", left.Members[0].ErrorCode, nil)
	wantCode(t, "leave of an unknown instance", left.Members[1].ErrorCode, kerr.UnknownMemberID)
}

// A static member rejoins after its coordinator has restarted: confluentinc/confluent-kafka-go#494.
func TestStaticMemberOutlivesKill(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	c, group, instance := dial(t, node), "static", ptr("instance-1")
	c.findCoordinator(group)
	member, generation := c.joinAlone(group, 5, instance)
	node.Kill(t)
	node.Restart(t)
	c = dial(t, node)
	c.findCoordinator(group)
	wantCode(t, "heartbeat goes on", c.heartbeat(group, member, generation), nil)
	req := joinRequest(group, "")
	req.InstanceID = instance
	res := ask[*kmsg.JoinGroupResponse](c, 5, req)
	wantCode(t, "rejoin", res.ErrorCode, nil)
	want(t, "generation", res.Generation, generation)
}
