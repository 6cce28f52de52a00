package diskfaults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
	"github.com/ringmill/ringmill/tests/powercut"
)

// redWanted is a test that goes on after an error, and keeps it.
type redWanted struct {
	testing.TB
	mu     sync.Mutex
	errors []string
}

func (r *redWanted) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// TestCheckerSeesLoss holds the checker against a cluster that loses records by contract: Apache Kafka acknowledges from the page cache, so a
// power cut of all its nodes takes what was not written back. A checker that calls that well would prove nothing.
func TestCheckerSeesLoss(t *testing.T) {
	if harness.ChosenPeer() != harness.Kafka {
		t.Skip("RINGMILL_TEST_PEER=kafka holds the checker against Apache Kafka")
	}
	base := t.TempDir()
	var disks []*powercut.Disk
	for id := 1; id <= 3; id++ {
		disk := powercut.New(t, "ext4", diskBytes)
		if err := os.Symlink(disk.Dir, filepath.Join(base, fmt.Sprint(id))); err != nil {
			t.Fatal(err)
		}
		disks = append(disks, disk)
	}
	c := harness.StartKafkaCluster(t, 3, map[string]string{"log.dirs": filepath.Join(base, "{id}", "log"), "min.insync.replicas": "2",
		"offsets.topic.replication.factor": "3"})
	for i, node := range c.Nodes {
		node.LogDir = filepath.Join(base, fmt.Sprint(i+1), "log")
	}
	red := &redWanted{TB: t}
	l := load.Start(red, c.Nodes, load.Options{Partitions: partitionsOf, Replicas: 3, Configs: []string{segmentOption}, ValueBytes: 4000, Pace: 2 * time.Millisecond})
	l.AwaitProgress(2000)
	began := load.Now()
	for _, i := range rand.Perm(len(disks)) {
		disks[i].Cut(t)
	}
	for _, node := range c.Nodes {
		node.Kill(t)
	}
	for _, disk := range disks {
		disk.Remount(t)
	}
	c.Restart(t)
	l.History.Add(load.Event{Op: "fault", T0: began, T1: load.Now(), Kind: "power cut of all nodes", Bit: true})
	l.AwaitProgress(between)
	if verdict := l.Finish(between); verdict.Status != load.Violation || !strings.Contains(verdict.Said, "I1 ") {
		t.Errorf("verdict %d, want %d for an acknowledged record that is gone: %s", verdict.Status, load.Violation, verdict.Said)
	}
	t.Logf("what was found: %q", red.errors)
}
