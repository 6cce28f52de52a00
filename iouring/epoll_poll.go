package iouring

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (e *epoll) Poll(events []Event, wait time.Duration) (int, error) {
	if len(events) == 0 {
		panic("BUG: iouring: Poll without room for an event")
	}
	e.owner.check()
	e.counters.Polls++
	if wait == 0 || e.busy() {
		e.look()
		if n := e.collect(events); n > 0 || wait == 0 || e.lost != nil {
			if wait != 0 {
				e.spin.note(true)
			}
			return n, e.lost
		}
	}
	s := beginSleep(wait, e.raw && e.features.FineWait)
	n := e.lookOn(events, &s)
	for over := false; n == 0 && !over && e.lost == nil; {
		over = e.sleep(&s)
		n = e.collect(events)
	}
	e.spin.ended(&s, n)
	return n, e.lost
}

// spinLookEvery is how often a spin asks epoll, which takes a system call of some 0.4 µs: an eighth of the spin, and 1.5 µs
// that an event waits for it in the mean.
const spinLookEvery = 3 * time.Microsecond

// lookOn spins if that is worth it, and returns the events that came. Of wakes and files it learns from memory.
func (e *epoll) lookOn(events []Event, s *sleep) (n int) {
	if !e.spin.worth() {
		return 0
	}
	e.counters.Spins++
	for next := time.Duration(0); n == 0 && e.lost == nil && s.spins(e.spin.budget); {
		if s.spun >= next || e.busy() || e.bell.woken.Load() {
			e.look()
			n = e.collect(events)
			next = s.spun + spinLookEvery
		}
	}
	if n > 0 {
		e.counters.SpinHits++
	}
	return n
}

// busy reports whether there is something to do without a wait.
func (e *epoll) busy() bool { return len(e.ready) > 0 || len(e.done) > 0 || e.files.done.Load() }

// look takes in what epoll has without waiting.
func (e *epoll) look() {
	n, errno := e.epollWait(0, true)
	e.takeIn(n, errno)
}

// sleep waits for the first readiness, finished file operation or wake, and reports whether time is up.
func (e *epoll) sleep(s *sleep) (over bool) {
	defer e.bell.awake()
	if !e.bell.fallAsleep() || e.busy() { // busy is asked after the announcement: see fileDone
		e.look()
		return false
	}
	for {
		d, raw, over := s.next()
		if over {
			e.look()
			return true
		}
		e.counters.Sleeps++
		n, errno := e.epollWait(d, raw)
		e.takeIn(n, errno)
		if n > 0 || e.lost != nil {
			return false
		}
	}
}

// epollWait waits up to d (negative: without limit).
func (e *epoll) epollWait(d time.Duration, raw bool) (int, unix.Errno) {
	e.counters.Enters++
	if !e.features.FineWait {
		return e.epollWaitCoarse(d)
	}
	var ts *unix.Timespec
	if d >= 0 {
		e.ts = unix.NsecToTimespec(int64(d))
		ts = &e.ts
	}
	var n uintptr
	var errno unix.Errno
	if raw {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), uintptr(unsafe.Pointer(&e.kernel[0])), uintptr(len(e.kernel)), uintptr(unsafe.Pointer(ts)), 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), uintptr(unsafe.Pointer(&e.kernel[0])), uintptr(len(e.kernel)), uintptr(unsafe.Pointer(ts)), 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// epollWaitCoarse rounds up to the millisecond: rounded down, a loop that waits for a timer would spin before it.
func (e *epoll) epollWaitCoarse(d time.Duration) (int, unix.Errno) {
	ms := -1
	if d >= 0 {
		ms = int(min((d+millisecond-1)/millisecond, 1<<30))
	}
	n, err := unix.EpollWait(e.fd, e.kernel, ms)
	if err != nil {
		errno, _ := err.(unix.Errno)
		return 0, errno
	}
	return n, 0
}

// waitsFine asks for epoll_pwait2, which came with 5.11 and which older containers' seccomp profiles do not know.
func (e *epoll) waitsFine() bool {
	var ts unix.Timespec
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), uintptr(unsafe.Pointer(&e.kernel[0])), 1, uintptr(unsafe.Pointer(&ts)), 0, 0)
	return errno == 0 || errno == unix.EINTR
}

func (e *epoll) takeIn(n int, errno unix.Errno) {
	if errno != 0 && errno != unix.EINTR {
		e.lost = fmt.Errorf("iouring: wait for epoll: %w", errno)
	}
	for _, ev := range e.kernel[:n] {
		if fd := int(ev.Fd); fd != e.bell.fd {
			e.edge(fd, ev.Events)
		}
	}
}

// edge notes what became ready and queues the operations that waited for it.
func (e *epoll) edge(fd int, mask uint32) {
	s := e.socket(fd)
	if mask&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		s.hangup = true
	}
	if mask&unix.EPOLLIN != 0 || s.hangup {
		if !s.readable && s.reader != 0 {
			e.ready = append(e.ready, s.reader)
		}
		s.readable = true
	}
	if mask&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 && s.writer != 0 {
		e.ready = append(e.ready, s.writer)
	}
}

