package node

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// sharer is a member of a share group that does what it is told.
type sharer struct {
	tn    *testNode
	group string
	id    string
	epoch int32
	has   map[wire.TopicID][]int32
}

// beat sends a heartbeat; topics only where they are new. It waits out the moments in which the group has no coordinator.
func (s *sharer) beat(topics ...string) {
	s.tn.t.Helper()
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.Version, req.GroupID, req.MemberID, req.MemberEpoch, req.SubscribedTopicNames = 1, s.group, s.id, s.epoch, topics
	var answer *kmsg.ShareGroupHeartbeatResponse
	await(s.tn.t, "the coordinator", func() bool {
		answer = s.tn.dial().call(req).(*kmsg.ShareGroupHeartbeatResponse)
		switch wire.ErrorCode(answer.ErrorCode) {
		case wire.CoordinatorNotAvailable, wire.CoordinatorLoadInProgress, wire.NotCoordinator:
			return false
		}
		return true
	})
	if answer.ErrorCode != 0 {
		s.tn.t.Fatalf("%s at epoch %d: %s", s.id, s.epoch, wire.ErrorCode(answer.ErrorCode))
	}
	s.epoch = answer.MemberEpoch
	if answer.Assignment != nil {
		s.has = map[wire.TopicID][]int32{}
		for _, t := range answer.Assignment.TopicPartitions {
			s.has[t.TopicID] = t.Partitions
		}
	}
}

// awaitPartitions beats until the member has count partitions of the topic: their states have been initialized then.
func (s *sharer) awaitPartitions(id wire.TopicID, count int) {
	s.tn.t.Helper()
	await(s.tn.t, fmt.Sprintf("%d partitions for %s", count, s.id), func() bool {
		s.beat()
		return len(s.has[id]) == count
	})
}

func (tn *testNode) sharedOffsets(group string) []kmsg.DescribeShareGroupOffsetsResponseGroupTopic {
	req := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	req.Groups = []kmsg.DescribeShareGroupOffsetsRequestGroup{{GroupID: group}}
	return tn.dial().call(req).(*kmsg.DescribeShareGroupOffsetsResponse).Groups[0].Topics
}

// TestShareGroupLives: a member gets the partitions once the share coordinator has their states, keeps them over a restart,
// and after it is gone the group is deleted with those states.
func TestShareGroupLives(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	id := tn.createTopic("a", 2)
	tn.dial().call(findGroup("g"))
	s := &sharer{tn: tn, group: "g", id: "m"}
	s.beat("a")
	s.awaitPartitions(id, 2)
	epoch := s.epoch
	tn.stop()
	tn = tn.restart()
	s.tn = tn
	s.beat()
	if s.epoch != epoch {
		t.Errorf("epoch %d after the restart, %d before", s.epoch, epoch)
	}
	if topics := tn.sharedOffsets("g"); len(topics) != 1 || topics[0].Topic != "a" || len(topics[0].Partitions) != 2 {
		t.Errorf("offsets: %+v", topics)
	}
	if code := tn.deleteGroup("g"); code != wire.NonEmptyGroup {
		t.Errorf("deletion of a group with a member: %s", code)
	}
	s.epoch = -1
	s.beat()
	await(t, "the group deleted", func() bool { return tn.deleteGroup("g") == wire.None }) // its states' coordinator may still load
	if topics := tn.sharedOffsets("g"); len(topics) != 0 {
		t.Errorf("offsets of a deleted group: %+v", topics)
	}
}

func (tn *testNode) deleteGroup(id string) wire.ErrorCode {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version, req.Groups = 2, []string{id}
	return wire.ErrorCode(tn.dial().call(req).(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
}

// TestShareGroupForgetsDeletedTopics: a topic that is made again under the same name is another one.
func TestShareGroupForgetsDeletedTopics(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	id := tn.createTopic("a", 3)
	tn.dial().call(findGroup("g"))
	s := &sharer{tn: tn, group: "g", id: "m"}
	s.beat("a")
	s.awaitPartitions(id, 3)
	if code := tn.DeleteTopic("a", id); code != wire.None {
		t.Fatal(code)
	}
	again := tn.createTopic("a", 1)
	s.awaitPartitions(again, 1)
	if topics := tn.sharedOffsets("g"); len(topics) != 1 || topics[0].TopicID != again {
		t.Errorf("offsets: %+v", topics)
	}
}

func (tn *testNode) setShareVersion(level int16) wire.ErrorCode {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.Version = 2
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = "share.version", level, 2
	if level > 0 {
		u.UpgradeType = 1
	}
	req.FeatureUpdates = append(req.FeatureUpdates, u)
	return wire.ErrorCode(tn.dial().call(req).(*kmsg.UpdateFeaturesResponse).ErrorCode)
}

// TestShareVersion: at 0 there are no share groups, after a restart either.
func TestShareVersion(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	if code := tn.setShareVersion(0); code != wire.None {
		t.Fatal(code)
	}
	tn.stop()
	tn = tn.restart()
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.Version, req.GroupID, req.MemberID, req.SubscribedTopicNames = 1, "g", "m", []string{"a"}
	if got := tn.dial().call(req).(*kmsg.ShareGroupHeartbeatResponse); wire.ErrorCode(got.ErrorCode) != wire.UnsupportedVersion {
		t.Errorf("heartbeat at level 0: %s", wire.ErrorCode(got.ErrorCode))
	}
	if code := tn.setShareVersion(1); code != wire.None {
		t.Fatal(code)
	}
	tn.dial().call(findGroup("g"))
	(&sharer{tn: tn, group: "g", id: "m"}).beat("a")
}
