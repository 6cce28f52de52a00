package share

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// naiveRecord is what has become of one record.
type naiveRecord struct {
	state      RecordState
	deliveries int16
	member     string
	untilMS    int64
	pending    bool
	before     lock
}

// naive is a share partition record by record: the same rules, told the simplest way.
type naive struct {
	cfg         PartitionConfig
	start, next wire.Offset
	records     map[wire.Offset]*naiveRecord
	nowMS       int64
}

func (n *naive) each(first, last wire.Offset, f func(wire.Offset, *naiveRecord)) {
	for off := max(first, n.start); off <= min(last, n.next-1); off++ {
		f(off, n.records[off])
	}
}

func (n *naive) advance() {
	for n.start < n.next && n.records[n.start].state.done() && !n.records[n.start].pending {
		delete(n.records, n.start)
		n.start++
	}
}

func (n *naive) acquire(a *Acquisition) (got map[wire.Offset]int16) {
	got = map[wire.Offset]int16{}
	from := a.From
	for _, b := range a.Batches {
		if int64(len(got)) >= a.MaxRecords {
			break
		}
		n.each(from, b.Base-1, func(_ wire.Offset, r *naiveRecord) {
			if r.state == Available && !r.pending {
				r.state = Archived
			}
		})
		if n.room() > 0 {
			for ; n.next < b.Base; n.next++ {
				n.records[n.next] = &naiveRecord{state: Archived}
			}
		}
		if n.room() > 0 {
			for ; n.next <= b.Last; n.next++ {
				n.records[n.next] = &naiveRecord{}
			}
		}
		n.each(b.Base, b.Last, func(off wire.Offset, r *naiveRecord) {
			switch {
			case r.state != Available || r.pending:
			case b.Aborted:
				r.state = Archived
			default:
				r.state, r.member, r.untilMS = Acquired, a.Member, n.nowMS+a.LockMS
				r.deliveries++
				got[off] = r.deliveries
			}
		})
		from = b.Last + 1
	}
	n.advance()
	return got
}

func (n *naive) room() int64 { return n.cfg.MaxRecordLocks - int64(n.next-n.start) }

func (n *naive) acknowledge(member string, acks []Acknowledgement) bool {
	for _, a := range acks {
		if a.Last < n.start {
			continue
		}
		if a.Last >= n.next {
			return false
		}
		ok := true
		n.each(a.First, a.Last, func(_ wire.Offset, r *naiveRecord) { ok = ok && r.state == Acquired && r.member == member })
		if !ok {
			return false
		}
	}
	for _, a := range acks {
		n.each(a.First, a.Last, func(off wire.Offset, r *naiveRecord) {
			to := map[AcknowledgeType]RecordState{Gap: Archived, Accept: Acknowledged, Release: Available, Reject: Archived}[a.typeOf(off)]
			if to == Available && r.deliveries >= n.cfg.MaxDeliveries {
				to = Archived
			}
			r.suspend(to, r.deliveries)
		})
	}
	return true
}

func (r *naiveRecord) suspend(to RecordState, deliveries int16) {
	r.pending, r.before = true, lock{r.member, r.untilMS, r.deliveries}
	r.state, r.deliveries, r.member, r.untilMS = to, deliveries, "", 0
}

func (n *naive) release(member string) {
	n.each(n.start, n.next, func(_ wire.Offset, r *naiveRecord) {
		if r.state == Acquired && r.member == member {
			r.suspend(Available, r.deliveries-1)
		}
	})
}

func (n *naive) tick() {
	n.each(n.start, n.next, func(_ wire.Offset, r *naiveRecord) {
		if r.state != Acquired || r.untilMS > n.nowMS {
			return
		}
		if r.state, r.member, r.untilMS = Available, "", 0; r.deliveries >= n.cfg.MaxDeliveries {
			r.state = Archived
		}
	})
	n.advance()
}

// visible is what can be told of a record from outside.
type visible struct {
	State      RecordState
	Deliveries int16
	Member     string
	UntilMS    int64
	Pending    bool
}

func (n *naive) visible() map[wire.Offset]visible {
	all := map[wire.Offset]visible{}
	n.each(n.start, n.next, func(off wire.Offset, r *naiveRecord) {
		all[off] = visible{r.state, r.deliveries, r.member, r.untilMS, r.pending}.told()
	})
	return all
}

// told leaves out how often a record was delivered that is done.
func (v visible) told() visible {
	if v.State.done() {
		v.Deliveries = 0
	}
	return v
}

func (p *Partition) visible() map[wire.Offset]visible {
	all := map[wire.Offset]visible{}
	for _, r := range p.runs {
		for off := r.first; off <= r.last; off++ {
			all[off] = visible{r.state, r.deliveries, r.member, r.untilMS, r.pending}.told()
		}
	}
	return all
}

// partitionRun drives a Partition and a naive one side by side, over a StateCoordinator whose writes may fail.
type partitionRun struct {
	t      *testing.T
	random *rand.Rand
	p      *Partition
	n      *naive
	nowMS  int64
	log    []FetchedBatch // the batches there are
	// durable is the state in the share coordinator, settled the records whose acceptance was reported.
	durable Result
	settled map[wire.Offset]bool
	given   map[wire.Offset]bool // records that were delivered
	write   *StateWrite
	asked   map[Handle][]Acknowledgement
	next    Handle
}

