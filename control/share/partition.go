package share

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/ringmill/ringmill/wire"
)

// PartitionConfig holds what a share partition needs to know of the broker's properties. The names in the comments are Kafka's.
type PartitionConfig struct {
	MaxDeliveries  int16 // group.share.delivery.count.limit: a record that was delivered so often is given up
	MaxRecordLocks int64 // group.share.partition.max.record.locks: how many records may be in flight
}

// Partition is a share partition: what has become of each record from Start to Next in one share group. It has one owner, who
// makes all calls.
type Partition struct {
	cfg                     PartitionConfig
	stateEpoch, leaderEpoch int32

	// start is the first record that is not done, next the first that was never acquired; runs cover what lies between.
	start, next wire.Offset
	runs        []run

	// fetching says that somebody reads the log for it: one at a time.
	fetching bool

	// unwritten says that there is something for the log; write numbers the writes, and written is the last that has
	// ended. acks wait for the next write, writing for the one under way.
	unwritten      bool
	write, written uint64
	acks, writing  []Handle

	nowMS int64
	fx    Effects
}

// Effects is what the caller has to do after a call. The slices belong to the caller.
type Effects struct {
	// Acquired are the records that Acquire gave to its member, in the order of their offsets.
	Acquired []AcquiredRange
	// Write is to be written to the key's state, nil if there is nothing; the outcome is told by Written. One is under way
	// at most.
	Write *StateWrite
	// Done answers Acknowledge and Release.
	Done []Done
	// Woken says that records may be acquired which could not be before.
	Woken bool
	// Fenced says that another has the state: the partition is to be dropped.
	Fenced bool
	// NextTickMS is when Tick is due, monotonic; calling it earlier does no harm. math.MaxInt64: there is nothing to wait for.
	NextTickMS int64
	// Held is how many runs of records there may come to be, each RunBytes large, by acknowledgements of single records.
	Held int64
	// InFlight are the records from Start to Next (Kafka's in-flight records, which MaxRecordLocks bounds).
	InFlight int64
}

// RunBytes is what a run of records takes.
const RunBytes = int64(unsafe.Sizeof(run{}))

// AcquiredRange is a run of records that a member was given, and how often they were delivered, this time included.
type AcquiredRange struct {
	First, Last wire.Offset // both inclusive
	Deliveries  int16
}

// StateWrite is a change of a share partition's state.
type StateWrite struct {
	StateEpoch, LeaderEpoch int32
	StartOffset             wire.Offset
	Batches                 []StateBatch
}

// Done is the outcome of an Acknowledge or a Release: none, or why it did not change anything.
type Done struct {
	Handle  Handle
	Code    wire.ErrorCode
	Message string
}

// NewPartition makes a share partition from what the share coordinator has of it. A state without a start offset begins at
// initial, which is written at once: a restart before the first acknowledgement would find another one.
func NewPartition(nowMS int64, cfg PartitionConfig, leaderEpoch int32, state Result, initial wire.Offset) (*Partition, Effects) {
	p := &Partition{cfg: cfg, stateEpoch: state.StateEpoch, leaderEpoch: leaderEpoch, start: state.StartOffset}
	p.begin(nowMS)
	if p.start == wire.NoOffset {
		p.start, p.unwritten = initial, true
	}
	p.next = p.start
	for _, b := range combine(state.Batches, p.start) {
		p.cover(b)
	}
	p.advance()
	return p, p.end()
}

// cover adds a batch of the state. Of what lies before it the state says nothing: it was acquired, or never read.
func (p *Partition) cover(b StateBatch) {
	if b.First > p.next {
		p.runs = append(p.runs, run{first: p.next, last: b.First - 1, batch: p.next})
	}
	p.runs = append(p.runs, run{first: b.First, last: b.Last, batch: b.First, state: b.State, deliveries: b.Deliveries})
	p.next = b.Last + 1
}

// Start is the first record that is not done.
func (p *Partition) Start() wire.Offset { return p.start }

