package share

import "github.com/ringmill/ringmill/wire"

// FetchedBatch is a record batch that was read from the log.
type FetchedBatch struct {
	Base, Last wire.Offset // both inclusive
	Aborted    bool        // it belongs to an aborted transaction, and the group reads what is committed
}

// Acquisition asks for records for a member.
type Acquisition struct {
	Member string
	LockMS int64
	// From is where the log was read, Batches what was found there, in order.
	From    wire.Offset
	Batches []FetchedBatch
	// MaxRecords may be exceeded to the end of a batch. A range ends at the end of the batch that makes it BatchSize records.
	MaxRecords, BatchSize int64

	// origin is the run.batch of what the last range was made of.
	origin wire.Offset
}

// neverAcquired is the origin of records that are acquired for the first time.
const neverAcquired wire.Offset = -1

// Acquire gives a member the records of some batches that nobody has and that are not done. As in Kafka the ranges may hold
// offsets without records: compaction leaves such within batches, and control batches are such; the member acknowledges them
// as gaps. What lies between two batches is given up here.
func (p *Partition) Acquire(nowMS int64, a Acquisition) Effects {
	p.begin(nowMS)
	from, taken := a.From, int64(0)
	for i := range a.Batches {
		if taken >= a.MaxRecords {
			break
		}
		b := &a.Batches[i]
		p.archiveMissing(from, b.Base)
		taken += p.acquireBatch(&a, b)
		from = b.Last + 1
	}
	p.advance()
	return p.end()
}

// archiveMissing gives up the records from one offset to before another: the log has none of them any more, or never had.
func (p *Partition) archiveMissing(from, before wire.Offset) {
	for i := p.find(from); i < len(p.runs) && p.runs[i].first < before; i++ {
		if p.runs[i].available() {
			i = p.isolate(i, max(p.runs[i].first, from), min(p.runs[i].last, before-1))
			p.archive(&p.runs[i])
		}
	}
	if p.next < before && p.room() > 0 {
		p.add(before - 1)
		p.archive(&p.runs[len(p.runs)-1])
	}
}

// add begins to keep track of records up to last.
func (p *Partition) add(last wire.Offset) {
	p.runs = append(p.runs, run{first: p.next, last: last, batch: neverAcquired})
	p.next = last + 1
}

// archive gives up records which a restart would give up again: the log need not say so.
func (p *Partition) archive(r *run) { r.state = Archived }

// acquireBatch acquires what is available of a batch, and says how many records that are.
func (p *Partition) acquireBatch(a *Acquisition, b *FetchedBatch) (taken int64) {
	if p.next <= b.Last && p.room() > 0 {
		p.add(b.Last)
	}
	for i := p.find(b.Base); i < len(p.runs) && p.runs[i].first <= b.Last; i++ {
		if !p.runs[i].available() {
			continue
		}
		i = p.isolate(i, max(p.runs[i].first, b.Base), min(p.runs[i].last, b.Last))
		if r := &p.runs[i]; b.Aborted {
			p.archive(r)
		} else {
			p.give(a, r)
			taken += int64(r.last - r.first + 1)
		}
	}
	return taken
}

// give locks a run for its member. It goes with the range before it if that was acquired like it.
func (p *Partition) give(a *Acquisition, r *run) {
	r.state, r.member, r.untilMS = Acquired, a.Member, p.nowMS+a.LockMS
	r.deliveries++
	if n := len(p.fx.Acquired); n > 0 {
		if g := &p.fx.Acquired[n-1]; g.Last+1 == r.first && g.Deliveries == r.deliveries && a.origin == r.batch && int64(r.first-g.First) < a.BatchSize {
			g.Last, r.batch = r.last, g.First
			return
		}
	}
	p.fx.Acquired = append(p.fx.Acquired, AcquiredRange{r.first, r.last, r.deliveries})
	a.origin, r.batch = r.batch, r.first
}
