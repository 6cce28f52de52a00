package iouring

import "time"

// Token is the caller's name for what an operation belongs to; the engine hands it back untouched in the [Event].
type Token uint64

// EventKind says which operation an [Event] completes.
type EventKind uint8

// The operations of an [Engine], one event kind each. Zero is no kind, so that a forgotten field is noticed.
const (
	EventAccept EventKind = iota + 1
	EventRecv
	EventRecvInto
	EventPollOut
	EventRead
	EventWrite
	EventSync
	EventWake
	eventKinds
)

var eventKindNames = [eventKinds]string{
	EventAccept: "accept", EventRecv: "recv", EventRecvInto: "recv-into", EventPollOut: "poll-out",
	EventRead: "read", EventWrite: "write", EventSync: "sync", EventWake: "wake",
}

// String returns the operation's name, as metrics and logs show it.
func (k EventKind) String() string {
	if k > 0 && k < eventKinds {
		return eventKindNames[k]
	}
	return "unknown"
}

// Event is the completion of one operation.
type Event struct {
	// Buf holds the received bytes of an EventRecv with Res > 0. It belongs to the engine; the caller may read and
	// change it until ReleaseBuffer(BufID).
	Buf []byte
	// Token is what the operation was started with; 0 for EventWake.
	Token Token
	// Res is the count of bytes (recv, read, write), the new descriptor (accept), the poll mask (poll-out) or 0;
	// a negative Res is -errno, as in the kernel's completions.
	Res int32
	// BufID names Buf to ReleaseBuffer. Meaningful only when Buf is not nil.
	BufID uint16
	Kind  EventKind
	// More says that the operation stays armed and further events with this token will follow (accept only).
	More bool
}

// Config sizes an engine. Zero fields take the defaults.
type Config struct {
	// Entries is the length of the submission queue, a power of two. A full queue only costs an extra enter.
	// Default 1024.
	Entries uint32
	// CQEntries is the length of the completion queue, a power of two. Beyond it the kernel keeps completions in
	// memory of its own (IORING_FEAT_NODROP) until there is room. Default 8 × Entries.
	CQEntries uint32
	// Buffers is how many receive buffers the engine owns, a power of two, at most 32768. Default 512.
	Buffers int
	// BufferSize is the length of one receive buffer in bytes. Default 16 KiB: a frame head and most whole frames.
	BufferSize int
	// FilePool bounds the threads that run file operations which must block: goroutines of the epoll engine, io-wq
	// workers of the ring. Default 4: a fifth fsync at once gained nothing on any disk measured.
	FilePool int
	// Spin is how long a Poll that has to wait looks again for events before it sleeps, where the last ones came that
	// soon. An event that comes meanwhile is there 5 to 10 µs earlier; one that does not costs the CPU time of the spin.
	// Default 0: not at all.
	Spin time.Duration
}

func (c Config) withDefaults() Config {
	if c.Entries == 0 {
		c.Entries = 1024
	}
	if c.CQEntries == 0 {
		c.CQEntries = 8 * c.Entries
	}
	if c.Buffers == 0 {
		c.Buffers = 512
	}
	if c.BufferSize == 0 {
		c.BufferSize = 16 << 10
	}
	if c.FilePool == 0 {
		c.FilePool = 4
	}
	return c
}

// Engine runs a loop's input and output. All methods except Wake belong to the one locked thread that made the
// engine. No operation fails when started: whatever goes wrong arrives as its event.
//
// At most one operation that reads (Accept, Recv, RecvInto) and one PollOut may be armed on a socket at a time; file
// operations may overlap freely and complete in any order.
type Engine interface {
	// Name is "uring" or "epoll".
	Name() string
	// Features tells what was found on this kernel.
	Features() Features
	// Counters tells what the engine has done so far.
	Counters() Counters

	// Accept arms the listening socket fd: one EventAccept per connection, Res being the new descriptor
	// (non-blocking, close-on-exec), with More set. Connections that vanished before they were accepted are
	// passed over. An event without More, Res = -errno, means that it is no longer armed (-EMFILE, -ENFILE, ...):
	// the caller decides when to call Accept again, for the engine trying at once would only spin. fd may be made
	// non-blocking.
	Accept(tok Token, fd int)
	// Recv receives once from socket fd into a buffer that the engine picks when there are bytes, so that an idle
	// connection holds none. Exactly one EventRecv follows: Res > 0 with Buf and BufID, which must be released;
	// 0 at end of stream; -ENOBUFS when bytes wait but no buffer is free (release some, then call again).
	Recv(tok Token, fd int)
	// RecvInto receives once into dst, which the caller leaves alone until the EventRecvInto. dst may be Go memory;
	// it must have room for a byte.
	RecvInto(tok Token, fd int, dst []byte)
	// PollOut waits until socket fd can be written; Res is the poll mask (POLLOUT, POLLERR, POLLHUP).
	PollOut(tok Token, fd int)

	// ReadAt reads once at off; Res may be short, and is 0 at the end of the file.
	ReadAt(tok Token, fd int, dst []byte, off int64)
	// WriteAt writes bufs one after the other at off. Res may be short: the caller resumes. Only the first 1024
	// bufs are taken (IOV_MAX). The slices' bytes must not change until the event; bufs itself may.
	WriteAt(tok Token, fd int, bufs [][]byte, off int64)
	// Datasync is fdatasync(2). A failed one must never be retried: the kernel has forgotten which pages were lost.
	Datasync(tok Token, fd int)

	// CancelFD cancels all that is armed on fd; each operation still yields its event, Res = -ECANCELED unless it
	// finished first. When it returns fd may be closed. It must be called before the close of any fd that an
	// operation was ever started on. A file operation that a thread already runs is not interrupted; the epoll
	// engine waits for it, lest it touch a descriptor of the same number opened meanwhile. (A ring also cancels what
	// was started on duplicates of fd: to it they are the same file.)
	CancelFD(fd int)
	// ReleaseBuffer gives a receive buffer back. Releasing one twice panics.
	ReleaseBuffer(id uint16)

	// Wake makes the current or the next Poll return with one EventWake, however many Wakes there were. Any thread
	// may call it. It costs a system call only while the loop sleeps.
	Wake()
	// Signal is Wake by another engine's owner: from this engine's thread to peer. Between rings it is an
	// IORING_OP_MSG_RING that rides on this engine's next Poll. A peer that was closed is not disturbed.
	Signal(peer Engine)

	// Poll submits what was started, waits until there is an event or up to wait (0: not at all, negative: without
	// limit), and fills events. An error means that the engine is lost.
	Poll(events []Event, wait time.Duration) (int, error)
	// Close cancels and awaits what is in flight, then frees everything. Events not yet polled are dropped. A second
	// Close does nothing.
	Close() error
}
