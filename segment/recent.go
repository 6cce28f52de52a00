package segment

import (
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// recentMin is how many batches stay known by exact position whatever their visibility; recentFirst is the ring's first
// capacity, for the many partitions that see a batch now and then. Both are powers of two.
const (
	recentMin   = 128
	recentFirst = 8
)

// recentBatch is where a batch lies. Its segment is the one that holds its last offset.
type recentBatch struct {
	last     wire.Offset
	position int32 // in its segment's .log; Kafka's positions have 31 bits
	length   int32
}

// recentBatches is a ring of the newest batches of a log, oldest first, so that a fetch near the end needs neither an index
// nor a read to know where batches begin. It holds every batch at or above visible, and the newest recentMin below it; it
// starts empty, grows by doubling, and is dropped when the log is idle.
type recentBatches struct {
	ring    []recentBatch // power of two capacity, all of it used as storage
	head    uint32        // number of batches ever dropped from the front, modulo 2³²
	count   uint32
	from    wire.Offset // offsets at or above it are covered; meaningful if count > 0
	visible wire.Offset // below it batches need not be kept beyond recentMin
}

func (r *recentBatches) at(i int) *recentBatch {
	return &r.ring[(r.head+uint32(i))&uint32(len(r.ring)-1)]
}

// push notes a batch that begins at base at the end of the log.
func (r *recentBatches) push(base wire.Offset, b recentBatch) {
	if r.count == 0 {
		r.from = base
	}
	if int(r.count) == len(r.ring) {
		r.makeRoom()
	}
	r.count++
	*r.at(int(r.count) - 1) = b
}

// makeRoom drops the oldest batch if it may go, or doubles the ring.
func (r *recentBatches) makeRoom() {
	if len(r.ring) >= recentMin && r.at(0).last < r.visible {
		r.from = r.at(0).last + 1
		r.head++
		r.count--
		return
	}
	r.resize(max(recentFirst, 2*len(r.ring)))
}

func (r *recentBatches) resize(n int) {
	ring := make([]recentBatch, n)
	for i := range int(r.count) {
		ring[i] = *r.at(i)
	}
	r.ring, r.head = ring, 0
}

// pop forgets the newest batch.
func (r *recentBatches) pop() {
	if r.count > 0 {
		r.count--
	}
}

// find gives the first batch that reaches off: the one that holds it, or the first after it. covered is false if a batch that
// the ring does not know may hold it; b is nil if off is beyond all batches.
func (r *recentBatches) find(off wire.Offset) (b *recentBatch, covered bool) {
	if r.count == 0 || off < r.from {
		return nil, false
	}
	n := int(r.count)
	i := sort.Search(n, func(i int) bool { return r.at(i).last >= off })
	if i == n {
		return nil, true
	}
	return r.at(i), true
}

// release raises visible; a ring that a burst made eight times too large is halved.
func (r *recentBatches) release(below wire.Offset) {
	r.visible = max(r.visible, below)
	for len(r.ring) > recentMin && int(r.count) > recentMin && r.at(0).last < r.visible {
		r.from = r.at(0).last + 1
		r.head++
		r.count--
	}
	if len(r.ring) >= 8*recentMin && int(r.count) <= len(r.ring)/8 {
		r.resize(len(r.ring) / 2)
	}
}

// endBelow is where the batch ends that is before the first one which reaches off; known is false if the ring has no such batch.
func (r *recentBatches) endBelow(off wire.Offset) (end wire.Offset, known bool) {
	i := sort.Search(int(r.count), func(i int) bool { return r.at(i).last >= off })
	if i == 0 {
		return 0, false
	}
	return r.at(i-1).last + 1, true
}

// truncate forgets the batches from the log's new end on.
func (r *recentBatches) truncate(end wire.Offset) {
	for r.count > 0 && r.at(int(r.count)-1).last >= end {
		r.pop()
	}
	r.visible = min(r.visible, end)
}

// drop forgets the batches that end below an offset, whatever their visibility: they lie elsewhere now.
func (r *recentBatches) drop(below wire.Offset) {
	for r.count > 0 && r.at(0).last < below {
		r.from = r.at(0).last + 1
		r.head++
		r.count--
	}
}

// shrink drops what is visible, and gives the bytes that were freed.
func (r *recentBatches) shrink() int {
	if r.count > 0 && r.at(int(r.count)-1).last >= r.visible {
		return 0 // busy after all
	}
	n := cap(r.ring) * 16
	*r = recentBatches{visible: r.visible}
	return n
}
