package diskfaults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
	"github.com/ringmill/ringmill/tests/powercut"
)

// fill takes all that a disk has left.
func fill(t *testing.T, disk *powercut.Disk) (filler string) {
	t.Helper()
	filler = filepath.Join(disk.Dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := int64(0)
	for some := int64(256 << 20); some >= 1; {
		switch err := unix.Fallocate(int(f.Fd()), 0, at, some); {
		case err == nil:
			at += some
		case errors.Is(err, unix.ENOSPC):
			some /= 2
		default:
			t.Fatal(err)
		}
	}
	return filler
}

// awaitOut returns when the others say that a node is in sync, or leads, nowhere.
func (r *round) awaitOut(i int) {
	r.t.Helper()
	id := int32(i + 1)
	asked := r.cluster.Nodes[(i+1)%len(r.cluster.Nodes)]
	harness.Eventually(r.t, fmt.Sprintf("partitions do without node %d", id), func(ctx context.Context) error {
		metadata, err := load.Metadata(ctx, asked)
		if err != nil {
			return err
		}
		for _, t := range metadata.Topics {
			for _, p := range t.Partitions {
				if p.Leader < 0 || p.Leader == id || slices.Contains(p.ISR, id) {
					return fmt.Errorf("%s-%d: leader %d, in sync %v", *t.Topic, p.Partition, p.Leader, p.ISR)
				}
			}
		}
		return nil
	})
}

// TestFullDisk: the disk of one node is full, its part of the metadata too. The others go on without it, at once, and it comes back by itself
// when there is room.
func TestFullDisk(t *testing.T) {
	r := begin(t, "ext4", nil)
	i, node := r.node()
	r.fault("full disk of a node", "full disks", 1, func() {
		filler := fill(t, r.disks[i])
		r.awaitOut(i)
		r.load.AwaitProgress(10 * between)
		if !node.Alive() {
			t.Fatal("the node has ended")
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	})
	r.end("full disks")
}

// TestFailedDisk: every write to one node's disk fails. Its last log directory is gone with that, so the node ends; the others go on.
func TestFailedDisk(t *testing.T) {
	r := begin(t, "ext4", nil)
	i, node := r.node()
	r.fault("failed disk of a node", "failed disks", 1, func() {
		r.disks[i].Cut(t)
		harness.Await(t, "a node without a disk ends", func() bool { return !node.Alive() })
		r.awaitOut(i)
		r.load.AwaitProgress(10 * between)
		r.disks[i].Remount(t)
		node.Restart(t)
	})
	r.end("failed disks")
}
