package bench

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Fault is a record that is not as it was acknowledged.
type Fault struct {
	// Kind is lost, doubled, reordered, corrupt or aborted.
	Kind      string `json:"kind"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"` // -1 of what is lost
	Producer  int    `json:"producer"`
	Sequence  int64  `json:"sequence"` // of the producer's records of this partition; -1 if it cannot be read
}

func (f Fault) String() string {
	return fmt.Sprintf("%s: partition %d, offset %d, producer %d, sequence %d", f.Kind, f.Partition, f.Offset, f.Producer, f.Sequence)
}

// Kinds of faults. Lost is acknowledged and not there; aborted belongs to a transaction that was aborted and is there.
const (
	FaultLost      = "lost"
	FaultDoubled   = "doubled"
	FaultReordered = "reordered"
	FaultCorrupt   = "corrupt"
	FaultAborted   = "aborted"
)

// faultsKept bounds the faults that are told one by one; all are counted.
const faultsKept = 20

// fate is what is known of a record, as bits.
type fate uint8

const (
	acknowledged fate = 1 << iota
	aborted
	stored
)

// ledger holds what became of every record of a verification. A record whose end nobody knows, because its producer was told of an error or of
// nothing, may be there once, or not at all.
type ledger struct {
	run        uint64 // in every record, so that those of others are told apart
	producers  int
	partitions int32

	mu      sync.Mutex
	streams []stream // by producer, then partition
	counts  map[string]int64
	kept    []Fault
}

// stream is the records of one producer in one partition, by sequence number.
type stream struct {
	fates []fate
	last  int64 // greatest sequence number read so far, -1 before
}

func newLedger(run uint64, producers, partitions int) *ledger {
	l := &ledger{run: run, producers: producers, partitions: int32(partitions), streams: make([]stream, producers*partitions), counts: map[string]int64{}}
	for i := range l.streams {
		l.streams[i].last = -1
	}
	return l
}

func (l *ledger) stream(producer int, partition int32) *stream {
	return &l.streams[producer*int(l.partitions)+int(partition)]
}

// A record's value: the run (8 bytes), the producer (4), the partition (4), the sequence number (8), CRC-32C of all the rest (4), filling.
const (
	ledgerSumAt  = 24
	ledgerHeader = 28
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ledgerSum is the checksum of a value without the place of the checksum.
func ledgerSum(value []byte) uint32 {
	return crc32.Update(crc32.Checksum(value[:ledgerSumAt], castagnoli), castagnoli, value[ledgerHeader:])
}

// next makes the value of a producer's next record of a partition in place, which is filled already, and gives its sequence number.
func (l *ledger) next(producer int, partition int32, value []byte) int64 {
	l.mu.Lock()
	s := l.stream(producer, partition)
	sequence := int64(len(s.fates))
	s.fates = append(s.fates, 0)
	l.mu.Unlock()
	binary.BigEndian.PutUint64(value, l.run)
	binary.BigEndian.PutUint32(value[8:], uint32(producer))
	binary.BigEndian.PutUint32(value[12:], uint32(partition))
	binary.BigEndian.PutUint64(value[16:], uint64(sequence))
	binary.BigEndian.PutUint32(value[ledgerSumAt:], ledgerSum(value))
	return sequence
}

// ended notes what a record's producer was told.
func (l *ledger) ended(producer int, partition int32, sequence int64, f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream(producer, partition).fates[sequence] |= f
}

// read takes a record that is stored, partition by partition in the order of offsets.
func (l *ledger) read(r *kgo.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := r.Value
	if len(v) < ledgerHeader || ledgerSum(v) != binary.BigEndian.Uint32(v[ledgerSumAt:]) || binary.BigEndian.Uint64(v) != l.run ||
		binary.BigEndian.Uint32(v[8:]) >= uint32(l.producers) || binary.BigEndian.Uint32(v[12:]) != uint32(r.Partition) {
		l.fault(Fault{FaultCorrupt, r.Partition, r.Offset, -1, -1})
		return
	}
	producer, sequence := int(binary.BigEndian.Uint32(v[8:])), int64(binary.BigEndian.Uint64(v[16:]))
	s := l.stream(producer, r.Partition)
	f := Fault{Partition: r.Partition, Offset: r.Offset, Producer: producer, Sequence: sequence}
	if sequence < 0 || sequence >= int64(len(s.fates)) { // nobody has sent that
		f.Kind = FaultCorrupt
		l.fault(f)
		return
	}
	switch {
	case s.fates[sequence]&stored != 0:
		f.Kind = FaultDoubled
		l.fault(f)
	case sequence < s.last:
		f.Kind = FaultReordered
		l.fault(f)
	}
	if s.fates[sequence]&aborted != 0 {
		f.Kind = FaultAborted
		l.fault(f)
	}
	s.fates[sequence] |= stored
	s.last = max(s.last, sequence)
}

func (l *ledger) fault(f Fault) {
	l.counts[f.Kind]++
	if len(l.kept) < faultsKept {
		l.kept = append(l.kept, f)
	}
}

// verdict counts, after all has been read, and finds what is lost.
func (l *ledger) verdict() *Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := new(Verdict)
	for i := range l.streams {
		for sequence, f := range l.streams[i].fates {
			v.Sent++
			switch {
			case f&acknowledged != 0:
				v.Acknowledged++
				if f&stored == 0 {
					l.fault(Fault{FaultLost, int32(i) % l.partitions, -1, i / int(l.partitions), int64(sequence)})
				}
			case f&aborted != 0:
				v.Aborted++
			default:
				v.Unknown++
				if f&stored != 0 {
					v.UnknownStored++
				}
			}
			if f&stored != 0 {
				v.Stored++
			}
		}
	}
	v.Lost, v.Doubled, v.Reordered = l.counts[FaultLost], l.counts[FaultDoubled], l.counts[FaultReordered]
	v.Corrupt, v.AbortedStored = l.counts[FaultCorrupt], l.counts[FaultAborted]
	v.Faults = append([]Fault{}, l.kept...)
	return v
}
