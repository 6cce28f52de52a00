package iouring

import (
	"fmt"
	"time"
	"unsafe"

	abi "github.com/iceber/iouring-go/syscall"
	"golang.org/x/sys/unix"
)

// asyncReadBytes is the size from which a READ is sent to io-wq at once: copying 1 MiB that turned out to be cached
// takes 0.4 ms of the loop, handing it over 7 µs.
const asyncReadBytes = 128 << 10

// uring is the Engine on an io_uring.
type uring struct {
	ring     *ring
	bufs     *bufRing
	bell     *doorbell
	features Features
	ops      opTable
	peers    []*uring   // that were ever signalled; a signal's user data is an index here
	backlog  []cqe      // completions moved out of a full queue by a submission; older than those in the queue
	ended    []userData // multishots to be armed again
	lost     error      // why the ring is unusable, reported by the next Poll
	counters Counters
	messages uint64 // that peers sent
	owner    owner
	closed   bool
	spin     spinner
	scrap    sqe // what entry gives when the ring is lost
	raw      bool
}

var _ Engine = (*uring)(nil)

func openUring(cfg Config, preference []uint32) (*uring, error) {
	r, err := openRing(cfg.Entries, cfg.CQEntries, preference)
	if err != nil {
		return nil, err
	}
	e := &uring{ring: r, raw: rawWaitAllowed(), owner: newOwner(), spin: spinner{budget: cfg.Spin}}
	if err := e.equip(cfg); err != nil {
		e.free()
		return nil, err
	}
	e.armDoorbell()
	return e, nil
}

// equip adds to a fresh ring what the engine needs besides.
func (e *uring) equip(cfg Config) error {
	probe, err := probeOps(e.ring)
	if err != nil {
		return err
	}
	for _, need := range requiredOps {
		if !probe.supports(need.op) {
			return fmt.Errorf("%w: operation %s", errMissing, need.name)
		}
	}
	if e.bell, err = openDoorbell(); err != nil {
		return err
	}
	pool, err := newBufferPool(cfg.Buffers, cfg.BufferSize)
	if err != nil {
		return err
	}
	if e.bufs, err = openBufRing(e.ring, pool); err != nil {
		pool.close()
		return err
	}
	// The kernel's default is four workers a core for files and without bound for the rest. Failing to set it (5.15)
	// is no reason to do without the ring.
	workers := [2]uint32{uint32(cfg.FilePool), uint32(cfg.FilePool)}
	_ = abi.IOURingRegister(e.ring.fd, registerIOWQMaxWorkers, unsafe.Pointer(&workers), 2)
	e.features = ringFeatures(e.ring, e.raw)
	return nil
}

func (e *uring) Name() string       { return "uring" }
func (e *uring) Features() Features { return e.features }
func (e *uring) Counters() Counters { return e.counters }

// entry returns a zeroed submission entry. A full queue is submitted early. Of a lost ring it is one that goes
// nowhere; the next Poll tells.
func (e *uring) entry() *sqe {
	e.owner.check()
	s := e.ring.next()
	if s == nil {
		e.flush()
		if s = e.ring.next(); s == nil {
			e.scrap = sqe{}
			return &e.scrap
		}
	}
	return s
}

// flushTries is after how many enters that took nothing the ring is given up. A kernel short of memory refuses a few.
const flushTries = 1000

// flush submits all that is queued, outside of Poll.
func (e *uring) flush() {
	for range flushTries {
		if e.lost != nil || e.ring.pending() == 0 {
			return
		}
		e.submit()
	}
	e.lost = fmt.Errorf("iouring: the kernel takes no entries: %d are pending", e.ring.pending())
}

// submit enters without waiting. If the kernel wants completions to be reaped first, they go to the backlog.
func (e *uring) submit() {
	e.counters.Enters++
	e.counters.EarlySubmits++
	switch errno := e.ring.submit(); errno {
	case 0, unix.EINTR:
	case unix.EAGAIN, unix.EBUSY:
		e.spill()
	default:
		e.lose(errno)
	}
}

// spill moves the waiting completions to the backlog.
func (e *uring) spill() {
	n := e.ring.ready()
	for i := range n {
		e.backlog = append(e.backlog, e.ring.completion(i))
	}
	e.ring.advance(n)
}

func (e *uring) lose(errno unix.Errno) {
	if e.lost == nil {
		e.lost = enterError(errno)
	}
}

func enterError(errno unix.Errno) error {
	if errno == unix.EEXIST {
		return fmt.Errorf("BUG: iouring: ring used by another thread than the one that made it: %w", errno)
	}
	return fmt.Errorf("iouring: enter the ring: %w", errno)
}

// start takes a slot and an entry for an operation on fd.
func (e *uring) start(kind EventKind, tok Token, fd int, opcode uint8) (*sqe, *op) {
	u, o := e.ops.add(kind, tok, fd)
	s := e.entry()
	s.opcode, s.fd, s.userData = opcode, int32(fd), uint64(u)
	return s, o
}

