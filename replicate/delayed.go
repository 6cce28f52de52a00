package replicate

import (
	"github.com/ringmill/ringmill/wire"
)

// delayedProduce is a produce whose bytes are planned and whose answer waits.
type delayedProduce struct {
	// last is the batch's last offset.
	last wire.Offset
	done Completion
}

// delayedProduces is a queue in arrival order. A duplicate's offsets may lie below those before it; it still waits
// its turn, so that answers keep the order of requests.
type delayedProduces struct {
	items []delayedProduce
	head  int
}

func (q *delayedProduces) empty() bool { return q.head == len(q.items) }

// push appends d. A queue that never empties under load slides down once its dead front is the larger half.
func (q *delayedProduces) push(d delayedProduce) {
	if q.head > delayedKeepMax && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, d)
}

// pop removes the front. The backing array of an emptied queue is dropped beyond a size that only a burst reaches,
// so that a partition that was busy once stays small.
func (q *delayedProduces) pop() delayedProduce {
	d := q.items[q.head]
	q.items[q.head] = delayedProduce{}
	q.head++
	if q.empty() {
		q.head = 0
		if q.items = q.items[:0]; cap(q.items) > delayedKeepMax {
			q.items = nil
		}
	}
	return d
}

// delayedKeepMax is the longest backing array an idle queue keeps: 64 entries of 48 bytes are 3 KiB.
const delayedKeepMax = 64

// completeBelow answers produces from the front whose last offset is below bound.
func (q *delayedProduces) completeBelow(bound wire.Offset, eff *Effects) {
	for !q.empty() && q.items[q.head].last < bound {
		eff.Completed = append(eff.Completed, q.pop().done)
	}
}

// newest calls f with each produce and its batch's last offset, the newest first, until f returns false.
func (q *delayedProduces) newest(f func(last wire.Offset, ref any) (more bool)) {
	for i := len(q.items) - 1; i >= q.head && f(q.items[i].last, q.items[i].done.Ref); i-- {
	}
}

// takeFrom removes and returns every produce whose last offset is at or beyond first, in order.
func (q *delayedProduces) takeFrom(first wire.Offset) []delayedProduce {
	var taken []delayedProduce
	kept := q.items[:0]
	for _, d := range q.items[q.head:] {
		if d.last >= first {
			taken = append(taken, d)
		} else {
			kept = append(kept, d)
		}
	}
	clear(q.items[len(kept):])
	q.items, q.head = kept, 0
	return taken
}

// fail answers every produce whose last offset is at or beyond first with code.
func (q *delayedProduces) fail(first wire.Offset, code wire.ErrorCode, eff *Effects) {
	for _, d := range q.takeFrom(first) {
		eff.Completed = append(eff.Completed, Refused(d.done.Ref, code))
	}
}

// expire answers the produces below written that are due with REQUEST_TIMED_OUT, and says how many are left.
func (q *delayedProduces) expire(written wire.Offset, due func(ref any) bool, eff *Effects) int {
	kept := q.items[:0]
	for _, d := range q.items[q.head:] {
		if due(d.done.Ref) && d.last < written {
			d.done.Code = wire.RequestTimedOut
			eff.Completed = append(eff.Completed, d.done)
		} else {
			kept = append(kept, d)
		}
	}
	clear(q.items[len(kept):])
	q.items, q.head = kept, 0
	return len(kept)
}

// delayedFetches are the fetches that wait, in the order in which they came: what a partition says must not depend on
// the order of a map.
type delayedFetches struct {
	waiters []FetchWaiter
	// at is where each waiter is; those that were cancelled leave a hole, a zero FetchWaiter.
	at map[any]int
}

// put adds w, in place of an earlier wait of its Ref.
func (q *delayedFetches) put(w FetchWaiter) {
	if i, waits := q.at[w.Ref]; waits {
		q.waiters[i] = w
		return
	}
	if q.at == nil {
		q.at = make(map[any]int)
	}
	if len(q.waiters) > delayedKeepMax && len(q.waiters) > 2*len(q.at) {
		q.closeHoles()
	}
	q.at[w.Ref] = len(q.waiters)
	q.waiters = append(q.waiters, w)
}

// cancel forgets the waiter of ref, if there is one.
func (q *delayedFetches) cancel(ref any) {
	if i, waits := q.at[ref]; waits {
		q.waiters[i] = FetchWaiter{}
		delete(q.at, ref)
	}
}

// waiting says whether any fetch waits.
func (q *delayedFetches) waiting() bool { return len(q.at) > 0 }

func (q *delayedFetches) closeHoles() {
	kept := q.waiters[:0]
	for _, w := range q.waiters {
		if w.Ref != nil {
			q.at[w.Ref] = len(kept)
			kept = append(kept, w)
		}
	}
	clear(q.waiters[len(kept):])
	q.waiters = kept
}

// takeAll moves the waiters to dst. What a burst of them took is dropped, as with delayedProduces.
func (q *delayedFetches) takeAll(dst []FetchWaiter) []FetchWaiter {
	for _, w := range q.waiters {
		if w.Ref != nil {
			dst = append(dst, w)
		}
	}
	if len(q.waiters) > delayedKeepMax {
		*q = delayedFetches{}
		return dst
	}
	clear(q.waiters)
	clear(q.at)
	q.waiters = q.waiters[:0]
	return dst
}