// Next is the first record that was never acquired.
func (p *Partition) Next() wire.Offset { return p.next }

// BeginFetch says where to read the log for records that may be acquired; false if there are none, or somebody reads
// already. It is to be followed by EndFetch.
func (p *Partition) BeginFetch() (from wire.Offset, ok bool) {
	if p.fetching {
		return 0, false
	}
	from = p.next
	for i := range p.runs {
		if p.runs[i].available() {
			from = p.runs[i].first
			break
		}
	}
	if from == p.next && p.room() <= 0 {
		return 0, false
	}
	p.fetching = true
	return from, true
}

// EndFetch lets the next one read.
func (p *Partition) EndFetch() {
	if !p.fetching {
		panic("BUG: nobody reads the share partition")
	}
	p.fetching = false
}

// room is how many records that were never acquired may be.
func (p *Partition) room() int64 { return p.cfg.MaxRecordLocks - int64(p.next-p.start) }

// Tick ends the locks that are over.
func (p *Partition) Tick(nowMS int64) Effects {
	p.begin(nowMS)
	for i := range p.runs {
		if r := &p.runs[i]; r.locked() && r.untilMS <= p.nowMS {
			p.release(r, r.deliveries)
		}
	}
	p.advance()
	return p.end()
}

// LogStartMoved says that the log starts at off: records below it are gone, whoever has them.
func (p *Partition) LogStartMoved(nowMS int64, off wire.Offset) Effects {
	p.begin(nowMS)
	if off > p.start {
		p.cutBelow(off)
		p.fx.Woken = true
	}
	p.advance()
	return p.end()
}

func (p *Partition) cutBelow(off wire.Offset) {
	p.start, p.next = off, max(p.next, off)
	gone := 0
	for gone < len(p.runs) && p.runs[gone].last < off {
		gone++
	}
	p.runs = p.runs[gone:]
	if len(p.runs) > 0 {
		p.runs[0].first = max(p.runs[0].first, off)
	}
}

func (p *Partition) begin(nowMS int64) {
	p.nowMS, p.fx = max(nowMS, p.nowMS), Effects{}
}

func (p *Partition) end() Effects {
	p.join()
	p.persist()
	p.check()
	p.fx.NextTickMS, p.fx.InFlight = math.MaxInt64, int64(p.next-p.start)
	for i := range p.runs {
		p.fx.Held++
		if r := &p.runs[i]; r.locked() {
			p.fx.NextTickMS = min(p.fx.NextTickMS, r.untilMS)
			p.fx.Held += int64(r.last - r.first)
		}
	}
	return p.fx
}

// advance moves the start over records that are done.
func (p *Partition) advance() {
	done := 0
	for done < len(p.runs) && p.runs[done].state.done() && !p.runs[done].pending {
		done++
	}
	if done == 0 {
		return
	}
	p.fx.Woken = true
	p.start = p.runs[done-1].last + 1
	p.runs = p.runs[done:]
}

// check panics if an invariant of doc.go does not hold.
func (p *Partition) check() {
	at := p.start
	for i := range p.runs {
		r := &p.runs[i]
		switch {
		case r.first != at || r.last < r.first:
			p.broken("S1", r, "runs do not follow one another")
		case (r.state == Acquired) != (r.member != ""):
			p.broken("S3", r, "a lock without an owner, or an owner without a lock")
		case i == 0 && r.state.done() && !r.pending:
			p.broken("S2", r, "the start is done")
		}
		at = r.last + 1
	}
	if at != p.next {
		panic(fmt.Sprintf("BUG: invariant S1: share partition from %d: runs end at %d, next is %d", p.start, at, p.next))
	}
}

func (p *Partition) broken(name string, r *run, what string) {
	panic(fmt.Sprintf("BUG: invariant %s: share partition %d to %d: run %d to %d, %s: %s", name, p.start, p.next, r.first, r.last, r.state, what))
}