func (e *uring) Accept(tok Token, fd int) {
	u, _ := e.ops.add(EventAccept, tok, fd)
	e.armAccept(u, int32(fd))
}

func (e *uring) armAccept(u userData, fd int32) {
	s := e.entry()
	s.opcode, s.fd, s.userData = abi.IORING_OP_ACCEPT, fd, uint64(u)
	s.ioprio = acceptMultishot
	s.opFlags = unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
}

func (e *uring) Recv(tok Token, fd int) {
	s, _ := e.start(EventRecv, tok, fd, abi.IORING_OP_RECV)
	s.flags = abi.IOSQE_FLAGS_BUFFER_SELECT
	s.bufGroup = bufferGroup
}

func (e *uring) RecvInto(tok Token, fd int, dst []byte) {
	mustHaveRoom(dst)
	s, o := e.start(EventRecvInto, tok, fd, abi.IORING_OP_RECV)
	o.dst = dst
	s.addr, s.len = address(dst), length(dst)
}

func (e *uring) PollOut(tok Token, fd int) {
	s, _ := e.start(EventPollOut, tok, fd, abi.IORING_OP_POLL_ADD)
	s.opFlags = unix.POLLOUT
}

func (e *uring) ReadAt(tok Token, fd int, dst []byte, off int64) {
	s, o := e.start(EventRead, tok, fd, abi.IORING_OP_READ)
	o.dst = dst
	s.addr, s.len, s.off = address(dst), length(dst), uint64(off)
	if len(dst) > asyncReadBytes {
		s.flags = abi.IOSQE_FLAGS_ASYNC
	}
}

func (e *uring) WriteAt(tok Token, fd int, bufs [][]byte, off int64) {
	s, o := e.start(EventWrite, tok, fd, abi.IORING_OP_WRITEV)
	o.setBufs(bufs)
	s.addr, s.len, s.off = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(o.iov)))), uint32(len(o.iov)), uint64(off)
}

func (e *uring) Datasync(tok Token, fd int) {
	s, _ := e.start(EventSync, tok, fd, abi.IORING_OP_FSYNC)
	s.opFlags = abi.IORING_FSYNC_DATASYNC
}

// CancelFD submits at once: the caller may close fd next, and an entry that is still queued would find another file
// of that number.
func (e *uring) CancelFD(fd int) {
	s := e.entry()
	s.opcode, s.fd, s.userData = abi.IORING_OP_ASYNC_CANCEL, int32(fd), uint64(packUserData(kindCancel, 0, 0))
	s.opFlags = asyncCancelFD | asyncCancelAll
	e.flush()
}

func (e *uring) ReleaseBuffer(id uint16) {
	e.bufs.takeBack(id)
	e.bufs.append(id)
}

func (e *uring) Wake() { e.bell.ring() }

// Signal leaves the wake mark at the peer and, if it sleeps, rings by a message that our next enter carries.
func (e *uring) Signal(peer Engine) {
	p, ok := unwrap(peer).(*uring)
	if !ok {
		peer.Wake()
		return
	}
	if p.bell.mark() {
		e.message(p)
	}
}

func (e *uring) message(p *uring) {
	s := e.entry()
	s.opcode, s.fd = abi.IORING_OP_MSG_RING, int32(p.ring.fd)
	s.flags = sqeCQESkipSuccess
	s.off = uint64(packUserData(kindMessage, 0, 0))
	s.userData = uint64(packUserData(kindSignal, 0, e.peerIndex(p)))
}

func (e *uring) peerIndex(p *uring) uint32 {
	for i, known := range e.peers {
		if known == p {
			return uint32(i)
		}
	}
	e.peers = append(e.peers, p)
	return uint32(len(e.peers) - 1)
}

// armDoorbell watches the eventfd. The counter is never read: a multishot poll reports every write (5.13).
func (e *uring) armDoorbell() {
	s := e.entry()
	s.opcode, s.fd, s.userData = abi.IORING_OP_POLL_ADD, int32(e.bell.fd), uint64(packUserData(kindDoorbell, 0, 0))
	s.len = pollAddMulti
	s.opFlags = unix.POLLIN
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// length is len(b) as an entry can hold it: the kernel transfers at most 2 GiB less a page at once (MAX_RW_COUNT).
func length(b []byte) uint32 { return uint32(min(len(b), 0x7ffff000)) }

// mustHaveRoom: receiving nothing would look like the end of the stream.
func mustHaveRoom(dst []byte) {
	if len(dst) == 0 {
		panic("BUG: iouring: RecvInto without room for a byte")
	}
}

// unwrap finds the engine under wrappers such as iouringtest's.
func unwrap(e Engine) Engine {
	for {
		w, ok := e.(interface{ Unwrap() Engine })
		if !ok {
			return e
		}
		e = w.Unwrap()
	}
}

// closeLimit bounds Close: what is in flight was cancelled, only a disk that does not answer takes longer.
const closeLimit = 5 * time.Second
