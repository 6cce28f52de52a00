package world

import (
	"container/heap"
	"fmt"
	"io"
	"time"
)

// World is virtual time and what happens in it.
type World struct {
	Streams
	now   time.Duration // since the run began
	queue queue
	asked uint64 // events asked for so far; orders those of the same time
	hash  uint64 // of all events so far
	done  int    // events so far

	trace   io.Writer  // nil: nobody reads along
	failure *Violation // the first one
}

// A Violation is an invariant that did not hold.
type Violation struct {
	Invariant string        `json:"invariant"` // its name in docs, such as I1
	Text      string        `json:"text"`
	At        time.Duration `json:"at"` // virtual time
}

func (v *Violation) Error() string { return fmt.Sprintf("%s at %v: %s", v.Invariant, v.At, v.Text) }

// New gives an empty world. trace gets a line an event of note; nil for none.
func New(seed uint64, trace io.Writer) *World {
	return &World{Streams: newStreams(seed), hash: hashStart, trace: trace}
}

// Now is the time since the run began.
func (w *World) Now() time.Duration { return w.now }

// Events counts what has happened.
func (w *World) Events() int { return w.done }

// Hash is of everything that has happened, in order.
func (w *World) Hash() uint64 { return w.hash }

// Failure is the first invariant that did not hold, nil if all did.
func (w *World) Failure() *Violation { return w.failure }

// Fail says that an invariant does not hold. Run ends; only the first failure counts.
func (w *World) Fail(invariant, format string, args ...any) {
	if w.failure != nil {
		return
	}
	w.failure = &Violation{Invariant: invariant, Text: fmt.Sprintf(format, args...), At: w.now}
	w.Tracef("violation of %s: %s", invariant, w.failure.Text)
}

// After calls fn once d has passed; at once, but after everything that is due, if d is 0.
func (w *World) After(d time.Duration, fn func()) {
	w.asked++
	heap.Push(&w.queue, event{at: w.now + max(d, 0), order: w.asked, fn: fn})
}

// RunUntil lets events happen up to and including end, and stops at the first failure. An event beyond end stays in the queue.
func (w *World) RunUntil(end time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= end && w.failure == nil {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		w.done++
		w.Mix(uint64(e.at), e.order)
		e.fn()
	}
	if w.failure == nil {
		w.now = max(w.now, end)
	}
}

// Tracing says that somebody reads along.
func (w *World) Tracing() bool { return w.trace != nil }

// Tracef writes a line of the trace. It must not draw chance or change anything: a traced run is the same run.
func (w *World) Tracef(format string, args ...any) {
	if w.trace != nil {
		fmt.Fprintf(w.trace, "%12.6f  %s\n", w.now.Seconds(), fmt.Sprintf(format, args...))
	}
}

// event is a call that is due at a time.
type event struct {
	at    time.Duration
	order uint64
	fn    func()
}

// queue is a binary heap (container/heap), the earliest event first.
type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is heap's.
func (q *queue) Push(x any) { *q = append(*q, x.(event)) }

// Pop is heap's.
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = event{}
	*q = (*q)[:last]
	return e
}
