package iouringtest

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
)

// patience is when Await gives a test up. It only bounds failures; no test takes that long.
const patience = 20 * time.Second

// Spin is the spin of the engines that [Each] has spin: long enough for what a test does next to come within it.
const Spin = 200 * time.Microsecond

// Each runs test once on every engine, each on a locked thread of its own, closing the engine afterwards, and, if cfg has
// none, once more with a spin. An engine that this kernel refuses is skipped with the probe's reason.
func Each(t *testing.T, cfg iouring.Config, test func(t *testing.T, e iouring.Engine)) {
	t.Helper()
	for _, kind := range []string{"uring", "epoll"} {
		t.Run(kind, func(t *testing.T) { test(t, Open(t, kind, cfg)) })
		if cfg.Spin == 0 {
			spinning := cfg
			spinning.Spin = Spin
			t.Run(kind+" with a spin", func(t *testing.T) { test(t, Open(t, kind, spinning)) })
		}
	}
}

// Open locks the goroutine to its thread and makes an engine of that kind, to be closed at the end of the test; it
// skips the test, with the reason, if the kind is "uring" and the kernel refuses.
func Open(t testing.TB, kind string, cfg iouring.Config) iouring.Engine {
	t.Helper()
	runtime.LockOSThread()
	e, probe, err := iouring.New(kind, cfg)
	var unavailable *iouring.UnavailableError
	if errors.As(err, &unavailable) {
		t.Skip(probe.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		runtime.UnlockOSThread()
	})
	return e
}

// Await polls e until it has given n events.
func Await(t testing.TB, e iouring.Engine, n int) []iouring.Event {
	t.Helper()
	var got []iouring.Event
	batch := make([]iouring.Event, 16)
	for deadline := time.Now().Add(patience); len(got) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d events: %+v", len(got), n, got)
		}
		k, err := e.Poll(batch[:min(len(batch), n-len(got))], 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, batch[:k]...)
	}
	return got
}

// AwaitOne polls e for one event and checks what it completes.
func AwaitOne(t testing.TB, e iouring.Engine, kind iouring.EventKind, tok iouring.Token) iouring.Event {
	t.Helper()
	ev := Await(t, e, 1)[0]
	if ev.Kind != kind || ev.Token != tok {
		t.Fatalf("event %+v (%s), want %s of token %d", ev, ev.Kind, kind, tok)
	}
	return ev
}

// Quiet checks that e has no event to give.
func Quiet(t testing.TB, e iouring.Engine) {
	t.Helper()
	var batch [4]iouring.Event
	n, err := e.Poll(batch[:], time.Millisecond)
	if err != nil || n != 0 {
		t.Fatalf("Poll = %d, %v with events %+v, want none", n, err, batch[:n])
	}
}

// SocketPair returns two connected, non-blocking stream sockets. The first is one to use with e: at the end of the
// test it is cancelled there, then both are closed.
func SocketPair(t testing.TB, e iouring.Engine) (ours, peers int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.CancelFD(pair[0])
		unix.Close(pair[0])
		unix.Close(pair[1])
	})
	return pair[0], pair[1]
}
