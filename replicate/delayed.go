package replicate

import "github.com/ringmill/ringmill/wire"

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