var runMembers = []string{"m1", "m2", "m3"}

func newPartitionRun(t *testing.T, seed uint64) *partitionRun {
	r := &partitionRun{t: t, random: rand.New(rand.NewPCG(seed, 3)), settled: map[wire.Offset]bool{}, given: map[wire.Offset]bool{}}
	r.durable.StartOffset = wire.NoOffset
	r.restart()
	return r
}

func (r *partitionRun) restart() {
	cfg := PartitionConfig{MaxDeliveries: 3, MaxRecordLocks: 25}
	r.n = &naive{cfg: cfg, records: map[wire.Offset]*naiveRecord{}, nowMS: r.nowMS}
	r.asked, r.write = map[Handle][]Acknowledgement{}, nil
	p, fx := NewPartition(r.nowMS, cfg, 1, r.durable, 5)
	r.p = p
	r.n.start = max(r.durable.StartOffset, 0)
	if r.durable.StartOffset == wire.NoOffset {
		r.n.start = 5
	}
	r.n.next = r.n.start
	for _, b := range r.durable.Batches {
		for ; r.n.next <= b.Last; r.n.next++ {
			r.n.records[r.n.next] = &naiveRecord{}
		}
		r.n.each(b.First, b.Last, func(_ wire.Offset, rec *naiveRecord) { rec.state, rec.deliveries = b.State, b.Deliveries })
	}
	r.n.advance()
	r.apply(fx)
}

// produce adds a batch to the log, sometimes after a gap.
func (r *partitionRun) produce() {
	base := wire.Offset(0)
	if n := len(r.log); n > 0 {
		base = r.log[n-1].Last + 1
	}
	if r.random.IntN(6) == 0 {
		base += wire.Offset(1 + r.random.IntN(4))
	}
	r.log = append(r.log, FetchedBatch{base, base + wire.Offset(r.random.IntN(6)), r.random.IntN(8) == 0})
}

// compact removes a batch, so that its offsets become a gap.
func (r *partitionRun) compact() {
	if len(r.log) > 2 {
		i := r.random.IntN(len(r.log) - 1)
		r.log = append(r.log[:i:i], r.log[i+1:]...)
	}
}

