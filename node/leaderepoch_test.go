package node

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// wantEpochs compares the leader epochs of the topics' first partitions.
func (tn *testNode) wantEpochs(when string, want map[string]int32) {
	tn.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	got := map[string]int32{}
	for _, t := range tn.dial().call(req).(*kmsg.MetadataResponse).Topics {
		got[*t.Topic] = t.Partitions[0].LeaderEpoch
	}
	if !maps.Equal(got, want) {
		tn.t.Errorf("%s: leader epochs %v, want %v", when, got, want)
	}
}

// endOf asks where an epoch ended.
func (c *client) endOf(topic string, epoch int32) (found int32, end int64) {
	c.t.Helper()
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LeaderEpoch = -1, epoch
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = 4
	req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
	got := c.call(req).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
	return got.LeaderEpoch, got.EndOffset
}

// TestLeaderEpochNeverFalls: each start after a crash raises the leader epochs, whether or not anything is appended then, a clean one
// keeps them, and a new topic begins at 0 (KIP-320).
func TestLeaderEpochNeverFalls(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	tn.createTopic("empty", 1)
	tn.dial().mustProduce("a", 0, batch("1", "2"))
	tn.wantEpochs("at first", map[string]int32{"a": 0, "empty": 0})
	for _, epoch := range []int32{1, 2} {
		tn.kill()
		tn = tn.restart()
		tn.wantEpochs("after a crash", map[string]int32{"a": epoch, "empty": epoch})
	}
	tn.createTopic("new", 1)
	for range 2 {
		if err := tn.stop(); err != nil {
			t.Fatal(err)
		}
		tn = tn.restart()
		tn.wantEpochs("after a clean stop", map[string]int32{"a": 2, "empty": 2, "new": 0})
	}
	c := tn.dial()
	type answer struct {
		epoch int32
		end   int64
	}
	wantEnds := func(when, topic string, want []answer) {
		t.Helper()
		for epoch, w := range want {
			if found, end := c.endOf(topic, int32(epoch)); found != w.epoch || end != w.end {
				t.Errorf("%s: epoch %d of %s ended as %d at %d, want %d at %d", when, epoch, topic, found, end, w.epoch, w.end)
			}
		}
	}
	wantEnds("nothing appended", "a", []answer{{0, 2}, {0, 2}, {2, 2}, {-1, -1}})
	wantEnds("nothing appended", "empty", []answer{{0, 0}, {1, 0}, {2, 0}, {-1, -1}})
	c.mustProduce("a", 0, batch("3"))
	wantEnds("appended", "a", []answer{{0, 2}, {0, 2}, {2, 3}, {-1, -1}})
	tn.kill()
	tn = tn.restart()
	tn.wantEpochs("after one more crash", map[string]int32{"a": 3, "empty": 3, "new": 1})
}

// TestLeaderEpochOfALogIsKept: what a log of another making has led under is not gone below, by any partition.
func TestLeaderEpochOfALogIsKept(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	tn.createTopic("b", 1)
	tn.dial().mustProduce("a", 0, batch("1"))
	dir := filepath.Join(tn.dirs[0].path, segment.PartitionDir(wire.TopicPartition{Topic: "a"}))
	if err := tn.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, segment.LeaderEpochCheckpoint), []byte("0\n1\n7 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "00000000000000000000.log")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	wire.RecordBatch(b).SetPartitionLeaderEpoch(7)
	if err := os.WriteFile(log, b, 0o644); err != nil {
		t.Fatal(err)
	}
	tn = tn.restart()
	tn.wantEpochs("a clean start", map[string]int32{"a": 7, "b": 7})
	tn.kill()
	tn = tn.restart()
	tn.wantEpochs("after a crash", map[string]int32{"a": 8, "b": 8})
}
