package node

import (
	"os"
	"runtime"
	"testing"
	"time"
)

// TestPartitionsCostNothing: partitions take no goroutine, no timer and no descriptor of their own, neither those that are written
// to, beyond the bound on open files, nor those of a start.
func TestPartitionsCostNothing(t *testing.T) {
	const partitions, filesKept = 100, 8
	eachShapeAlone(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, seams: func(s *seams) { s.filesKept = filesKept }})
		before := costs(tn)
		tn.createTopic("a", partitions)
		writeEach(tn, partitions)
		awaitCosts(t, tn, before, filesKept)
		tn.kill()
		tn = tn.restart()
		awaitCosts(t, tn, before, 0)
		writeEach(tn, partitions)
		awaitCosts(t, tn, before, filesKept)
	})
}

// writeEach writes a record to each partition of the topic a.
func writeEach(tn *testNode, partitions int32) {
	tn.t.Helper()
	c := tn.dial()
	defer c.conn.Close()
	for p := range partitions {
		c.mustProduce("a", p, batch("a record"))
	}
}

// nodeCosts is what a node has of what is scarce.
type nodeCosts struct{ goroutines, descriptors, timers int }

func costs(tn *testNode) nodeCosts {
	tn.t.Helper()
	c := nodeCosts{goroutines: runtime.NumGoroutine()}
	for _, l := range tn.loops {
		l.on(func(l *Loop) { c.timers += len(l.timers) })
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tn.t.Fatal(err)
	}
	c.descriptors = len(fds)
	return c
}

// awaitCosts waits until a node has no more than before, but for open files: work in the background comes to its end.
func awaitCosts(t *testing.T, tn *testNode, before nodeCosts, files int) {
	t.Helper()
	within := func(now nodeCosts) bool {
		return now.goroutines <= before.goroutines && now.timers <= before.timers && now.descriptors <= before.descriptors+files
	}
	now := costs(tn)
	for deadline := time.Now().Add(patience); !within(now); now = costs(tn) {
		if time.Now().After(deadline) {
			t.Fatalf("the node has %+v, and had %+v before it had partitions", now, before)
		}
		time.Sleep(time.Millisecond)
	}
}
