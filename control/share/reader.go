package share

import (
	"encoding/binary"

	"github.com/ringmill/ringmill/wire"
)

// reader reads the primitives of keys and values. After the first that is damaged all are empty, and failed is set: the
// caller looks once, at the end.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.rest, r.failed = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uvarint() int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<31-1 {
		r.rest, r.failed = nil, true
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// batches reads a compact array; its length is bounded by the bytes that are there.
func (r *reader) batches() []StateBatch {
	n := r.uvarint() - 1
	if n > len(r.rest)/batchBytes {
		r.rest, r.failed = nil, true
	}
	if r.failed || n <= 0 {
		return nil
	}
	list := make([]StateBatch, n)
	for i := range list {
		b := &list[i]
		b.First, b.Last = wire.Offset(r.uint64()), wire.Offset(r.uint64())
		if state := r.take(1); state != nil {
			b.State = RecordState(int8(state[0]))
		}
		b.Deliveries = int16(r.uint16())
		r.tags()
	}
	return list
}

// tags skips tagged fields: there are none yet.
func (r *reader) tags() {
	for range r.uvarint() {
		if r.failed {
			return
		}
		r.uvarint()
		r.take(r.uvarint())
	}
}
