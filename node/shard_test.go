package node

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// offsetOf asks the group coordinators of a node for the offset of group g in a-0.
func (tn *testNode) offsetOf() (int64, wire.ErrorCode) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.Version = "g", 5
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "a", Partitions: []int32{0}}}
	resp := tn.Coordinate("g", testAPIClient, req).(*kmsg.OffsetFetchResponse)
	if len(resp.Topics) == 0 {
		return -1, wire.ErrorCode(resp.ErrorCode)
	}
	return resp.Topics[0].Partitions[0].Offset, wire.ErrorCode(resp.ErrorCode)
}

// TestShardsLiveWithTheirLeadership: a coordinator is there while the node leads its partition; one that is led again has what the log
// has, and what the one before still asks for is not appended.
func TestShardsLiveWithTheirLeadership(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	if !tn.OffsetsTopicReady() {
		t.Fatal("there is no topic for offsets")
	}
	commit := func(at int64) wire.ErrorCode {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Version = "g", 2
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "a", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: at}}}}
		return wire.ErrorCode(tn.Coordinate("g", testAPIClient, req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	}
	retried(t, func() wire.ErrorCode { return commit(7) })
	topic := tn.topics.named([]byte(image.ConsumerOffsetsTopic))
	index := wire.PartitionIndex(group.PartitionFor("g", int32(len(topic.parts))))
	var old *groupShard
	on := func(f func()) { // the coordinators' goroutine
		done := make(chan struct{})
		tn.groups.inbox.put(func() {
			f()
			close(done)
		})
		<-done
	}
	taken := func() (bytes int64) {
		on(func() { bytes = tn.groups.memory.Used() })
		return bytes
	}
	on(func() { old = tn.groups.shards[index] })
	before := taken()
	if before == 0 {
		t.Error("a group takes no memory")
	}

	tn.groups.resign(index)
	if left := taken(); left != 0 {
		t.Errorf("of %d bytes, %d are still taken by a coordinator that is elsewhere", before, left)
	}
	if _, code := tn.offsetOf(); code != wire.NotCoordinator {
		t.Errorf("a group whose coordinator is elsewhere: %s", code)
	}
	for range 2 { // the second takes the place of the first, which may still be loading
		tn.groups.lead(topic, []wire.PartitionIndex{index})
	}
	retried(t, func() wire.ErrorCode {
		at, code := tn.offsetOf()
		if code == wire.None && at != 7 {
			t.Errorf("the offset is %d after the partition was led again", at)
		}
		return code
	})
	await(t, "the logs are read", func() bool { return tn.groups.logs.check().ok })
	if again := taken(); again != before {
		t.Errorf("%d bytes are taken after the partition was led again, before it %d", again, before)
	}

	stale := old.leaderEpoch - 1
	refused := make(chan wire.ErrorCode, 1)
	tn.appendPlaced(topic.name, index, internalBatch{records: []wire.Record{{Value: []byte("x")}}, epoch: &stale},
		func(c replicate.Completion) { refused <- c.Code })
	if code := <-refused; code != wire.NotLeaderOrFollower {
		t.Errorf("an append under an epoch that is over: %s", code)
	}
	if !old.ended {
		t.Error("the coordinator before has not ended")
	}
}

// TestCoordinatorsServeWhatIsSafe: a coordinator that has read its log waits until all of it is below the high watermark, for as long as the
// node leads under that epoch.
func TestCoordinatorsServeWhatIsSafe(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	p := tn.partition("a", 0)
	epoch := wire.LeaderEpoch(p.published.leaderEpoch.Load())
	if !tn.awaitSafe(p, epoch, 0) {
		t.Error("an empty log is not safe")
	}
	if tn.awaitSafe(p, epoch-1, 1) {
		t.Error("a log is waited for that is led under another epoch by now")
	}
	safe, done := make(chan bool, 1), make(chan wire.ErrorCode, 1)
	go func() { safe <- tn.awaitSafe(p, epoch, 1) }()
	tn.appendPlaced("a", 0, internalBatch{records: []wire.Record{{Value: []byte("x")}}}, func(c replicate.Completion) { done <- c.Code })
	if code := <-done; code != wire.None {
		t.Fatal(code)
	}
	if !<-safe {
		t.Error("what is below the high watermark is not safe")
	}
}
