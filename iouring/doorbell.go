package iouring

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// doorbell wakes a loop from other threads. Ringing costs one atomic store while the loop is awake and an eventfd
// write only when it sleeps.
//
// The protocol is Dekker's: the caller stores woken, then loads sleeping; the loop stores sleeping, then loads woken.
// sync/atomic is sequentially consistent, so at least one of the two sees the other: a wake is never lost between
// the loop's last look and its sleep.
type doorbell struct {
	woken    atomic.Bool // a Wake or Signal not yet reported by an EventWake
	sleeping atomic.Bool // the loop is, or is about to be, in the kernel
	closed   atomic.Bool
	striking atomic.Int32 // strikes under way, which close awaits: a late write must not meet another file
	fd       int          // eventfd; its counter is never read, each write is an edge of its own
}

func openDoorbell() (*doorbell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("iouring: open an eventfd: %w", err)
	}
	return &doorbell{fd: fd}, nil
}

// ring is Wake.
func (d *doorbell) ring() {
	if d.mark() {
		d.strike()
	}
}

// mark leaves a wake and reports whether the loop sleeps, in which case the caller, and only this caller, must strike.
// A mark that is there already is as good as a new one: whoever left it ends the sleep if need be, and the loop, which
// has yet to answer it, will look for what came before this load.
func (d *doorbell) mark() bool {
	if d.woken.Load() {
		return false
	}
	d.woken.Store(true)
	return d.claim()
}

// claim makes the caller the one who ends the loop's sleep, if it sleeps.
func (d *doorbell) claim() bool {
	return d.sleeping.Load() && !d.closed.Load() && d.sleeping.CompareAndSwap(true, false)
}

// strike ends the loop's sleep. The write can't block, and fails only when the counter nears 2⁶⁴.
func (d *doorbell) strike() {
	d.striking.Add(1)
	defer d.striking.Add(-1)
	if d.closed.Load() {
		return
	}
	one := [8]byte{1}
	_, _ = unix.Write(d.fd, one[:])
}

// fallAsleep announces that the loop is about to sleep and reports whether it may: not if a wake came meanwhile.
func (d *doorbell) fallAsleep() bool {
	d.sleeping.Store(true)
	if d.woken.Load() {
		d.sleeping.Store(false)
		return false
	}
	return true
}

func (d *doorbell) awake() { d.sleeping.Store(false) }

// answer reports whether there was a wake, once.
func (d *doorbell) answer() bool { return d.woken.Load() && d.woken.Swap(false) }

func (d *doorbell) close() {
	d.closed.Store(true)
	for d.striking.Load() > 0 {
		runtime.Gosched()
	}
	_ = unix.Close(d.fd)
}
