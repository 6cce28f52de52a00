package cluster

import (
	"fmt"

	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// value is what a record holds: it is written once in a run, by one producer to one partition. 0 is a marker, and what coordinators
// write: the checksum tells those apart.
type value uint64

// valueOf numbers the records of a producer and partition.
func valueOf(producer wire.ProducerID, partition int, counter int) value {
	return value(uint64(producer)<<48 | uint64(partition)<<40 | uint64(counter))
}

func (v value) producer() wire.ProducerID { return wire.ProducerID(v >> 48) }
func (v value) counter() int              { return int(v & (1<<40 - 1)) }

// loose says that its producer asks for acks=1 and is not idempotent: it may come twice, or late.
func (v value) loose() bool {
	return v.producer() >= looseProducers && v.producer() < transactionalProducers
}

// String is producer/partition/counter.
func (v value) String() string {
	return fmt.Sprintf("%d/%d/%d", v.producer(), uint64(v)>>40&0xff, v.counter())
}

// entry is one offset of a log: what must be the same on all replicas once it is below a high watermark.
type entry struct {
	value value
	epoch wire.LeaderEpoch
	crc   uint32 // of its batch
}

// ledger is what clients were told and what replicas have shown: the whole run's memory of one partition. Whatever a replica
// calls committed is noted by offset, once and for all.
type ledger struct {
	world     *world.World
	partition int
	committed []entry
	acked     map[value]wire.Offset // of producers that asked for acks=all
	ackedEnd  wire.Offset           // above every acked offset
	newest    map[wire.ProducerID]ackedValue
	leaders   map[wire.LeaderEpoch]wire.NodeID
}

// ackedValue is the newest acknowledged record of a producer.
type ackedValue struct {
	value  value
	offset wire.Offset
}

func newLedger(w *world.World, partition int) *ledger {
	return &ledger{
		world: w, partition: partition, acked: map[value]wire.Offset{},
		newest: map[wire.ProducerID]ackedValue{}, leaders: map[wire.LeaderEpoch]wire.NodeID{},
	}
}

func (l *ledger) fail(invariant, format string, args ...any) {
	l.world.Fail(invariant, "partition %d: %s", l.partition, fmt.Sprintf(format, args...))
}

// commit notes that who shows e at off below its high watermark (I5, I12: all show the same).
func (l *ledger) commit(who string, off wire.Offset, e entry) {
	switch {
	case off > wire.Offset(len(l.committed)):
		l.fail("I7", "%s has a high watermark above %d, but nobody has committed what is before it", who, off)
	case off == wire.Offset(len(l.committed)):
		l.committed = append(l.committed, e)
	case l.committed[off] != e:
		l.fail("I5", "%s shows %v of epoch %d at offset %d, where %v of epoch %d was committed", who, e.value, e.epoch, off,
			l.committed[off].value, l.committed[off].epoch)
	}
}

// lead notes that a node takes itself for the leader (I8: one a partition and epoch).
func (l *ledger) lead(node wire.NodeID, epoch wire.LeaderEpoch) {
	if other, known := l.leaders[epoch]; known && other != node {
		l.fail("I8", "nodes %d and %d both lead in epoch %d", other, node, epoch)
	}
	l.leaders[epoch] = node
}

// ack notes that a producer was told that v is safe at off. since is ackedEnd when it was first sent (I6).
func (l *ledger) ack(v value, off, since wire.Offset) {
	if old, twice := l.acked[v]; twice && old != off {
		l.fail("I2", "%v was acknowledged at offset %d and at %d", v, old, off)
		return
	}
	if off < since {
		l.fail("I6", "%v is at offset %d, but was sent after offset %d had been acknowledged", v, off, since-1)
		return
	}
	if last, known := l.newest[v.producer()]; known && last.value < v && last.offset >= off {
		l.fail("I4", "%v is at offset %d, %v before it at %d", v, off, last.value, last.offset)
		return
	}
	l.acked[v] = off
	l.ackedEnd = max(l.ackedEnd, off+1)
	l.newest[v.producer()] = ackedValue{v, off}
	if off >= wire.Offset(len(l.committed)) {
		l.fail("I1", "%v was acknowledged at offset %d, above every high watermark", v, off)
	} else if l.committed[off].value != v {
		l.fail("I1", "%v was acknowledged at offset %d, where %v is", v, off, l.committed[off].value)
	}
}

// read notes what a consumer got at an offset.
func (l *ledger) read(who string, off wire.Offset, e entry) {
	switch {
	case off >= wire.Offset(len(l.committed)):
		l.fail("I7", "%s read offset %d, above every high watermark", who, off)
	case l.committed[off] != e:
		l.fail("I5", "%s read %v of epoch %d at offset %d, where %v of epoch %d was committed", who, e.value, e.epoch, off,
			l.committed[off].value, l.committed[off].epoch)
	}
}

// final judges a replica's whole log after the run (I1, I2, I4, I12).
func (l *ledger) final(who string, log []entry) {
	if len(log) < len(l.committed) {
		l.fail("I1", "%s ends at offset %d, committed is %d", who, len(log), len(l.committed))
		return
	}
	for off, e := range log {
		if off < len(l.committed) {
			l.commit(who, wire.Offset(off), e)
		}
	}
	last, at := map[wire.ProducerID]value{}, map[value]int{}
	for off, e := range log {
		if e.value.loose() || e.value == 0 {
			continue
		}
		if before, twice := at[e.value]; twice {
			l.fail("I2", "%s has %v at offsets %d and %d", who, e.value, before, off)
			return
		}
		at[e.value] = off
		if before, known := last[e.value.producer()]; known && before > e.value {
			l.fail("I4", "%s has %v at offset %d, behind %v", who, e.value, off, before)
			return
		}
		last[e.value.producer()] = e.value
	}
	for off, e := range log {
		if want, acked := l.acked[e.value]; acked && want != wire.Offset(off) {
			l.fail("I1", "%s has %v at offset %d, acknowledged at %d", who, e.value, off, want)
			return
		}
	}
	if missing := l.missing(at); missing != "" {
		l.fail("I1", "%s lacks %s", who, missing)
	}
}

// missing names the first acknowledged record, by offset, that a log lacks.
func (l *ledger) missing(have map[value]int) string {
	first, lacking := value(0), 0
	for v, off := range l.acked {
		if _, ok := have[v]; !ok {
			if lacking == 0 || off < l.acked[first] {
				first = v
			}
			lacking++
		}
	}
	if lacking == 0 {
		return ""
	}
	return fmt.Sprintf("%d acknowledged records, the first %v at offset %d", lacking, first, l.acked[first])
}

// entriesOf gives the entries of batches as they lie in a log, and the offset of the first.
func entriesOf(batches []byte, each func(off wire.Offset, e entry)) error {
	for len(batches) > 0 {
		b, tail, err := wire.ReadRecordBatch(batches)
		if err != nil {
			return err
		}
		if err := b.Check(); err != nil {
			return err
		}
		batches = tail
		it, err := b.Records(nil)
		if err != nil {
			return err
		}
		for r, ok := it.Next(); ok; r, ok = it.Next() {
			each(b.BaseOffset()+wire.Offset(r.OffsetDelta), entry{value: readValue(r.Value), epoch: b.PartitionLeaderEpoch(), crc: b.CRC()})
		}
		if err := it.Err(); err != nil {
			return err
		}
	}
	return nil
}
