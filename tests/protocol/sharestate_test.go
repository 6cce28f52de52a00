package protocol

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// sharingNode gives the shared node if it serves share groups: Apache Kafka 4.1 does only with share.version 1.
func sharingNode(t *testing.T) *harness.Node {
	t.Helper()
	node := harness.Shared(t)
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "protocol-test", "1"
	res := ask[*kmsg.ApiVersionsResponse](dial(t, node), 4, req)
	for _, f := range res.FinalizedFeatures {
		if f.Name == "share.version" && f.MaxVersionLevel > 0 {
			return node
		}
	}
	t.Skip("the node was not given share.version 1")
	return nil
}

// shareState is a connection that asks the share coordinator about partition 0 of a topic for one group.
type shareState struct {
	*conn
	group string
	topic [16]byte
}

func openShareState(t *testing.T) *shareState {
	t.Helper()
	node := sharingNode(t)
	s := &shareState{conn: dial(t, node), group: harness.Name("share-state")}
	s.topic = s.topicID(node.CreateTopic(t, "share-state", 2))
	s.awaitShareCoordinator(s.group + ":" + base64ID(s.topic) + ":0")
	harness.Await(t, "share coordinator reads its log", func() bool { return !strings.Contains(s.summary(), "COORDINATOR") })
	return s
}

// awaitShareCoordinator waits until there is a share coordinator for a key; asking makes its topic.
func (c *conn) awaitShareCoordinator(key string) {
	c.t.Helper()
	harness.Await(c.t, "share coordinator", func() bool {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKeys = 2, []string{key}
		return ask[*kmsg.FindCoordinatorResponse](c, 6, req).Coordinators[0].ErrorCode == 0
	})
}

func (s *shareState) initialize(stateEpoch int32, start int64) string {
	s.t.Helper()
	p := kmsg.NewInitializeShareGroupStateRequestTopicPartition()
	p.StateEpoch, p.StartOffset = stateEpoch, start
	req := kmsg.NewPtrInitializeShareGroupStateRequest()
	req.GroupID = s.group
	req.Topics = []kmsg.InitializeShareGroupStateRequestTopic{{TopicID: s.topic, Partitions: []kmsg.InitializeShareGroupStateRequestTopicPartition{p}}}
	res := ask[*kmsg.InitializeShareGroupStateResponse](s.conn, 0, req).Topics[0].Partitions[0]
	return said(res.ErrorCode, res.ErrorMessage)
}

func (s *shareState) write(stateEpoch, leaderEpoch int32, start int64, batches ...string) string {
	s.t.Helper()
	p := kmsg.NewWriteShareGroupStateRequestTopicPartition()
	p.StateEpoch, p.LeaderEpoch, p.StartOffset = stateEpoch, leaderEpoch, start
	for _, text := range batches {
		var b kmsg.WriteShareGroupStateRequestTopicPartitionStateBatch
		if _, err := fmt.Sscanf(text, "%d-%d:%d/%d", &b.FirstOffset, &b.LastOffset, &b.DeliveryState, &b.DeliveryCount); err != nil {
			s.t.Fatal(err)
		}
		p.StateBatches = append(p.StateBatches, b)
	}
	req := kmsg.NewPtrWriteShareGroupStateRequest()
	req.GroupID = s.group
	req.Topics = []kmsg.WriteShareGroupStateRequestTopic{{TopicID: s.topic, Partitions: []kmsg.WriteShareGroupStateRequestTopicPartition{p}}}
	res := ask[*kmsg.WriteShareGroupStateResponse](s.conn, 0, req).Topics[0].Partitions[0]
	return said(res.ErrorCode, res.ErrorMessage)
}

