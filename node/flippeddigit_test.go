package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// TestFlippedDigitIsRefused: a digit or a letter of a text file has changed on disk, so that the file says something else. The node does not go
// by it: it would hide or delete records, or begin a partition anew, empty. With the file as it was it serves what it had.
func TestFlippedDigitIsRefused(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	for i := range 9 {
		tn.dial().mustProduce("a", 0, batch(fmt.Sprint(i)))
	}
	if _, code := tn.dial().deleteRecords("a", 0, 5); code != wire.None {
		t.Fatal(code)
	}
	tn.stop()
	logs := filepath.Join(tn.opts.dir, "logs")
	for _, c := range []struct{ name, old, new string }{
		{segment.LogStartCheckpoint, "a 0 5\n", "a 0 7\n"},
		{segment.LogStartCheckpoint, "a 0 5\n", "a 0 5000\n"},
		{segment.RecoveryPointCheckpoint, "a 0 9\n", "a 0 8\n"},
		{segment.HighWatermarkCheckpoint, "a 0 9\n", "a 0 1\n"},
		{segment.MetaPropertiesFile, "directory.id=", "directory.id=A"},
		{filepath.Join("a-0", segment.PartitionMetadataFile), "topic_id: ", "topic_id: A"},
	} {
		path := filepath.Join(logs, c.name)
		good, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(good, []byte(c.old)) {
			t.Fatalf("%s has no %q: %q, %v", c.name, c.old, good, err)
		}
		bad := bytes.Replace(good, []byte(c.old), []byte(c.new), 1)
		if c.new == c.old+"A" { // as long as before
			at := bytes.Index(bad, []byte(c.new)) + len(c.new)
			bad = append(bad[:at], bad[at+1:]...)
		}
		if bytes.Equal(bad, good) {
			continue // the letter was that one
		}
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		named := path
		if filepath.Base(path) == segment.PartitionMetadataFile {
			named = filepath.Dir(path)
		}
		wantRefused(t, tn.opts, named, "checksum")
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tn = tn.restart()
	if got := tn.dial().mustProduce("a", 0, batch("x")); got != 9 {
		t.Errorf("the next record is at %d, want 9", got)
	}
}
