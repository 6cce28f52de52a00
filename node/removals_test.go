package node

import (
	"sync/atomic"
	"testing"
)

// TestRemovalsRunOneAtATime: deleting 10,000 partitions ended the node, "fatal error: thread exhaustion", when all their directories
// were removed at once a minute later.
func TestRemovalsRunOneAtATime(t *testing.T) {
	const n = 1000
	var r removals
	var atOnce, done atomic.Int32
	first := make(chan struct{})
	last := make(chan struct{})
	for i := range int32(n) {
		r.put(func() {
			if now := atOnce.Add(1); now > 1 {
				t.Errorf("%d at once", now)
			}
			if i == 0 {
				<-first
			}
			if before := done.Add(1) - 1; before != i {
				t.Errorf("%d runs after %d others", i, before)
			}
			atOnce.Add(-1)
			if i == n-1 {
				close(last)
			}
		})
	}
	close(first)
	<-last
	again := make(chan struct{})
	r.put(func() { close(again) })
	<-again
}
