// Package iouring gives a loop its input and output: a ring of its own on Linux's io_uring, the same surface on epoll
// where io_uring is refused, and the few system calls that are best made inline under either.
//
// It knows raw system calls, ring memory, buffers and descriptors. It does not know Kafka, has no policy and retries
// nothing: what the kernel answered is what the caller gets. Linux on amd64 and arm64 only (little-endian, 64 bits).
//
// # An engine
//
// An [Engine] belongs to one goroutine that is locked to its thread. The thread makes it with [New], starts operations,
// and turns in [Engine.Poll]; Wake alone may be called by others. Nothing is locked and nothing on the way of an
// operation allocates.
//
//	            owner thread                        │  kernel
//	                                                │
//	Recv, ReadAt, ...  ──> slot ──> SQE ──┐         │
//	                                      ├─ enter ─┼──> socket ready, disk done
//	Poll ─────────────────────────────────┘         │          │
//	  events <── slot freed <── CQE <───────────────┼──────────┘
//	                                                │
//	other threads:  Wake ── woken=1 ── sleeping? ───┼──> eventfd
//	other loops:    Signal ──────────── sleeping? ──┼──> MSG_RING, which their next enter carries
//
// The life of one operation: a method takes a slot of the table, which keeps the operation's memory reachable, and a
// submission entry that carries slot, generation and kind as user data. The next Poll submits it, with one enter for
// all that was started, and waits. Its completion finds the slot by the user data, becomes an [Event], and frees the
// slot. CancelFD hastens the end; it never takes the event away.
//
// The life of one receive buffer: free, in the ring that the kernel picks from; filled, in an EventRecv; the caller's,
// until ReleaseBuffer; free again with the next Poll. A connection that is silent holds none.
//
// # The two engines
//
//	                  uring                              epoll
//	accept            multishot ACCEPT                   accept4 until EAGAIN, after an edge
//	recv              RECV, buffer picked by the kernel  recvfrom into a buffer, after an edge
//	recv-into         RECV                               recvfrom
//	poll-out          POLL_ADD                           poll, then an edge
//	read, write       READ, WRITEV                       pread64, pwritev on a pool of threads
//	sync              FSYNC(DATASYNC)                    fdatasync on the pool
//	wake              multishot poll of an eventfd       edge of an eventfd
//	signal            MSG_RING                           eventfd
//	wait              io_uring_enter with EXT_ARG        epoll_pwait2
//	spin              flags and tails of the ring        epoll_pwait2 without a wait, now and then
//
// The ring is set up as the kernel recommends since 6.1, which is the least it needs: SINGLE_ISSUER, DEFER_TASKRUN,
// COOP_TASKRUN. What fails on the way there, be it the set-up, an operation that is missing, or the live test, [New]
// explains in its [Probe], with the cure, and takes epoll.
//
// Not used, after measurement: SQPOLL, registered files and buffers, SEND_ZC, SPLICE, linked operations, timeout
// operations, multishot receives (they can't be paused without a cancel). Answers are sent inline by [SendNoWait] and
// [Sendfile], small appends written by [Pwritev]; see [ProbeAppend] for where that pays.
//
// # Waiting
//
// A wait begins as a raw system call of at most 500 µs, of which the Go scheduler is not told, and goes on as an
// ordinary one. The first spares a busy loop the scheduler's bookkeeping, the bound keeps a stop-the-world short. Where
// goroutines can't be preempted (GODEBUG=asyncpreemptoff=1) there is no raw wait. A process of n loops should run with
// GOMAXPROCS = n+2, and no loop in a real-time scheduling class.
//
// With Config.Spin a wait begins by looking again for events, without a system call that waits, if half of the last eight
// waits ended soon enough for that: an idle loop does not spin. The thread keeps its P meanwhile, but is preempted like any
// goroutine.
//
// # Invariants
//
//   - OneEvent: an operation yields exactly one event; Accept any number with More, then at most one without.
//   - Generation: a completion is taken for the operation whose user data it bears, slot, generation and kind, or the
//     process panics; a slot's earlier tenant is never confused with a later.
//   - Pinned: memory given to the kernel is reachable from a slot until the completion; an engine that closes with
//     operations in flight abandons their memory rather than free it.
//   - OneHolder: a receive buffer is the kernel's, in an event or the caller's; a second release panics.
//   - NoLostWake: a Wake or Signal that comes before the loop is in the kernel keeps it from sleeping; one that comes
//     later ends the sleep.
//   - ClosedIsGone: when CancelFD has returned, no operation started before touches whatever gets the descriptor's
//     number next.
//   - OneEnter: a Poll makes at most one enter, none if there is nothing to submit or fetch, two when the raw part of a
//     wait ran out; signals of the Go runtime may add to that. One that spins submits before it, and enters for each
//     work of the kernel's that it finds.
//
// Bounds: operations in flight 2²⁰; receive buffers Config.Buffers × Config.BufferSize (8 MiB by default, touched as
// used); rings 1024 × 64 + 8192 × 16 bytes; file operations' threads Config.FilePool.
//
// # Decisions
//
// 2026-11 Own ring, raw system calls. iouring-go's root package does not link on Go 1.23 and later, and a channel per
// request made it three times slower than package net. Its syscall package supplies numbers and set-up; what it lacks
// is in abi.go. Reversed by: a maintained ring package for Go without goroutines inside.
//
// 2026-11 Receives are one-shot. A caller stops a client by not receiving. Multishot saved up to 29 % of the CPU where
// each wake-up brought one request, nothing at saturation. Reversed by: a way to pause a multishot.
//
// 2026-11 A failed Accept disarms itself. Out of descriptors, an engine that armed it again at once would spin; when
// to try again is policy.
package iouring
