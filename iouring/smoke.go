package iouring

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// smokeError says which part of the live test failed.
type smokeError struct {
	Step string
	Err  error
}

func (e *smokeError) Error() string { return fmt.Sprintf("iouring: live test: %s: %v", e.Step, e.Err) }
func (e *smokeError) Unwrap() error { return e.Err }

// smokeLimit bounds each step. A ring that answers at all does so in microseconds.
const smokeLimit = 2 * time.Second

// smokeTest runs the operations that have failed on some kernel or in some sandbox although the set-up succeeded: a
// receive with provided buffers, a message from ring to ring, and an fsync, which goes through io-wq's threads.
func smokeTest(e *uring) error {
	for _, step := range []struct {
		name string
		run  func(*uring) error
	}{
		{"receive from a socket pair", smokeRecv},
		{"message to itself", smokeMessage},
		{"sync a file in memory", smokeSync},
	} {
		if err := step.run(e); err != nil {
			return &smokeError{step.name, err}
		}
	}
	return nil
}

func smokeRecv(e *uring) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	e.Recv(1, pair[0])
	if _, err := unix.Write(pair[1], []byte("ping")); err != nil {
		return err
	}
	ev, err := smokeAwait(e, EventRecv)
	if err != nil {
		return err
	}
	defer e.ReleaseBuffer(ev.BufID)
	if string(ev.Buf) != "ping" {
		return fmt.Errorf("received %q", ev.Buf)
	}
	return nil
}

// smokeMessage can't use Signal, which would see that the loop is awake.
func smokeMessage(e *uring) error {
	e.bell.woken.Store(true)
	e.message(e)
	before := e.messages
	if _, err := smokeAwait(e, EventWake); err != nil {
		return err
	}
	for range 100 {
		if e.messages > before {
			return nil
		}
		if _, err := e.Poll(make([]Event, 1), time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("no message after %d polls", 100)
}

func smokeSync(e *uring) error {
	fd, err := unix.MemfdCreate("ringmill-probe", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	e.Datasync(1, fd)
	_, err = smokeAwait(e, EventSync)
	return err
}

// smokeAwait polls for the one event that is due.
func smokeAwait(e *uring, kind EventKind) (Event, error) {
	var events [1]Event
	n, err := e.Poll(events[:], smokeLimit)
	switch {
	case err != nil:
		return Event{}, err
	case n == 0:
		return Event{}, fmt.Errorf("no %s event within %v", kind, smokeLimit)
	case events[0].Kind != kind:
		return Event{}, fmt.Errorf("event %s instead of %s", events[0].Kind, kind)
	case events[0].Res < 0:
		return Event{}, unix.Errno(-events[0].Res)
	}
	return events[0], nil
}
