package share

import (
	"slices"
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// run is what has become of some records that follow one another.
type run struct {
	first, last wire.Offset // both inclusive
	// batch is the first offset of the range that the records were acquired as: neighbours of other ranges stay apart.
	batch      wire.Offset
	state      RecordState
	deliveries int16
	// member and untilMS are whose the lock is and when it ends, while the records are acquired.
	member  string
	untilMS int64

	// pending says that the state counts when it is in the log; before is what it goes back to if that fails.
	pending bool
	before  lock
	// dirty says that the state is not on its way to the log, write which write has it, 0 if none has.
	dirty bool
	write uint64
}

// lock is a member's hold on acquired records.
type lock struct {
	member     string
	untilMS    int64
	deliveries int16
}

// available says that the records may be acquired.
func (r *run) available() bool { return r.state == Available && !r.pending }

// locked says that a member has the records and has not said what became of them.
func (r *run) locked() bool { return r.state == Acquired }

// change gives the records another state, which is to go to the log.
func (r *run) change(to RecordState, deliveries int16) {
	r.state, r.deliveries, r.member, r.untilMS = to, deliveries, "", 0
	r.dirty, r.write = true, 0
}

// join makes one run of neighbours that are alike, so that there are no more runs than there is to say.
func (p *Partition) join() {
	if len(p.runs) < 2 {
		return
	}
	kept := p.runs[:1]
	for _, r := range p.runs[1:] {
		if last := &kept[len(kept)-1]; last.joins(&r) {
			last.last = r.last
		} else {
			kept = append(kept, r)
		}
	}
	clear(p.runs[len(kept):])
	p.runs = kept
}

// joins says that nothing tells the records of r from its neighbour's. How often records that are done were delivered is in
// the log, and of no further interest.
func (r *run) joins(next *run) bool {
	if r.pending || next.pending || r.dirty || next.dirty || r.write != next.write || r.state != next.state {
		return false
	}
	if r.state.done() {
		return r.write == 0
	}
	return r.batch == next.batch && r.deliveries == next.deliveries && r.member == next.member && r.untilMS == next.untilMS
}

// find gives the index of the run that holds off or, if none does, of the first beyond it.
func (p *Partition) find(off wire.Offset) int {
	return sort.Search(len(p.runs), func(i int) bool { return p.runs[i].last >= off })
}

// isolate cuts runs so that one covers exactly first to last, which lie in run i, and gives its index.
func (p *Partition) isolate(i int, first, last wire.Offset) int {
	if p.runs[i].first < first {
		p.cut(i, first)
		i++
	}
	if p.runs[i].last > last {
		p.cut(i, last+1)
	}
	return i
}

// cut makes two of run i, the second from at on.
func (p *Partition) cut(i int, at wire.Offset) {
	second := p.runs[i]
	second.first = at
	p.runs[i].last = at - 1
	p.runs = slices.Insert(p.runs, i+1, second)
}
