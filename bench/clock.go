package bench

import (
	"context"
	"net"
	"time"
)

// Clock is what a schedule is kept by. Monotonic is the real one; in a bubble of testing/synctest bench/benchtest has one whose time is
// exact.
type Clock interface {
	// Now reads it.
	Now() Instant
	// Wait sleeps until an instant on the calling goroutine, which Lock has prepared. A missed instant returns at once, so that a late
	// generator catches up in a burst, as its events were due.
	Wait(until Instant)
	// Lock prepares the calling goroutine for Wait; unlock undoes that.
	Lock() (unlock func())
}

// Dialer makes connections: (*net.Dialer).DialContext, or a test's.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Monotonic is CLOCK_MONOTONIC with nanosleep.
type Monotonic struct{}

// Now reads the clock.
func (Monotonic) Now() Instant { return Now() }

// Wait is clock_nanosleep(2) to an absolute time.
func (Monotonic) Wait(until Instant) { until.Wait() }

// Lock is LockPacing.
func (Monotonic) Lock() (unlock func()) { return LockPacing() }

// netDial is the Dialer of a run that names none.
func netDial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
}
