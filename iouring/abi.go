package iouring

import (
	abi "github.com/iceber/iouring-go/syscall"
)

// What io_uring(7) has and iouring-go's syscall package, which ends at Linux 6.0, lacks. Names are the kernel's
// (include/uapi/linux/io_uring.h) in Go's spelling.
const (
	setupSingleIssuer = 1 << 12 // 6.0
	setupDeferTaskrun = 1 << 13 // 6.1
	setupNoSQArray    = 1 << 16 // 6.6

	featExtArg   = 1 << 8  // 5.11
	featNoIOWait = 1 << 17 // 6.15

	enterGetEvents      = uintptr(abi.IORING_ENTER_FLAGS_GETEVENTS)
	enterExtArg         = 1 << 3 // 5.11
	enterRegisteredRing = 1 << 4 // 5.18
	enterNoIOWait       = 1 << 7 // 6.15

	registerIOWQMaxWorkers         = 19 // 5.15
	registerRingFDs                = 20 // 5.18
	unregisterRingFDs              = 21
	registerProvidedBuffers        = 22 // 5.19
	sqFlagTaskrun                  = 1 << 2
	sqeCQESkipSuccess              = 1 << 6 // 5.17
	acceptMultishot                = 1 << 0 // 5.19
	pollAddMulti                   = 1 << 0 // 5.13
	asyncCancelAll                 = 1 << 0 // 5.19
	asyncCancelFD                  = 1 << 1
	asyncCancelAny                 = 1 << 2
	cqeFlagBuffer                  = 1 << 0
	cqeFlagMore                    = 1 << 1
	cqeBufferShift                 = 16
	probeOpSupported        uint16 = 1 << 0
)

// sqe is struct io_uring_sqe, 64 bytes, as the queue holds it. Fields that are unions in C bear their commonest name.
type sqe struct {
	opcode   uint8
	flags    uint8
	ioprio   uint16
	fd       int32
	off      uint64
	addr     uint64
	len      uint32
	opFlags  uint32
	userData uint64
	bufGroup uint16
	_        uint16
	_        int32
	_        [2]uint64
}

// cqe is struct io_uring_cqe.
type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// getEventsArg is struct io_uring_getevents_arg, what EXT_ARG makes of enter's last two arguments.
type getEventsArg struct {
	sigmask   uint64
	sigmaskSz uint32
	minWait   uint32
	ts        uint64 // address of a struct __kernel_timespec
}

// bufReg is struct io_uring_buf_reg.
type bufReg struct {
	ringAddr uint64
	entries  uint32
	group    uint16
	flags    uint16
	_        [3]uint64
}

// bufEntry is struct io_uring_buf. Of entry 0 the last two bytes are the ring's tail.
type bufEntry struct {
	addr   uint64
	len    uint32
	idTail uint32 // buffer id in the low half; tail in the high half of entry 0
}

// rsrcUpdate is struct io_uring_rsrc_update.
type rsrcUpdate struct {
	offset uint32
	_      uint32
	data   uint64
}

// opProbe is struct io_uring_probe with room for every opcode.
type opProbe struct {
	lastOp uint8
	opsLen uint8
	_      uint16
	_      [3]uint32
	ops    [256]struct {
		op    uint8
		_     uint8
		flags uint16
		_     uint32
	}
}

func (p *opProbe) supports(op uint8) bool {
	return op <= p.lastOp && p.ops[op].flags&probeOpSupported != 0
}

// requiredOps are the operations the ring engine has no other way for.
var requiredOps = []struct {
	op   uint8
	name string
}{
	{abi.IORING_OP_ACCEPT, "ACCEPT"},
	{abi.IORING_OP_RECV, "RECV"},
	{abi.IORING_OP_POLL_ADD, "POLL_ADD"},
	{abi.IORING_OP_READ, "READ"},
	{abi.IORING_OP_WRITEV, "WRITEV"},
	{abi.IORING_OP_FSYNC, "FSYNC"},
	{abi.IORING_OP_ASYNC_CANCEL, "ASYNC_CANCEL"},
	{abi.IORING_OP_MSG_RING, "MSG_RING"},
}
