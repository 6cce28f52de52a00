package node

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

func initializeShareState(id wire.TopicID, partitions ...int32) *kmsg.InitializeShareGroupStateRequest {
	req := kmsg.NewPtrInitializeShareGroupStateRequest()
	req.GroupID = "g"
	topic := kmsg.InitializeShareGroupStateRequestTopic{TopicID: id}
	for _, p := range partitions {
		topic.Partitions = append(topic.Partitions, kmsg.InitializeShareGroupStateRequestTopicPartition{Partition: p, StateEpoch: 1, StartOffset: 5})
	}
	req.Topics = []kmsg.InitializeShareGroupStateRequestTopic{topic}
	return req
}

func writeShareState(id wire.TopicID, partition int32, start, first, last int64) *kmsg.WriteShareGroupStateRequest {
	req := kmsg.NewPtrWriteShareGroupStateRequest()
	req.GroupID = "g"
	req.Topics = []kmsg.WriteShareGroupStateRequestTopic{{
		TopicID: id,
		Partitions: []kmsg.WriteShareGroupStateRequestTopicPartition{{
			Partition: partition, StateEpoch: 1, StartOffset: start,
			StateBatches: []kmsg.WriteShareGroupStateRequestTopicPartitionStateBatch{{FirstOffset: first, LastOffset: last, DeliveryState: 2, DeliveryCount: 1}},
		}},
	}}
	return req
}

// shareStateOf reads the state of one partition, waiting while the coordinator reads its log.
func (tn *testNode) shareStateOf(id wire.TopicID, partition int32) string {
	tn.t.Helper()
	req := kmsg.NewPtrReadShareGroupStateRequest()
	req.GroupID = "g"
	req.Topics = []kmsg.ReadShareGroupStateRequestTopic{{TopicID: id, Partitions: []kmsg.ReadShareGroupStateRequestTopicPartition{{Partition: partition}}}}
	var got kmsg.ReadShareGroupStateResponseTopicPartition
	await(tn.t, "share coordinator loaded", func() bool {
		got = tn.shareState(req).(*kmsg.ReadShareGroupStateResponse).Topics[0].Partitions[0]
		return got.ErrorCode != int16(wire.CoordinatorLoadInProgress)
	})
	text := fmt.Sprintf("%s epoch %d from %d", wire.ErrorCode(got.ErrorCode), got.StateEpoch, got.StartOffset)
	for _, b := range got.StateBatches {
		text += fmt.Sprintf(" %d-%d:%d/%d", b.FirstOffset, b.LastOffset, b.DeliveryState, b.DeliveryCount)
	}
	return text
}

// awaitShareState begins states once there is a coordinator that has read its log.
func (tn *testNode) awaitShareState(req *kmsg.InitializeShareGroupStateRequest) {
	tn.t.Helper()
	await(tn.t, "share states begun", func() bool {
		resp := tn.shareState(req).(*kmsg.InitializeShareGroupStateResponse)
		for _, p := range resp.Topics[0].Partitions {
			if p.ErrorCode != 0 {
				return false
			}
		}
		return true
	})
}

// TestShareStateSurvives: what the share coordinator has answered is there after a kill and after a clean stop.
func TestShareStateSurvives(t *testing.T) {
	for _, end := range []struct {
		name string
		how  func(*testNode)
	}{{"killed", func(tn *testNode) { tn.kill() }}, {"stopped", func(tn *testNode) { tn.stop() }}} {
		t.Run(end.name, func(t *testing.T) {
			tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=3"}})
			id := tn.createTopic("t", 4)
			tn.awaitShareState(initializeShareState(id, 0, 1, 2, 3))
			for p := range int32(4) {
				resp := tn.shareState(writeShareState(id, p, 6, 7, 7+int64(p))).(*kmsg.WriteShareGroupStateResponse)
				if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
					t.Fatalf("write of partition %d: %s", p, wire.ErrorCode(code))
				}
			}
			end.how(tn)
			tn = tn.restart()
			for p := range int32(4) {
				want := fmt.Sprintf("NONE epoch 1 from 6 7-%d:2/1", 7+p)
				if got := tn.shareStateOf(id, p); got != want {
					t.Errorf("partition %d after the restart: %s, want %s", p, got, want)
				}
			}
		})
	}
}

// TestShareStateIsPruned: the log of the share coordinator does not grow for ever, and what is left of it is enough.
func TestShareStateIsPruned(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{
		"share.coordinator.state.topic.num.partitions=1", "share.coordinator.snapshot.update.records.per.snapshot=3",
		"share.coordinator.state.topic.prune.interval.ms=1",
	}})
	id := tn.createTopic("t", 1)
	tn.awaitShareState(initializeShareState(id, 0))
	p := tn.partition(image.ShareGroupStateTopic, 0)
	written := int64(0)
	await(t, "log start offset above 20", func() bool {
		tn.shareState(writeShareState(id, 0, written, written+1, written+1))
		written++
		return p.published.logStart.Load() > 20
	})
	tn.kill()
	tn = tn.restart()
	want := fmt.Sprintf("NONE epoch 1 from %d %d-%d:2/1", written-1, written-1, written)
	if got := tn.shareStateOf(id, 0); got != want {
		t.Errorf("after the restart: %s, want %s", got, want)
	}
}

// TestShareStateGoesWithItsTopic: a topic that is deleted leaves no state behind.
func TestShareStateGoesWithItsTopic(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=1"}})
	id := tn.createTopic("t", 1)
	tn.awaitShareState(initializeShareState(id, 0))
	if code := tn.DeleteTopic("t", id); code != wire.None {
		t.Fatal(code)
	}
	if got, want := tn.shareStateOf(id, 0), "INVALID_REQUEST epoch 0 from 0"; got != want {
		t.Errorf("after the topic was deleted: %s, want %s", got, want)
	}
}
