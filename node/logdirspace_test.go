package node

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestDescribeLogDirsTellsTheBytesOfLogs: the batches that were written, in two partitions, also after a restart.
func TestDescribeLogDirsTellsTheBytesOfLogs(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 2)
	c := tn.dial()
	first, second := batch("x"), batch("y", "z")
	c.mustProduce("a", 0, first)
	c.mustProduce("a", 0, second)
	c.mustProduce("a", 1, first)
	want := []int64{int64(len(first) + len(second)), int64(len(first))}
	for range 2 {
		if got := tn.logSizes("a"); !slices.Equal(got, want) {
			t.Fatalf("sizes %v, want %v", got, want)
		}
		if err := tn.stop(); err != nil {
			t.Fatal(err)
		}
		tn = tn.restart()
	}
}

// TestRelativeLogDirIsToldAbsolute, and is named so in a move: what is relative to the node means nothing to its clients.
func TestRelativeLogDirIsToldAbsolute(t *testing.T) {
	above := t.TempDir()
	t.Chdir(above)
	tn := startNode(t, nodeOptions{dir: "data"})
	tn.createTopic("a", 1)
	told := filepath.Join(above, "data", "logs")
	if dirs := tn.LogDirs(); len(dirs) != 1 || dirs[0].Path != told {
		t.Errorf("%+v, want %s", dirs, told)
	}
	tp := wire.TopicPartition{Topic: "a", Partition: 0}
	if code := tn.MoveLog(tp, told); code != wire.None {
		t.Errorf("to where it lies: %s", code)
	}
	if code := tn.MoveLog(tp, tn.dirs[0].path); code != wire.LogDirNotFound {
		t.Errorf("to a relative path: %s", code)
	}
}

// logSizes asks for the sizes of a topic's partitions, by partition, and checks what is told of the one directory.
func (tn *testNode) logSizes(topic string) (sizes []int64) {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.SetVersion(4)
	resp := tn.dial().call(req).(*kmsg.DescribeLogDirsResponse)
	if len(resp.Dirs) != 1 || resp.Dirs[0].ErrorCode != 0 || resp.Dirs[0].Dir != tn.dirs[0].path ||
		resp.Dirs[0].TotalBytes < resp.Dirs[0].UsableBytes || resp.Dirs[0].UsableBytes < 0 {
		tn.t.Fatalf("%+v", resp.Dirs)
	}
	for _, t := range resp.Dirs[0].Topics {
		for _, p := range t.Partitions {
			if t.Topic == topic {
				sizes = append(sizes, p.Size)
			}
		}
	}
	return sizes
}
