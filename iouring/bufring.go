package iouring

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	abi "github.com/iceber/iouring-go/syscall"
)

// bufferGroup is the id of the one provided-buffer group of an engine.
const bufferGroup = 1

// bufferPool is the memory of an engine's receive buffers and who holds each. Both engines use it; the ring engine
// publishes the free ones to the kernel by a bufRing, the epoll engine keeps them in a free list.
type bufferPool struct {
	mem  []byte
	size int
	held []bool // by the caller, between an EventRecv and its ReleaseBuffer
}

func newBufferPool(count, size int) (*bufferPool, error) {
	if count <= 0 || count > 1<<15 || count&(count-1) != 0 {
		return nil, fmt.Errorf("iouring: %d receive buffers: not a power of two up to 32768", count)
	}
	mem, err := Map(count*size, NotInCores, NotInChildren)
	if err != nil {
		return nil, err
	}
	return &bufferPool{mem: mem, size: size, held: make([]bool, count)}, nil
}

func (p *bufferPool) buffer(id uint16) []byte {
	at := int(id) * p.size
	return p.mem[at : at+p.size : at+p.size]
}

// lend marks id as the caller's and returns its first n bytes.
func (p *bufferPool) lend(id uint16, n int) []byte {
	if p.held[id] {
		panic(fmt.Sprintf("BUG: iouring: receive buffer %d filled while the caller holds it", id))
	}
	p.held[id] = true
	return p.buffer(id)[:n:p.size]
}

func (p *bufferPool) takeBack(id uint16) {
	if int(id) >= len(p.held) || !p.held[id] {
		panic(fmt.Sprintf("BUG: iouring: receive buffer %d released twice or never lent", id))
	}
	p.held[id] = false
	if invariants {
		poison(p.buffer(id))
	}
}

// poison makes whoever still reads a released buffer find rubbish.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}

func (p *bufferPool) close() { _ = Unmap(p.mem) }

// bufRing is a provided-buffer ring (Linux 5.19, io_uring_register_buf_ring(3)): we append free buffers, the kernel
// takes one when a receive has bytes for it. Its memory needs no RLIMIT_MEMLOCK.
//
//	entry 0: | addr 8 | len 4 | id 2 | tail 2 |   entry 1: | addr 8 | len 4 | id 2 | - 2 |   ...
type bufRing struct {
	*bufferPool
	mem     []byte
	entries []bufEntry
	tail    uint16 // buffers appended so far; wraps, as the kernel's does
	// committed is the tail the kernel sees, first the buffer id in entry 0, whose word the two share.
	committed, first uint16
}

func openBufRing(r *ring, pool *bufferPool) (*bufRing, error) {
	count := len(pool.held)
	mem, err := Map(count*int(unsafe.Sizeof(bufEntry{})), NotInChildren)
	if err != nil {
		return nil, err
	}
	reg := bufReg{ringAddr: uint64(uintptr(unsafe.Pointer(&mem[0]))), entries: uint32(count), group: bufferGroup}
	if err := abi.IOURingRegister(r.fd, registerProvidedBuffers, unsafe.Pointer(&reg), 1); err != nil {
		_ = Unmap(mem)
		return nil, fmt.Errorf("iouring: register a ring of %d buffers: %w", count, err)
	}
	b := &bufRing{bufferPool: pool, mem: mem, entries: unsafe.Slice((*bufEntry)(unsafe.Pointer(&mem[0])), count)}
	for id := range count {
		b.append(uint16(id))
	}
	b.commit()
	return b, nil
}

// append puts buffer id at the ring's end. The kernel sees it after the next commit.
func (b *bufRing) append(id uint16) {
	at := b.tail & uint16(len(b.entries)-1)
	e := &b.entries[at]
	e.addr = uint64(uintptr(unsafe.Pointer(&b.buffer(id)[0])))
	e.len = uint32(b.size)
	if at == 0 {
		b.first = id
		b.publish(b.committed)
	} else {
		e.idTail = uint32(id)
	}
	b.tail++
}

// commit makes what was appended visible to the kernel.
func (b *bufRing) commit() {
	if b.committed != b.tail {
		b.publish(b.tail)
		b.committed = b.tail
	}
}

// publish stores entry 0's id and the tail as one word: Go has no 16-bit atomic store, and this one must not become
// visible before the entries it covers. Both architectures that the build accepts are little-endian.
func (b *bufRing) publish(tail uint16) {
	atomic.StoreUint32(&b.entries[0].idTail, uint32(b.first)|uint32(tail)<<16)
}

func (b *bufRing) close() {
	b.bufferPool.close()
	_ = Unmap(b.mem)
}