// read gives the state as "epoch E from S first-last:state/deliveries …".
func (s *shareState) read(leaderEpoch int32) string {
	s.t.Helper()
	req := kmsg.NewPtrReadShareGroupStateRequest()
	req.GroupID = s.group
	req.Topics = []kmsg.ReadShareGroupStateRequestTopic{{TopicID: s.topic, Partitions: []kmsg.ReadShareGroupStateRequestTopicPartition{{LeaderEpoch: leaderEpoch}}}}
	res := ask[*kmsg.ReadShareGroupStateResponse](s.conn, 0, req).Topics[0].Partitions[0]
	if res.ErrorCode != 0 {
		return said(res.ErrorCode, res.ErrorMessage)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d from %d", res.StateEpoch, res.StartOffset)
	for _, batch := range res.StateBatches {
		fmt.Fprintf(&b, " %d-%d:%d/%d", batch.FirstOffset, batch.LastOffset, batch.DeliveryState, batch.DeliveryCount)
	}
	return b.String()
}

func (s *shareState) summary() string {
	s.t.Helper()
	req := kmsg.NewPtrReadShareGroupStateSummaryRequest()
	req.GroupID = s.group
	req.Topics = []kmsg.ReadShareGroupStateSummaryRequestTopic{{TopicID: s.topic, Partitions: []kmsg.ReadShareGroupStateSummaryRequestTopicPartition{{}}}}
	res := ask[*kmsg.ReadShareGroupStateSummaryResponse](s.conn, 0, req).Topics[0].Partitions[0]
	if res.ErrorCode != 0 {
		return said(res.ErrorCode, res.ErrorMessage)
	}
	return fmt.Sprintf("epoch %d leader %d from %d", res.StateEpoch, res.LeaderEpoch, res.StartOffset)
}

func (s *shareState) delete() string {
	s.t.Helper()
	req := kmsg.NewPtrDeleteShareGroupStateRequest()
	req.GroupID = s.group
	req.Topics = []kmsg.DeleteShareGroupStateRequestTopic{{TopicID: s.topic, Partitions: []kmsg.DeleteShareGroupStateRequestTopicPartition{{}}}}
	res := ask[*kmsg.DeleteShareGroupStateResponse](s.conn, 0, req).Topics[0].Partitions[0]
	return said(res.ErrorCode, res.ErrorMessage)
}

// said is a code with its message.
func said(code int16, message *string) string {
	if code == 0 && message == nil {
		return "ok"
	}
	return codeName(code) + " " + text(message)
}

const (
	shareWriteUninitialized = "INVALID_REQUEST Write operation on uninitialized share partition not allowed."
	shareReadUninitialized  = "INVALID_REQUEST Read operation on uninitialized share partition not allowed."
	shareFencedLeader       = "FENCED_LEADER_EPOCH The leader epoch in the request is older than the epoch on the broker."
	shareFencedState        = "FENCED_STATE_EPOCH The share coordinator rejected the request because the share-group state epoch did not match."
)

func TestShareStateBeforeInitialize(t *testing.T) {
	t.Parallel()
	s := openShareState(t)
	want(t, "write", s.write(0, 0, 0, "0-4:2/1"), shareWriteUninitialized)
	want(t, "read", s.read(0), shareReadUninitialized)
	want(t, "summary", s.summary(), "epoch 0 leader 0 from -1")
	want(t, "delete", s.delete(), "ok")
}

func TestShareStateWrites(t *testing.T) {
	t.Parallel()
	s := openShareState(t)
	want(t, "initialize", s.initialize(3, 10), "ok")
	want(t, "read", s.read(5), "epoch 3 from 10")
	want(t, "write", s.write(3, 5, 10, "10-14:2/1", "15-19:0/1"), "ok")
	want(t, "read", s.read(5), "epoch 3 from 10 10-14:2/1 15-19:0/1")
	want(t, "write over it", s.write(3, 5, 12, "17-17:2/2", "20-29:4/5", "30-30:4/5"), "ok")
	want(t, "read", s.read(5), "epoch 3 from 12 12-14:2/1 15-16:0/1 17-17:2/2 18-19:0/1 20-30:4/5")
	want(t, "write less deliveries", s.write(3, 5, -1, "20-24:0/1"), "ok")
	want(t, "read", s.read(5), "epoch 3 from 12 12-14:2/1 15-16:0/1 17-17:2/2 18-19:0/1 20-30:4/5")
	want(t, "a higher state epoch", s.write(4, 5, 31), "ok")
	want(t, "read", s.read(5), "epoch 4 from 31")
	want(t, "summary", s.summary(), "epoch 4 leader 5 from 31")
	want(t, "initialize again", s.initialize(6, 100), "ok")
	want(t, "summary", s.summary(), "epoch 6 leader 0 from 100")
	want(t, "delete", s.delete(), "ok")
	want(t, "after it", s.read(5), shareReadUninitialized)
	want(t, "summary", s.summary(), "epoch 0 leader 0 from -1")
}

func TestShareStateFences(t *testing.T) {
	t.Parallel()
	s := openShareState(t)
	want(t, "initialize", s.initialize(3, -1), "ok")
	want(t, "a leader of epoch 2", s.read(2), "epoch 3 from -1")
	want(t, "an older one reads", s.read(1), shareFencedLeader)
	want(t, "an older one writes", s.write(3, 1, 0), shareFencedLeader)
	want(t, "a newer one writes", s.write(3, 4, 0), "ok")
	want(t, "the last one writes", s.write(3, 2, 0), shareFencedLeader)
	want(t, "an older state", s.write(2, 4, 0), shareFencedState)
	want(t, "an older beginning", s.initialize(2, 0), shareFencedState)
	want(t, "a newer beginning", s.initialize(4, 0), "ok")
	want(t, "the leaders are remembered", s.read(3), shareFencedLeader)
	want(t, "epochs as they are", s.write(-1, -1, 7), "ok")
	want(t, "read", s.read(4), "epoch 4 from 7")
}

func TestShareStateOfNoPartition(t *testing.T) {
	t.Parallel()
	s := openShareState(t)
	s.topic[3] ^= 0xff
	const unknown = "UNKNOWN_TOPIC_OR_PARTITION This server does not host this topic-partition."
	want(t, "initialize", s.initialize(0, 0), unknown)
	want(t, "write", s.write(0, 0, 0), shareWriteUninitialized)
	want(t, "summary", s.summary(), unknown)
	want(t, "delete", s.delete(), unknown)
}

func TestShareStateOfNothing(t *testing.T) {
	t.Parallel()
	s := openShareState(t)
	group := s.group
	for _, row := range []struct {
		name, group string
		topics      []kmsg.ReadShareGroupStateRequestTopic
	}{
		{"no group", "", []kmsg.ReadShareGroupStateRequestTopic{{TopicID: s.topic, Partitions: []kmsg.ReadShareGroupStateRequestTopicPartition{{}}}}},
		{"no topics", group, nil},
		{"no partitions", group, []kmsg.ReadShareGroupStateRequestTopic{{TopicID: s.topic}}},
	} {
		req := kmsg.NewPtrReadShareGroupStateRequest()
		req.GroupID, req.Topics = row.group, row.topics
		want(t, row.name, len(ask[*kmsg.ReadShareGroupStateResponse](s.conn, 0, req).Topics), 0)
	}
}

func TestFindShareCoordinator(t *testing.T) {
	t.Parallel()
	s := openShareState(t)
	id := base64ID(s.topic)
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType = 2
	for _, row := range []struct {
		key  string
		code int16
	}{
		{"g:" + id + ":0", 0}, {"g:" + id + ":7", 0}, {"g:" + id + ":0:", 0}, {" g :" + id + ":0", 0},
		{"", 42}, {"g", 42}, {"g:" + id, 42}, {":" + id + ":0", 42}, {"g:" + id + ":x", 42}, {"g:short:0", 42}, {"a:b:" + id + ":0", 42},
	} {
		req.CoordinatorKeys = []string{row.key}
		c := ask[*kmsg.FindCoordinatorResponse](s.conn, 6, req).Coordinators[0]
		want(t, "coordinator of "+row.key, codeName(c.ErrorCode), codeName(row.code))
	}
	req.CoordinatorKeys = []string{"g:" + id + ":0"}
	want(t, "version 5", codeName(ask[*kmsg.FindCoordinatorResponse](s.conn, 5, req).Coordinators[0].ErrorCode), "INVALID_REQUEST")
}

func base64ID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
