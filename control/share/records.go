package share

import (
	"encoding/binary"
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// The kinds of records of __share_group_state: a key begins with its kind (CoordinatorRecordType). Values of both have
// version 0.
const (
	snapshotKind = 0
	updateKind   = 1
	valueVersion = 0
)

// stateRecord is a record of __share_group_state. A snapshot says all of a key, an update what has changed since.
type stateRecord struct {
	key    Key
	update bool
	// gone: a tombstone, the key is forgotten; nothing below counts.
	gone bool

	snapshotEpoch int32
	stateEpoch    int32 // of snapshots only
	leaderEpoch   int32 // -1 in an update: as before
	startOffset   wire.Offset
	created       wire.Timestamp // of snapshots only, as written
	written       wire.Timestamp // that of a cold partition's snapshot differs from created
	batches       []StateBatch
}

// RecordError says why a record of __share_group_state cannot be read. The record is left out; those after it may be loaded.
type RecordError struct {
	Reason string // what is wrong with it
}

func (e *RecordError) Error() string { return "share: share state record: " + e.Reason }

func damaged(format string, args ...any) error { return &RecordError{fmt.Sprintf(format, args...)} }

// encode gives the record as Apache Kafka 4.1.1 writes it.
func (r *stateRecord) encode() wire.Record {
	if r.gone {
		return wire.Record{Key: r.encodeKey(snapshotKind)}
	}
	kind := uint16(snapshotKind)
	if r.update {
		kind = updateKind
	}
	return wire.Record{Key: r.encodeKey(kind), Value: r.encodeValue()}
}

func (r *stateRecord) encodeKey(kind uint16) []byte {
	dst := make([]byte, 0, 2+2+len(r.key.Group)+16+4)
	dst = binary.BigEndian.AppendUint16(dst, kind)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.key.Group)))
	dst = append(dst, r.key.Group...)
	dst = append(dst, r.key.Topic[:]...)
	return binary.BigEndian.AppendUint32(dst, uint32(r.key.Partition))
}

// batchBytes is the size of a state batch in a value: offsets, state, deliveries and the count of its tags.
const batchBytes = 8 + 8 + 1 + 2 + 1

func (r *stateRecord) encodeValue() []byte {
	dst := make([]byte, 0, 2+3*4+3*8+5+batchBytes*len(r.batches)+1)
	dst = binary.BigEndian.AppendUint16(dst, valueVersion)
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.snapshotEpoch))
	if !r.update {
		dst = binary.BigEndian.AppendUint32(dst, uint32(r.stateEpoch))
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.leaderEpoch))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.startOffset))
	if !r.update {
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.created))
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.written))
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.batches))+1)
	for _, b := range r.batches {
		dst = binary.BigEndian.AppendUint64(dst, uint64(b.First))
		dst = binary.BigEndian.AppendUint64(dst, uint64(b.Last))
		dst = append(dst, byte(b.State))
		dst = binary.BigEndian.AppendUint16(dst, uint16(b.Deliveries))
		dst = append(dst, 0)
	}
	return append(dst, 0)
}

// readRecord reads what encode wrote. Nothing of rec is kept. The error is a *RecordError.
func readRecord(rec wire.Record) (r stateRecord, err error) {
	kind, err := r.readKey(rec.Key)
	if err != nil {
		return r, err
	}
	r.update = kind == updateKind
	if rec.Value == nil {
		if r.gone = !r.update; r.update {
			return r, damaged("an update without a value")
		}
		return r, nil
	}
	return r, r.readValue(rec.Value)
}

func (r *stateRecord) readKey(src []byte) (kind uint16, err error) {
	in := reader{rest: src}
	kind = in.uint16()
	if kind != snapshotKind && kind != updateKind {
		return 0, damaged("a key of kind %d", kind)
	}
	r.key.Group = string(in.take(int(in.uint16())))
	copy(r.key.Topic[:], in.take(len(r.key.Topic)))
	r.key.Partition = wire.PartitionIndex(in.uint32())
	if in.failed || len(in.rest) > 0 {
		return 0, damaged("a key of %d bytes", len(src))
	}
	return kind, nil
}

func (r *stateRecord) readValue(src []byte) error {
	in := reader{rest: src}
	if v := in.uint16(); v != valueVersion {
		return damaged("a value of version %d", v)
	}
	r.snapshotEpoch = int32(in.uint32())
	if !r.update {
		r.stateEpoch = int32(in.uint32())
	}
	r.leaderEpoch = int32(in.uint32())
	r.startOffset = wire.Offset(in.uint64())
	if !r.update {
		r.created, r.written = wire.Timestamp(in.uint64()), wire.Timestamp(in.uint64())
	}
	r.batches = in.batches()
	in.tags()
	if in.failed {
		return damaged("a value of %d bytes ends early", len(src))
	}
	for _, b := range r.batches {
		if b.First < 0 || b.Last < b.First || !b.plausible() {
			return damaged("records %d to %d in state %d, delivered %d times", b.First, b.Last, b.State, b.Deliveries)
		}
	}
	return nil
}

// plausible says that the state can have been written down.
func (b StateBatch) plausible() bool {
	return (b.State == Available || b.State.done()) && b.Deliveries >= 0
}
