package iouring

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// User data, the 64 bits that travel with an operation through the kernel. Never a Go pointer: the collector would
// not see it.
//
//	 63      56 55              32 31               0
//	+----------+------------------+------------------+
//	|   kind   |    generation    |       slot       |
//	+----------+------------------+------------------+
type userData uint64

const (
	generationBits = 24
	generationMask = 1<<generationBits - 1
	// opsMax bounds the operations in flight. 64 k connections with three operations each fit five times.
	opsMax = 1 << 20
)

func packUserData(kind EventKind, generation uint32, slot uint32) userData {
	return userData(kind)<<56 | userData(generation&generationMask)<<32 | userData(slot)
}

func (u userData) kind() EventKind    { return EventKind(u >> 56) }
func (u userData) generation() uint32 { return uint32(u>>32) & generationMask }
func (u userData) slot() uint32       { return uint32(u) }

// Kinds that never reach the caller. They use no slot.
const (
	kindDoorbell EventKind = 0xf0 + iota // the eventfd's multishot poll
	kindMessage                          // what a peer's MSG_RING put into our completion queue
	kindSignal                           // our own MSG_RING; the slot is the peer's index
	kindCancel                           // an ASYNC_CANCEL
)

// op is one operation in flight. While its slot is taken, dst and iov keep the memory the kernel works on reachable:
// the kernel's own pointers into it are numbers to the collector. (Go's collector does not move heap objects, and
// memory stored here has escaped from any stack.)
type op struct {
	dst        []byte       // recv-into, read
	iov        []unix.Iovec // write; kept for reuse when the slot is freed, its pointers cleared
	token      Token
	fd         int32
	generation uint32
	nextFree   uint32 // index + 1 of the next free slot; 0 ends the list
	kind       EventKind
	live       bool
}

// opTable hands out slots for operations in flight. The generation in the user data tells a slot's successive tenants
// apart, so that a completion can never be taken for another operation's.
type opTable struct {
	ops  []op
	free uint32 // index + 1 of the first free slot
	live int
}

// add takes a slot. The pointer is good until the next add.
func (t *opTable) add(kind EventKind, tok Token, fd int) (userData, *op) {
	if t.free == 0 {
		t.grow()
	}
	slot := t.free - 1
	o := &t.ops[slot]
	t.free = o.nextFree
	t.live++
	o.live, o.kind, o.token, o.fd = true, kind, tok, int32(fd)
	return packUserData(kind, o.generation, slot), o
}

func (t *opTable) grow() {
	if len(t.ops) == opsMax {
		panic(fmt.Sprintf("BUG: iouring: more than %d operations in flight", opsMax))
	}
	t.ops = append(t.ops, op{})
	t.free = uint32(len(t.ops))
}

// find returns the operation that u was issued for, or nil if that has ended.
func (t *opTable) find(u userData) *op {
	if uint64(u.slot()) >= uint64(len(t.ops)) {
		return nil
	}
	o := &t.ops[u.slot()]
	if !o.live || o.generation != u.generation() || o.kind != u.kind() {
		return nil
	}
	return o
}

// mustFind is find for completions, each of which must have an operation.
func (t *opTable) mustFind(u userData) *op {
	o := t.find(u)
	if o == nil {
		panic(fmt.Sprintf("BUG: iouring: completion %#x (%s, slot %d, generation %d) has no operation",
			uint64(u), u.kind(), u.slot(), u.generation()))
	}
	return o
}

// remove frees u's slot and lets go of its memory.
func (t *opTable) remove(u userData) {
	o := t.mustFind(u)
	o.live = false
	o.generation = (o.generation + 1) & generationMask
	o.dst = nil
	clear(o.iov)
	o.iov = o.iov[:0]
	o.nextFree = t.free
	t.free = u.slot() + 1
	t.live--
}

// iovMax is the kernel's IOV_MAX (UIO_MAXIOV).
const iovMax = 1024

// setBufs fills o.iov with bufs, leaving out empty ones.
func (o *op) setBufs(bufs [][]byte) { o.iov = appendIovecs(o.iov[:0], bufs) }

func appendIovecs(iov []unix.Iovec, bufs [][]byte) []unix.Iovec {
	for _, b := range bufs {
		if len(iov) == iovMax {
			break
		}
		if len(b) > 0 {
			iov = append(iov, unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))})
		}
	}
	return iov
}
