package benchtest

import (
	"time"

	"github.com/ringmill/ringmill/bench"
)

// Clock is bench's clock inside a bubble of testing/synctest: the bubble's time, by the runtime's timers, which are exact there.
type Clock struct{}

// Now is the bubble's time.
func (Clock) Now() bench.Instant { return bench.Instant(time.Now().UnixNano()) }

// Wait sleeps in the bubble.
func (c Clock) Wait(until bench.Instant) { time.Sleep(until.Sub(c.Now())) }

// Lock does nothing: no thread of a bubble is anybody's.
func (Clock) Lock() (unlock func()) { return func() {} }