func (r *partitionRun) fetch() {
	from, ok := r.p.BeginFetch()
	if !ok {
		return
	}
	defer r.p.EndFetch()
	a := Acquisition{
		Member: runMembers[r.random.IntN(3)], LockMS: 100, From: from, MaxRecords: int64(1 + r.random.IntN(20)), BatchSize: int64(1 + r.random.IntN(8)),
	}
	for _, b := range r.log {
		if b.Last >= from && len(a.Batches) < 4 {
			a.Batches = append(a.Batches, b)
		}
	}
	if len(a.Batches) == 0 {
		return
	}
	want := r.n.acquire(&a)
	fx := r.p.Acquire(r.nowMS, a)
	got := map[wire.Offset]int16{}
	for _, rng := range fx.Acquired {
		for off := rng.First; off <= rng.Last; off++ {
			got[off] = rng.Deliveries
			r.given[off] = true
			if r.settled[off] {
				r.t.Fatalf("record %d is delivered again after it was accepted", off)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		r.t.Fatalf("%+v gave %v, want %v", a, got, want)
	}
	r.apply(fx)
}

// acknowledge says something of records that some member has, or of others.
func (r *partitionRun) acknowledge() {
	member := runMembers[r.random.IntN(3)]
	var acks []Acknowledgement
	for i := range r.p.runs {
		run := &r.p.runs[i]
		if run.member != member && r.random.IntN(40) > 0 || r.random.IntN(3) == 0 {
			continue
		}
		first := run.first + wire.Offset(r.random.IntN(int(run.last-run.first+1)))
		last := first + wire.Offset(r.random.IntN(int(run.last-first+1)))
		acks = append(acks, Acknowledgement{First: first, Last: last, Types: r.types(int(last - first + 1))})
	}
	if len(acks) == 0 || !CheckAcknowledgements(acks) {
		return
	}
	r.next++
	ok := r.n.acknowledge(member, acks)
	fx := r.p.Acknowledge(r.nowMS, r.next, member, acks)
	if refused := len(fx.Done) > 0 && fx.Done[0].Code != wire.None; refused == ok {
		r.t.Fatalf("%s acknowledges %+v: %+v, want it to be fine: %v", member, acks, fx.Done, ok)
	}
	r.asked[r.next] = acks
	r.apply(fx)
}

func (r *partitionRun) types(n int) []int8 {
	types := make([]int8, n)
	if r.random.IntN(2) == 0 {
		types = types[:1]
	}
	for i := range types {
		types[i] = int8(r.random.IntN(4))
	}
	return types
}

// apply keeps the write that a partition wants, and notes what was reported as accepted.
func (r *partitionRun) apply(fx Effects) {
	for _, d := range fx.Done {
		if d.Code == wire.None {
			r.accepted(r.asked[d.Handle])
		}
		delete(r.asked, d.Handle)
	}
	if fx.Write != nil {
		if r.write != nil {
			r.t.Fatal("two writes at once")
		}
		r.write = fx.Write
	}
	if !reflect.DeepEqual(r.p.visible(), r.n.visible()) || r.p.start != r.n.start || r.p.next != r.n.next {
		r.t.Fatalf("from %d to %d: %v\nwant %d to %d: %v", r.p.start, r.p.next, r.p.visible(), r.n.start, r.n.next, r.n.visible())
	}
	if want := r.nextTick(); fx.NextTickMS != want {
		r.t.Fatalf("next tick %d, want %d", fx.NextTickMS, want)
	}
}

func (r *partitionRun) nextTick() int64 {
	next := int64(math.MaxInt64)
	for _, v := range r.n.visible() {
		if v.State == Acquired {
			next = min(next, v.UntilMS)
		}
	}
	return next
}

func (r *partitionRun) accepted(acks []Acknowledgement) {
	for _, a := range acks {
		for off := a.First; off <= a.Last; off++ {
			if a.typeOf(off) == Accept {
				r.settled[off] = true
			}
		}
	}
}

// settleWrite ends the write under way, well or not. The pending records that it holds are those of the naive partition that
// were pending when it was made; as a write takes all of them, those that came later are told apart by what is dirty.
func (r *partitionRun) settleWrite(ok bool) {
	w := r.write
	if w == nil {
		return
	}
	r.write = nil
	code := wire.KafkaStorageError
	if ok {
		code = wire.None
		r.durable.StartOffset = w.StartOffset
		r.durable.Batches = combine(append(r.durable.Batches, w.Batches...), w.StartOffset)
	}
	inWrite := map[wire.Offset]bool{}
	for _, run := range r.p.runs {
		for off := run.first; off <= run.last; off++ {
			inWrite[off] = run.pending && !run.dirty
		}
	}
	r.n.each(r.n.start, r.n.next, func(off wire.Offset, rec *naiveRecord) {
		switch {
		case !inWrite[off]:
		case ok:
			rec.pending, rec.before = false, lock{}
		default:
			rec.state, rec.pending = Acquired, false
			rec.member, rec.untilMS, rec.deliveries = rec.before.member, rec.before.untilMS, rec.before.deliveries
		}
	})
	r.n.advance()
	r.apply(r.p.Written(r.nowMS, code, "no"))
}

func (r *partitionRun) step() {
	r.nowMS += r.random.Int64N(15)
	r.n.nowMS = r.nowMS
	switch r.random.IntN(20) {
	case 0, 1, 2:
		r.produce()
	case 3, 4, 5, 6, 7:
		r.fetch()
	case 8, 9, 10, 11:
		r.acknowledge()
	case 12, 13, 14:
		r.settleWrite(r.random.IntN(5) > 0)
	case 15:
		r.next++
		member := runMembers[r.random.IntN(3)]
		r.n.release(member)
		r.apply(r.p.Release(r.nowMS, r.next, member))
	case 16, 17:
		r.n.tick()
		r.apply(r.p.Tick(r.nowMS))
	case 18:
		r.compact()
	case 19:
		if r.random.IntN(4) == 0 {
			r.restart()
		}
	}
}

// drain consumes all that is left and accepts it.
func (r *partitionRun) drain() {
	for range 10_000 {
		r.settleWrite(true)
		r.nowMS += 101
		r.n.nowMS = r.nowMS
		r.n.tick()
		r.apply(r.p.Tick(r.nowMS))
		r.settleWrite(true)
		r.fetch()
		for _, member := range runMembers {
			r.acceptAll(member)
			r.settleWrite(true)
		}
		if last := r.log[len(r.log)-1].Last; r.p.start > last {
			return
		}
	}
	r.t.Fatalf("from %d to %d is never done, of %d", r.p.start, r.p.next, r.log[len(r.log)-1].Last)
}

func (r *partitionRun) acceptAll(member string) {
	var acks []Acknowledgement
	for _, run := range r.p.runs {
		if run.member == member {
			acks = append(acks, Acknowledgement{First: run.first, Last: run.last, Types: []int8{int8(Accept)}})
		}
	}
	if len(acks) == 0 {
		return
	}
	r.next++
	r.n.acknowledge(member, acks)
	fx := r.p.Acknowledge(r.nowMS, r.next, member, acks)
	r.asked[r.next] = acks
	r.apply(fx)
}

// TestPartitionAgainstRecords runs random members, failing writes, locks that end, compaction and restarts. Each record is
// as the naive partition has it; none is delivered after its acceptance was reported; all are done in the end, and of those that
// were never given up none was left out.
func TestPartitionAgainstRecords(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newPartitionRun(t, seed)
			for range 400 {
				r.step()
			}
			r.produce()
			r.drain()
			for _, b := range r.log {
				for off := max(b.Base, 5); off <= b.Last; off++ {
					if !b.Aborted && !r.given[off] {
						t.Fatalf("record %d was never delivered", off)
					}
				}
			}
		})
	}
}
