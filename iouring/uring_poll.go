package iouring

import (
	"errors"
	"fmt"
	"sync"
	"time"

	abi "github.com/iceber/iouring-go/syscall"
	"golang.org/x/sys/unix"
)

func (e *uring) Poll(events []Event, wait time.Duration) (int, error) {
	if len(events) == 0 {
		panic("BUG: iouring: Poll without room for an event")
	}
	e.owner.check()
	e.counters.Polls++
	e.bufs.commit()
	if wait == 0 || !e.idle() {
		if e.ring.pending() > 0 || e.ring.due() {
			e.enterNow()
		}
		if n := e.collect(events); n > 0 || wait == 0 || e.lost != nil {
			if wait != 0 {
				e.spin.note(true)
			}
			return n, e.lost
		}
	}
	return e.pollAsleep(events, wait)
}

// idle reports whether there is nothing to report without a wait.
func (e *uring) idle() bool { return e.lost == nil && len(e.backlog) == 0 && e.ring.ready() == 0 }

// pollAsleep waits until there is an event for the caller. Completions of the engine's own, a doorbell that was
// struck after its wake had been seen for example, do not end the wait.
func (e *uring) pollAsleep(events []Event, wait time.Duration) (int, error) {
	s := beginSleep(wait, e.raw)
	n := e.lookOn(events, &s)
	for over := false; n == 0 && !over && e.lost == nil; {
		e.bufs.commit()
		over = e.sleep(&s)
		n = e.collect(events)
	}
	e.spin.ended(&s, n)
	return n, e.lost
}

// lookOn spins if that is worth it, and returns the events that came. What was started goes first. The kernel only flags
// that it has work for us (DEFER_TASKRUN, TASKRUN_FLAG), and while the loop does not sleep a wake only leaves its mark: all
// that is looked at is memory.
func (e *uring) lookOn(events []Event, s *sleep) (n int) {
	if !e.spin.worth() {
		return 0
	}
	e.counters.Spins++
	for n == 0 && e.lost == nil && s.spins(e.spin.budget) {
		if e.ring.pending() > 0 || e.ring.due() {
			e.enterNow()
		}
		if !e.idle() || e.bell.woken.Load() {
			n = e.collect(events)
			e.bufs.commit()
		}
	}
	if n > 0 {
		e.counters.SpinHits++
	}
	return n
}

// sleep enters with a wait, once unless signals of the Go runtime cut it short, and reports whether time is up. What
// counts is whether completions are there: enter's result tells of submitted entries even when the wait failed.
func (e *uring) sleep(s *sleep) (over bool) {
	if !e.bell.fallAsleep() {
		e.enterNow()
		return false
	}
	defer e.bell.awake()
	for e.ring.ready() == 0 {
		d, raw, over := s.next()
		if over {
			e.enterNow() // a limit may be too short to wait for, but what was started must go
			return true
		}
		e.counters.Enters++
		e.counters.Sleeps++
		switch errno := e.ring.wait(d, raw); errno {
		case 0, unix.EINTR, unix.ETIME:
		case unix.EAGAIN, unix.EBUSY: // no memory for a request: let the caller turn once and free some
			return true
		default:
			e.lose(errno)
			return true
		}
	}
	return false
}

func (e *uring) enterNow() {
	if e.lost != nil {
		return
	}
	e.counters.Enters++
	if e.ring.overflowed() {
		e.counters.Overflows++
	}
	switch errno := e.ring.submit(); errno {
	case 0, unix.EINTR, unix.EAGAIN, unix.EBUSY: // what was not submitted stays queued for the next Poll
	default:
		e.lose(errno)
	}
}

// collect turns completions into events, oldest first, as many as fit, and the wake mark into the last of them.
func (e *uring) collect(events []Event) int {
	n := e.collectBacklog(events)
	ready := e.ring.ready()
	taken := uint32(0)
	for taken < ready && n < len(events) {
		c := e.ring.completion(taken)
		taken++
		if e.complete(c, &events[n]) {
			n++
		}
	}
	e.ring.advance(taken)
	e.rearm()
	if n < len(events) && e.bell.answer() {
		events[n] = Event{Kind: EventWake}
		e.counters.Wakes++
		n++
	}
	shuffle(events[:n])
	e.counters.Events += uint64(n)
	return n
}

func (e *uring) collectBacklog(events []Event) int {
	n, taken := 0, 0
	for taken < len(e.backlog) && n < len(events) {
		c := e.backlog[taken]
		taken++
		if e.complete(c, &events[n]) {
			n++
		}
	}
	e.backlog = append(e.backlog[:0], e.backlog[taken:]...)
	return n
}

