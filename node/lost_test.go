package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// A producer id that a log knows, of Apache Kafka or of metadata that was lost, is not handed out again: the new producer's
// first record would be taken for a repetition, acknowledged and dropped.
func TestProducerIDsOfLogsAreNotHandedOut(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	first := func(tn *testNode) int64 {
		id, _ := tn.NewProducerID()
		return tn.dial().mustProduce("a", 0, batchOf(wire.BatchHeader{Idempotent: true, ProducerID: id}, "x"))
	}
	hostile := batchOf(wire.BatchHeader{Idempotent: true, ProducerID: 1<<63 - 2}, "x") // an id that was never handed out uses up none
	tn.dial().mustProduce("a", 0, hostile)
	first(tn)
	tn.stop()
	if err := os.RemoveAll(filepath.Join(tn.opts.dir, "state")); err != nil {
		t.Fatal(err)
	}
	tn = tn.restart()
	for want := int64(2); want < 4; want++ {
		if off := first(tn); off != want {
			t.Errorf("a new producer's record is at %d, want %d", off, want)
		}
	}
}

// A node whose metadata is gone does not take its topics for Apache Kafka's: their records would fall to the default retention.
func TestLostMetadataIsRefused(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1, "retention.ms=-1")
	tn.stop()
	log := filepath.Join(tn.opts.dir, "state", image.LogName)
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	opts := tn.opts
	_, err := tryStart(t, opts)
	var refused *StartError
	if !errors.As(err, &refused) || refused.Path != log {
		t.Fatalf("start without metadata: %v", err)
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("the start that was refused made metadata")
	}
}

// A deleted topic of the longest name leaves its place to another of that name.
func TestLongestNameIsDeletedAndMadeAgain(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"log.segment.delete.delay.ms=0"}})
	name := strings.Repeat("n", 249)
	for range 2 {
		tn.createTopic(name, 1)
		tn.dial().mustProduce(name, 0, batch("x"))
		if code := tn.DeleteTopic(name, wire.TopicID{}); code != wire.None {
			t.Fatal(code)
		}
	}
	await(t, "directories removed", func() bool {
		left, err := filepath.Glob(filepath.Join(tn.opts.dir, "logs", "nn*"))
		return err == nil && len(left) == 0
	})
}
