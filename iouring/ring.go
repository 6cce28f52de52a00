package iouring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	abi "github.com/iceber/iouring-go/syscall"
	"golang.org/x/sys/unix"
)

// ring is one io_uring instance: its descriptor and the memory it shares with the kernel. It belongs to the thread
// that made it (SINGLE_ISSUER). The kernel writes sqHead, sqFlags and cqTail, we write sqTail and cqHead; each side
// publishes with a store that the other reads with a load, so all five are accessed by sync/atomic only.
type ring struct {
	sqHead, sqTail, sqFlags *uint32
	cqHead, cqTail          *uint32
	sqes                    []sqe
	cqes                    []cqe
	tail                    uint32 // entries handed out; ahead of *sqTail until publish

	// What EXT_ARG's pointers point at. They are here and not on the stack because the kernel is given the address
	// as a number, which a moving stack would leave dangling.
	arg getEventsArg
	ts  unix.Timespec

	fd         int
	enterFD    uintptr // fd, or its index among the thread's registered rings
	enterFlags uintptr
	params     abi.IOURingParams
	queueMem   []byte
	sqeMem     []byte
}

// baseSetup are the flags of Linux 6.1's recommended mode (io_uring_setup(2)): completions are run only inside enter,
// by the one thread that submits, so that they never interrupt the loop.
const baseSetup = abi.IORING_SETUP_CQSIZE | abi.IORING_SETUP_CLAMP | abi.IORING_SETUP_SUBMIT_ALL |
	abi.IORING_SETUP_COOP_TASKRUN | abi.IORING_SETUP_TASKRUN_FLAG | setupSingleIssuer | setupDeferTaskrun

const requiredFeatures = abi.IORING_FEAT_SINGLE_MMAP | abi.IORING_FEAT_NODROP | abi.IORING_FEAT_SUBMIT_STABLE |
	abi.IORING_FEAT_FAST_POLL | featExtArg

// errMissing marks a ring that exists but lacks something the engine needs.
var errMissing = errors.New("iouring: kernel lacks a required io_uring feature")

// setupPreference lists the set-ups to try, best first: the index-free submission queue came with 6.6.
var setupPreference = []uint32{baseSetup | setupNoSQArray, baseSetup}

func openRing(entries, cqEntries uint32, preference []uint32) (*ring, error) {
	r := &ring{}
	if err := r.setup(entries, cqEntries, preference); err != nil {
		return nil, err
	}
	if missing := requiredFeatures &^ r.params.Features; missing != 0 {
		unix.Close(r.fd)
		return nil, fmt.Errorf("%w: feature bits %#x", errMissing, missing)
	}
	if err := r.mapQueues(); err != nil {
		r.close()
		return nil, err
	}
	r.registerSelf()
	return r, nil
}

// setup takes the first of the preferred set-ups whose flags the kernel knows.
func (r *ring) setup(entries, cqEntries uint32, preference []uint32) error {
	var err error
	for _, flags := range preference {
		r.params = abi.IOURingParams{CQEntries: cqEntries, Flags: flags}
		r.fd, err = abi.IOURingSetup(uint(entries), &r.params)
		if !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("iouring: set up a ring of %d entries: %w", entries, err)
	}
	r.enterFD = uintptr(r.fd)
	if r.params.Features&featNoIOWait != 0 {
		r.enterFlags |= enterNoIOWait // waiting for requests is idleness, not time spent waiting for a disk
	}
	return nil
}

func (r *ring) mapQueues() error {
	p := &r.params
	size := p.CQOffset.Cqes + p.CQEntries*uint32(unsafe.Sizeof(cqe{}))
	if p.Flags&setupNoSQArray == 0 {
		size = max(size, p.SQOffset.Array+p.SQEntries*4)
	}
	var err error
	if r.queueMem, err = r.mmap(abi.IORING_OFF_SQ_RING, int(size)); err != nil {
		return err
	}
	if r.sqeMem, err = r.mmap(abi.IORING_OFF_SQES, int(p.SQEntries)*int(unsafe.Sizeof(sqe{}))); err != nil {
		return err
	}
	r.sqHead, r.sqTail, r.sqFlags = r.word(p.SQOffset.Head), r.word(p.SQOffset.Tail), r.word(p.SQOffset.Flags)
	r.cqHead, r.cqTail = r.word(p.CQOffset.Head), r.word(p.CQOffset.Tail)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.sqeMem[0])), p.SQEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.queueMem[p.CQOffset.Cqes])), p.CQEntries)
	if p.Flags&setupNoSQArray == 0 {
		array := unsafe.Slice(r.word(p.SQOffset.Array), p.SQEntries)
		for i := range array {
			array[i] = uint32(i) // entry i of the queue is always SQE i
		}
	}
	return nil
}

