package node

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// beat joins a consumer group, or lives in it at an epoch, and gives what the member is told. It waits out the moments in which
// the group has no coordinator yet.
func (tn *testNode) beat(group string, epoch int32) (answer *kmsg.ConsumerGroupHeartbeatResponse) {
	tn.t.Helper()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, group, "m", epoch
	if epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.Topics = 10_000, []string{"a"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	await(tn.t, "the coordinator", func() bool {
		answer = tn.dial().call(req).(*kmsg.ConsumerGroupHeartbeatResponse)
		switch wire.ErrorCode(answer.ErrorCode) {
		case wire.CoordinatorNotAvailable, wire.CoordinatorLoadInProgress, wire.NotCoordinator:
			return false
		}
		return true
	})
	if answer.ErrorCode != 0 {
		tn.t.Fatalf("%s at epoch %d: %s", group, epoch, wire.ErrorCode(answer.ErrorCode))
	}
	return answer
}

// setGroup sets or, with "", removes a group's heartbeat interval as a client does.
func (tn *testNode) setGroup(group, heartbeat string) {
	tn.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	if c.Name, c.Op = "consumer.heartbeat.interval.ms", kmsg.IncrementalAlterConfigOpDelete; heartbeat != "" {
		c.Op, c.Value = kmsg.IncrementalAlterConfigOpSet, &heartbeat
	}
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	if got := tn.dial().call(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]; got.ErrorCode != 0 {
		tn.t.Fatalf("%s: %s", group, wire.ErrorCode(got.ErrorCode))
	}
}

// TestGroupsGoByTheirConfiguration: at once, after a restart, and no longer when it is taken away; other groups do not.
func TestGroupsGoByTheirConfiguration(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	tn.setGroup("before", "7000") // before there is such a group, or a coordinator
	tn.dial().call(findGroup("before"))
	if got := tn.beat("before", 0); got.HeartbeatIntervalMillis != 7000 {
		t.Errorf("configured before it was: %d", got.HeartbeatIntervalMillis)
	}
	if got := tn.beat("during", 0); got.HeartbeatIntervalMillis != 5000 {
		t.Errorf("not configured: %d", got.HeartbeatIntervalMillis)
	}
	tn.setGroup("during", "8000")
	if got := tn.beat("during", 1); got.HeartbeatIntervalMillis != 8000 {
		t.Errorf("configured while it is: %d", got.HeartbeatIntervalMillis)
	}
	tn.stop()
	tn = tn.restart()
	for group, want := range map[string]int32{"before": 7000, "during": 8000} {
		if got := tn.beat(group, 1); got.HeartbeatIntervalMillis != want {
			t.Errorf("%s after a restart: %d", group, got.HeartbeatIntervalMillis)
		}
	}
	tn.setGroup("during", "")
	if got := tn.beat("during", 1); got.HeartbeatIntervalMillis != 5000 {
		t.Errorf("without its configuration: %d", got.HeartbeatIntervalMillis)
	}
}

func findGroup(id string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKeys = 4, []string{id}
	return req
}
