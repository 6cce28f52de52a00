package iouring_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

// eachSpinning runs test on engines whose spin is longer than the test, and which have seen events come soon.
func eachSpinning(t *testing.T, test func(t *testing.T, e iouring.Engine)) {
	iouringtest.Each(t, iouring.Config{Spin: time.Hour}, func(t *testing.T, e iouring.Engine) {
		for range 8 {
			e.Wake()
			untilWake(t, e)
		}
		test(t, e)
	})
}

// TestSpinFindsWithoutSleep: what comes during a spin is found there, be it bytes, a wake, a signal or the end of a file operation.
func TestSpinFindsWithoutSleep(t *testing.T) {
	for name, c := range map[string]struct {
		kind iouring.EventKind
		// start begins an operation, and later, which another thread calls, brings its event.
		start func(t *testing.T, e iouring.Engine) (later func())
	}{
		"recv": {iouring.EventRecv, func(t *testing.T, e iouring.Engine) func() {
			ours, peer := iouringtest.SocketPair(t, e)
			e.Recv(1, ours)
			return func() { _, _ = unix.Write(peer, []byte("x")) }
		}},
		"accept": {iouring.EventAccept, func(t *testing.T, e iouring.Engine) func() {
			fd, addr := listen(t, e)
			e.Accept(1, fd)
			return func() { dial(t, addr) }
		}},
		"poll-out": {iouring.EventPollOut, func(t *testing.T, e iouring.Engine) func() {
			ours, peer := iouringtest.SocketPair(t, e)
			full := make([]byte, 1<<20)
			for {
				if _, err := unix.Write(ours, full); err != nil {
					break
				}
			}
			e.PollOut(1, ours)
			return func() {
				for {
					if n, err := unix.Read(peer, full); n <= 0 || err != nil {
						return
					}
				}
			}
		}},
		"wake": {iouring.EventWake, func(_ *testing.T, e iouring.Engine) func() { return e.Wake }},
		"sync": {iouring.EventSync, func(t *testing.T, e iouring.Engine) func() {
			e.Datasync(1, int(scratch(t, nil).Fd()))
			return func() {}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			eachSpinning(t, func(t *testing.T, e iouring.Engine) {
				before := e.Counters()
				for e.Counters().SpinHits == before.SpinHits { // what comes before the Poll needs no spin
					later := c.start(t, e)
					done := make(chan struct{})
					go func() {
						defer close(done)
						time.Sleep(time.Millisecond)
						later()
					}()
					events := make([]iouring.Event, 4)
					n, err := e.Poll(events, -1)
					<-done
					if n != 1 || err != nil || events[0].Kind != c.kind || events[0].Res < 0 {
						t.Fatalf("Poll = %d, %v, %+v", n, err, events[0])
					}
					switch ev := events[0]; ev.Kind {
					case iouring.EventRecv:
						e.ReleaseBuffer(ev.BufID)
					case iouring.EventAccept:
						unix.Close(int(ev.Res))
					}
				}
				if after := e.Counters(); after.Sleeps != before.Sleeps {
					t.Fatalf("%d sleeps beside a spin", after.Sleeps-before.Sleeps)
				}
			})
		})
	}
}

// TestSpinEndsWithPoll: a Poll's limit ends its spin.
func TestSpinEndsWithPoll(t *testing.T) {
	eachSpinning(t, func(t *testing.T, e iouring.Engine) {
		before := e.Counters()
		iouringtest.Quiet(t, e)
		after := e.Counters()
		if after.Spins != before.Spins+1 || after.SpinHits != before.SpinHits {
			t.Fatalf("counters %+v, before %+v: want a spin in vain", after, before)
		}
	})
}

// TestIdleLoopDoesNotSpin: after eight waits in vain there is no spin.
func TestIdleLoopDoesNotSpin(t *testing.T) {
	const spin = time.Microsecond
	iouringtest.Each(t, iouring.Config{Spin: spin}, func(t *testing.T, e iouring.Engine) {
		idle := func(what string) {
			t.Helper()
			for range 8 {
				iouringtest.Quiet(t, e)
			}
			before := e.Counters()
			iouringtest.Quiet(t, e)
			if after := e.Counters(); after.Spins != before.Spins {
				t.Fatalf("%s: spins %d, before %d", what, after.Spins, before.Spins)
			}
		}
		idle("at first")
		for range 8 {
			e.Wake()
			untilWake(t, e)
		}
		before := e.Counters()
		iouringtest.Quiet(t, e)
		if after := e.Counters(); after.Spins != before.Spins+1 {
			t.Fatalf("%d spins after events, before %d", after.Spins, before.Spins)
		}
		idle("after events")
	})
}