func (r *ring) mmap(off uint64, n int) ([]byte, error) {
	mem, err := unix.Mmap(r.fd, int64(off), n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("iouring: map %d bytes of the ring: %w", n, err)
	}
	return mem, nil
}

func (r *ring) word(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.queueMem[off])) }

// registerSelf spares enter the descriptor look-up (5.18). A thread has 16 such places; without one nothing is lost.
func (r *ring) registerSelf() {
	u := rsrcUpdate{offset: ^uint32(0), data: uint64(r.fd)}
	if abi.IOURingRegister(r.fd, registerRingFDs, unsafe.Pointer(&u), 1) == nil {
		r.enterFD = uintptr(u.offset)
		r.enterFlags |= enterRegisteredRing
	}
}

// registered reports whether registerSelf found a place.
func (r *ring) registered() bool { return r.enterFlags&enterRegisteredRing != 0 }

// close must run on the owner thread: the registered place keeps the ring alive until it is given back.
func (r *ring) close() {
	if r.registered() {
		u := rsrcUpdate{offset: uint32(r.enterFD)}
		_ = abi.IOURingRegister(r.fd, unregisterRingFDs, unsafe.Pointer(&u), 1)
	}
	if r.sqeMem != nil {
		_ = unix.Munmap(r.sqeMem)
	}
	if r.queueMem != nil {
		_ = unix.Munmap(r.queueMem)
	}
	_ = unix.Close(r.fd)
}

// next returns a zeroed entry at the queue's end, or nil when the queue is full.
func (r *ring) next() *sqe {
	if r.pending() == uint32(len(r.sqes)) {
		return nil
	}
	s := &r.sqes[r.tail&uint32(len(r.sqes)-1)]
	r.tail++
	*s = sqe{}
	return s
}

// pending is how many entries the kernel has not taken. It is always derived from the kernel's head: the return value
// of an enter that was interrupted after it had submitted says something else.
func (r *ring) pending() uint32 { return r.tail - atomic.LoadUint32(r.sqHead) }

// ready is how many completions wait to be reaped.
func (r *ring) ready() uint32 { return atomic.LoadUint32(r.cqTail) - *r.cqHead }

// due reports whether the kernel has work for us that only an enter will bring: deferred completions, or completions
// that did not fit into the queue.
func (r *ring) due() bool {
	return atomic.LoadUint32(r.sqFlags)&(sqFlagTaskrun|abi.IORING_SQ_CQ_OVERFLOW) != 0
}

// overflowed reports whether completions wait in the kernel's memory because the queue was full.
func (r *ring) overflowed() bool { return atomic.LoadUint32(r.sqFlags)&abi.IORING_SQ_CQ_OVERFLOW != 0 }

// completion copies out the i-th waiting completion; advance then frees the places of the first n.
func (r *ring) completion(i uint32) cqe { return r.cqes[(*r.cqHead+i)&uint32(len(r.cqes)-1)] }

func (r *ring) advance(n uint32) { atomic.StoreUint32(r.cqHead, *r.cqHead+n) }

// submit hands over what is queued and runs deferred completions, without waiting.
func (r *ring) submit() unix.Errno {
	return r.enter(0, enterGetEvents, nil, 0, true)
}

// wait submits and sleeps until there is a completion, for at most d (negative: no limit).
func (r *ring) wait(d time.Duration, raw bool) unix.Errno {
	if d < 0 {
		return r.enter(1, enterGetEvents, nil, 0, raw)
	}
	r.ts = unix.NsecToTimespec(int64(d))
	r.arg = getEventsArg{ts: uint64(uintptr(unsafe.Pointer(&r.ts)))}
	return r.enter(1, enterGetEvents|enterExtArg, unsafe.Pointer(&r.arg), unsafe.Sizeof(r.arg), raw)
}

// enter is io_uring_enter(2). raw skips the Go scheduler's bookkeeping around system calls: the thread keeps its P,
// so nothing may hold the world up for long inside; see waitPolicy.
func (r *ring) enter(minComplete, flags uintptr, arg unsafe.Pointer, size uintptr, raw bool) unix.Errno {
	atomic.StoreUint32(r.sqTail, r.tail)
	n := uintptr(r.pending())
	flags |= r.enterFlags
	var errno unix.Errno
	if raw {
		_, _, errno = unix.RawSyscall6(abi.SYS_IO_URING_ENTER, r.enterFD, n, minComplete, flags, uintptr(arg), size)
	} else {
		_, _, errno = unix.Syscall6(abi.SYS_IO_URING_ENTER, r.enterFD, n, minComplete, flags, uintptr(arg), size)
	}
	return errno
}
