package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	tn.opts.set = append(tn.opts.set, "ringmill.missing.data=begin")
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

// TestLostStateIsRefused: the whole of state/ is gone beside logs, which is no directory of Apache Kafka's either.
func TestLostStateIsRefused(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1, "retention.ms=-1")
	tn.dial().mustProduce("a", 0, batch("x"))
	tn.stop()
	state := filepath.Join(tn.opts.dir, "state")
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, tn.opts, filepath.Join(state, image.LogName), "the metadata of the 1 partitions in the log directories is missing")
	if _, err := os.Stat(state); err == nil {
		t.Error("the start that was refused made a state directory")
	}
	tn.opts.set = append(tn.opts.set, "ringmill.missing.data=begin")
	tn = tn.restart()
	if got := fmt.Sprint(tn.dial().readAll("a", 0, 0)); got != "[x]" {
		t.Error(got)
	}
}

// wantRefused wants a start to fail with one line about a path.
func wantRefused(t *testing.T, opts nodeOptions, path, problem string) {
	t.Helper()
	_, err := tryStart(t, opts)
	var refused *StartError
	if !errors.As(err, &refused) || refused.Path != path || !strings.Contains(refused.Problem, problem) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("start: %v", err)
	}
}

// TestLostLogDirIsRefused: a disk that is not mounted, and a directory that is not named any more, do not make partitions begin anew; a
// directory that is added does no harm, and one that had nothing may go.
func TestLostLogDirIsRefused(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	one, two, away := tn.dirs[0].path, tn.dirs[1].path, tn.opts.dir+"/away"
	tn.createTopic("a", 2)
	tn.dial().mustProduce("a", 0, batch("x"))
	tn.dial().mustProduce("a", 1, batch("x"))
	tn.stop()
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(two, away)
	wantRefused(t, tn.opts, two, "1 partitions have no log, a-1 first, and this log directory is empty or new")
	if err := os.MkdirAll(two, 0o755); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, tn.opts, two, "is empty or new")
	narrow := tn.opts
	narrow.set = append(slices.Clone(narrow.set), "log.dirs="+one)
	wantRefused(t, narrow, two, "of the last start is not in log.dirs")
	if err := os.RemoveAll(two); err != nil {
		t.Fatal(err)
	}
	rename(away, two)
	three := tn.opts
	three.set = append(slices.Clone(three.set), "log.dirs="+one+","+two+","+tn.opts.dir+"/three")
	wider := startNode(t, three)
	wider.stop()
	tn = tn.restart() // three had nothing
	if got := fmt.Sprint(tn.dial().readAll("a", 1, 0)); got != "[x]" {
		t.Error(got)
	}
	tn.stop()
	rename(two, away)
	tn.opts.set = append(tn.opts.set, "ringmill.missing.data=begin")
	tn = tn.restart()
	if got := fmt.Sprint(tn.dial().readAll("a", 0, 0), tn.dial().readAll("a", 1, 0)); got != "[x] []" {
		t.Error(got)
	}
}

// TestPartitionInTwoLogDirs: which of the two has records is said, whichever is found first.
func TestPartitionInTwoLogDirs(t *testing.T) {
	tn := twoDirNode(t, nodeOptions{})
	one, two := tn.dirs[0].path, tn.dirs[1].path
	tn.createTopic("a", 2)
	tn.dial().mustProduce("a", 0, batch("x"))
	tn.dial().mustProduce("a", 1, batch("x"))
	tn.stop()
	first, second := filepath.Join(one, "a-0"), filepath.Join(two, "a-0")
	if _, err := os.Stat(second); err == nil {
		first, second = second, first
	}
	for _, records := range []bool{false, true} {
		want := "move " + second + " away: it has no records"
		if err := os.MkdirAll(second, 0o755); err != nil {
			t.Fatal(err)
		}
		if records {
			want = "move one of the two away"
			if err := os.WriteFile(filepath.Join(second, "00000000000000000000.log"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := tryStart(t, tn.opts)
		var refused *StartError
		if !errors.As(err, &refused) || !strings.Contains(refused.Problem, "bytes of records") || !strings.Contains(refused.Cure, want) {
			t.Errorf("start: %v", err)
		}
	}
	if err := os.RemoveAll(second); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tn.restart().dial().readAll("a", 0, 0)); got != "[x]" {
		t.Error(got)
	}
}