// rearm starts again the multishots that ended. Not where they are found: a submission may move completions to the
// backlog, so it must not happen while they are being walked over.
func (e *uring) rearm() {
	for _, u := range e.ended {
		if u.kind() == kindDoorbell {
			e.armDoorbell()
			continue
		}
		e.armAccept(u, e.ops.mustFind(u).fd)
	}
	e.ended = e.ended[:0]
}

// complete fills ev from one completion and reports whether it is one for the caller.
func (e *uring) complete(c cqe, ev *Event) bool {
	u := userData(c.userData)
	switch u.kind() {
	case kindDoorbell:
		if c.flags&cqeFlagMore == 0 {
			e.ended = append(e.ended, u)
		}
		return false
	case kindSignal: // successes are not reported: the message could not be delivered, so ring the other bell
		e.peers[u.slot()].bell.strike()
		return false
	case kindMessage:
		e.messages++
		return false
	case kindCancel: // tells how many it found; the cancelled tell for themselves
		return false
	case EventAccept:
		return e.completeAccept(u, c, ev)
	}
	o := e.ops.mustFind(u)
	*ev = Event{Token: o.token, Kind: o.kind, Res: c.res}
	if o.kind == EventRecv {
		e.takeBuffer(c, ev)
	}
	e.ops.remove(u)
	return true
}

// completeAccept re-arms the multishot when it ended without fault: the kernel ends one whenever its completion did
// not fit into the queue.
func (e *uring) completeAccept(u userData, c cqe, ev *Event) bool {
	o := e.ops.mustFind(u)
	more := c.flags&cqeFlagMore != 0
	if !more && (c.res >= 0 || transientAcceptError(unix.Errno(-c.res))) {
		e.ended = append(e.ended, u)
		more = true
		if c.res < 0 {
			return false
		}
	}
	*ev = Event{Token: o.token, Kind: EventAccept, Res: c.res, More: more}
	if !more {
		e.ops.remove(u)
	}
	return true
}

// transientAcceptError tells errors of the connection that was to be accepted, which accept(2) passes on, from those
// of the listener or the process.
func transientAcceptError(errno unix.Errno) bool {
	switch errno {
	case unix.EINTR, unix.EAGAIN, unix.ECONNABORTED, unix.EPROTO, unix.ENETDOWN, unix.ENOPROTOOPT, unix.EHOSTDOWN,
		unix.ENONET, unix.EHOSTUNREACH, unix.ENETUNREACH:
		return true
	}
	return false
}

// takeBuffer hands the buffer that the kernel picked to the caller, or back to the ring when nothing came.
func (e *uring) takeBuffer(c cqe, ev *Event) {
	if c.res == -int32(unix.ENOBUFS) {
		e.counters.NoBuffers++
	}
	if c.flags&cqeFlagBuffer == 0 {
		return
	}
	id := uint16(c.flags >> cqeBufferShift)
	if c.res <= 0 {
		e.bufs.append(id)
		return
	}
	ev.BufID = id
	ev.Buf = e.bufs.lend(id, int(c.res))
}

// Close awaits the end of every operation before it lets go of their memory. If the kernel does not end them in time
// (a dead disk, a lost ring), memory is left to it rather than freed under it.
func (e *uring) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	e.cancelAll()
	events := make([]Event, 64)
	for deadline := time.Now().Add(closeLimit); e.ops.live > 0 && e.lost == nil && time.Now().Before(deadline); {
		n, _ := e.Poll(events, 10*time.Millisecond)
		e.dropEvents(events[:n])
	}
	if e.ops.live > 0 {
		abandoned.Store(e, struct{}{})
		e.ring.close()
		e.bell.close()
		return errors.Join(fmt.Errorf("iouring: close with %d operations in flight: memory abandoned", e.ops.live), e.lost)
	}
	e.free()
	return nil
}

// abandoned keeps engines reachable that could not be closed, for the kernel may still write to their memory.
var abandoned sync.Map

func (e *uring) cancelAll() {
	s := e.entry()
	s.opcode, s.userData = abi.IORING_OP_ASYNC_CANCEL, uint64(packUserData(kindCancel, 0, 0))
	s.opFlags = asyncCancelAny | asyncCancelAll
}

// dropEvents frees what undelivered events own.
func (e *uring) dropEvents(events []Event) {
	for _, ev := range events {
		switch {
		case ev.Kind == EventAccept && ev.Res >= 0:
			_ = unix.Close(int(ev.Res))
		case ev.Buf != nil:
			e.ReleaseBuffer(ev.BufID)
		}
	}
}

func (e *uring) free() {
	e.ring.close()
	if e.bell != nil {
		e.bell.close()
	}
	if e.bufs != nil {
		e.bufs.close()
	}
}