// collect fills events: what ended by itself, then finished file operations, then what the sockets give, then the
// wake mark. Each socket operation is tried once; one that finds nothing goes back to waiting for an edge.
func (e *epoll) collect(events []Event) int {
	n := copy(events, e.done)
	e.done = append(e.done[:0], e.done[n:]...)
	n += e.collectFiles(events[n:])
	n += e.collectSockets(events[n:])
	if n < len(events) && e.bell.answer() {
		events[n] = Event{Kind: EventWake}
		e.counters.Wakes++
		n++
	}
	shuffle(events[:n])
	e.counters.Events += uint64(n)
	return n
}

func (e *epoll) collectFiles(events []Event) int {
	n := e.files.collect(e.jobs[:min(len(e.jobs), len(events))])
	for i := range e.jobs[:n] {
		j := &e.jobs[i]
		o := e.ops.mustFind(j.op)
		events[i] = Event{Token: o.token, Kind: o.kind, Res: j.res}
		e.ops.remove(j.op)
		*j = fileJob{}
	}
	return n
}

func (e *epoll) collectSockets(events []Event) int {
	n, tried := 0, 0
	for queued := len(e.ready); tried < queued && n < len(events); tried++ {
		u := e.ready[tried]
		if o := e.ops.find(u); o != nil { // nil: cancelled, or queued twice
			n += e.try(u, o, events[n:])
		}
	}
	e.ready = append(e.ready[:0], e.ready[tried:]...)
	return n
}

// try makes an operation's call and returns the number of events it gave.
func (e *epoll) try(u userData, o *op, events []Event) int {
	switch o.kind {
	case EventAccept:
		return e.tryAccept(u, o, events)
	case EventPollOut:
		return e.tryPollOut(u, o, events)
	case EventRecv:
		return e.tryRecv(u, o, events)
	}
	n, errno := recvNoWait(int(o.fd), o.dst)
	return e.endRecv(u, o, n, len(o.dst), errno, &events[0])
}

func (e *epoll) tryRecv(u userData, o *op, events []Event) int {
	if len(e.free) == 0 {
		e.counters.NoBuffers++
		return e.end(u, o, -int32(unix.ENOBUFS), &events[0])
	}
	id := e.free[len(e.free)-1]
	buf := e.bufs.buffer(id)
	n, errno := recvNoWait(int(o.fd), buf)
	ended := e.endRecv(u, o, n, len(buf), errno, &events[0])
	if errno == 0 && n > 0 {
		e.free = e.free[:len(e.free)-1]
		events[0].BufID, events[0].Buf = id, e.bufs.lend(id, n)
	}
	return ended
}

// endRecv ends a receive, unless the socket was empty. A stream socket that gave less than was asked for is empty too
// (epoll(7)): a further byte brings an edge.
func (e *epoll) endRecv(u userData, o *op, n, asked int, errno unix.Errno, ev *Event) int {
	s := e.socket(int(o.fd))
	switch errno {
	case 0:
		s.readable = n == asked || s.hangup
		return e.end(u, o, int32(n), ev)
	case unix.EAGAIN:
		s.readable, s.hangup = false, false
		return e.keepWaiting(u, o, ev)
	}
	return e.end(u, o, -int32(errno), ev)
}

func (e *epoll) tryPollOut(u userData, o *op, events []Event) int {
	mask := pollOut(int(o.fd))
	if mask == 0 {
		return e.keepWaiting(u, o, &events[0])
	}
	return e.end(u, o, mask, &events[0])
}

// keepWaiting leaves an operation armed whose socket was not ready after all, unless no edge can come.
func (e *epoll) keepWaiting(u userData, o *op, ev *Event) int {
	if refused := e.socket(int(o.fd)).refused; refused != 0 {
		return e.end(u, o, -int32(refused), ev)
	}
	return 0
}

// tryAccept accepts until the queue is empty or events is full; then it asks to be tried again.
func (e *epoll) tryAccept(u userData, o *op, events []Event) int {
	for n := range events {
		fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(o.fd), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		switch {
		case errno == 0:
			e.assertFresh(int(fd))
			events[n] = Event{Token: o.token, Kind: EventAccept, Res: int32(fd), More: true}
		case errno == unix.EAGAIN:
			e.socket(int(o.fd)).readable = false
			return n + e.keepWaiting(u, o, &events[n])
		case transientAcceptError(errno):
			e.ready = append(e.ready, u)
			return n
		default:
			return n + e.end(u, o, -int32(errno), &events[n])
		}
	}
	e.ready = append(e.ready, u)
	return len(events)
}

// assertFresh finds the caller who closed a descriptor without CancelFD: its successor of the same number would never
// get an edge.
func (e *epoll) assertFresh(fd int) {
	if e.socket(fd).watched {
		panic(fmt.Sprintf("BUG: iouring: descriptor %d was closed without CancelFD", fd))
	}
}

// end fills ev and frees the operation's slot and its place at the socket.
func (e *epoll) end(u userData, o *op, res int32, ev *Event) int {
	*ev = Event{Token: o.token, Kind: o.kind, Res: res}
	if s := e.socket(int(o.fd)); s.reader == u {
		s.reader = 0
	} else if s.writer == u {
		s.writer = 0
	}
	e.ops.remove(u)
	return 1
}
