package node

import (
	"sync/atomic"
	"testing"
)

// TestBackgroundIsBounded: whatever is asked for at once, no more than backgroundMax works are under way, all are done, and they
// begin in order.
func TestBackgroundIsBounded(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shapes[0]})
	const asked = 20 * backgroundMax
	var under, most atomic.Int64
	var began, done atomic.Int64
	goOn := make(chan struct{})
	outOfOrder := make(chan int64, asked)
	l := tn.loops[0]
	l.on(func(l *Loop) {
		for i := range int64(asked) {
			l.background(func() Message {
				if n := under.Add(1); n > most.Load() {
					most.Store(n)
				}
				if n := began.Add(1); i >= n+backgroundMax { // those under way together may overtake each other
					outOfOrder <- i
				}
				<-goOn
				under.Add(-1)
				return messageFunc(func(*Loop) { done.Add(1) })
			})
		}
	})
	await(t, "the first works", func() bool { return under.Load() == backgroundMax })
	close(goOn)
	await(t, "all works", func() bool { return done.Load() == asked })
	if n := most.Load(); n > backgroundMax {
		t.Errorf("%d works under way, bound is %d", n, backgroundMax)
	}
	if len(outOfOrder) > 0 {
		t.Errorf("work %d began too early", <-outOfOrder)
	}
	l.on(func(l *Loop) {
		if l.works.running != 0 || len(l.works.waiting) != 0 {
			t.Errorf("%d works running, %d waiting, of none", l.works.running, len(l.works.waiting))
		}
	})
}
