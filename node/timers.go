package node

import (
	"container/heap"
	"time"
)

// timer calls fire on its loop once the monotonic clock has reached at. The zero value is idle.
type timer struct {
	at    time.Duration
	fire  func(l *Loop)
	index int // place in the heap, from 1; 0: not set
}

// timerHeap orders a loop's timers by time. Its size is bounded by what owns timers: two a connection, one a listener, one a
// partition with other replicas, and one for rounds of syncs.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

// Push and Pop are container/heap's; use set and cancel.
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.index = len(*h) + 1
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = 0
	return t
}

// set arms t for at, moving it if it is armed already.
func (h *timerHeap) set(t *timer, at time.Duration) {
	t.at = at
	if t.index > 0 {
		heap.Fix(h, t.index-1)
		return
	}
	heap.Push(h, t)
}

// cancel disarms t if it is armed.
func (h *timerHeap) cancel(t *timer) {
	if t.index > 0 {
		heap.Remove(h, t.index-1)
	}
}

// next is the earliest armed time.
func (h timerHeap) next() (time.Duration, bool) {
	if len(h) == 0 {
		return 0, false
	}
	return h[0].at, true
}

// fire runs every timer that is due.
func (h *timerHeap) fire(l *Loop) {
	for len(*h) > 0 && (*h)[0].at <= l.mono {
		t := heap.Pop(h).(*timer)
		t.fire(l)
	}
}
