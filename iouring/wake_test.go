package iouring_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

// untilWake polls without limit until an EventWake.
func untilWake(t testing.TB, e iouring.Engine) {
	t.Helper()
	var events [4]iouring.Event
	n, err := e.Poll(events[:], -1)
	if err != nil || n != 1 || events[0].Kind != iouring.EventWake || events[0].Token != 0 || events[0].Res != 0 {
		t.Errorf("Poll = %d, %v, %+v, want a wake", n, err, events[:n])
	}
}

func TestWakeBeforePoll(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		e.Wake()
		e.Wake()
		untilWake(t, e)
		iouringtest.Quiet(t, e) // the two were one
	})
}

// TestWakeFromAnotherThread is a ping-pong in which each side's next move depends on the other's, so that a lost wake
// would hang it. Pauses of several lengths put the loop into both kinds of wait.
func TestWakeFromAnotherThread(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		woken := make(chan struct{})
		go func() {
			for i := range 2000 {
				if i%100 == 0 {
					time.Sleep(time.Millisecond)
				}
				e.Wake()
				<-woken
			}
		}()
		for range 2000 {
			untilWake(t, e)
			woken <- struct{}{}
		}
	})
}

func TestWakeStorm(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		var wakers sync.WaitGroup
		var posted, seen int
		var mu sync.Mutex
		for range 4 {
			wakers.Go(func() {
				for range 1000 {
					mu.Lock()
					posted++
					mu.Unlock()
					e.Wake()
				}
			})
		}
		var events [4]iouring.Event
		for seen < 4000 {
			if _, err := e.Poll(events[:], -1); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			seen = posted
			mu.Unlock()
		}
		wakers.Wait()
	})
}

// TestSignal plays ping-pong between engines on two threads, every pairing of kinds.
func TestSignal(t *testing.T) {
	for _, kinds := range [][2]string{{"uring", "uring"}, {"epoll", "epoll"}, {"uring", "epoll"}, {"epoll", "uring"}} {
		for name, cfg := range map[string]iouring.Config{"": {}, " with a spin": {Spin: iouringtest.Spin}} {
			t.Run(kinds[0]+" "+kinds[1]+name, func(t *testing.T) { signalPingPong(t, kinds[0], kinds[1], cfg, 2000) })
		}
	}
}

func signalPingPong(t *testing.T, here, there string, cfg iouring.Config, rounds int) {
	e := iouringtest.Open(t, here, cfg)
	peers := make(chan iouring.Engine)
	finished, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(closed)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		peer, _, err := iouring.New(there, cfg)
		if err != nil {
			peers <- nil
			return
		}
		peers <- peer
		for range rounds {
			untilWake(t, peer)
			peer.Signal(e) // rides on the next round's Poll
		}
		flush(t, peer)
		<-finished
		if err := peer.Close(); err != nil {
			t.Error(err)
		}
	}()
	peer := <-peers
	if peer == nil {
		t.Skip("no ", there, " engine here")
	}
	for range rounds {
		e.Signal(peer)
		untilWake(t, e)
	}
	close(finished)
	<-closed
}

// flush polls once without waiting, for a signal rides on the next Poll.
func flush(t testing.TB, e iouring.Engine) {
	var events [1]iouring.Event
	if _, err := e.Poll(events[:], 0); err != nil {
		t.Error(err)
	}
}

func TestSignalItself(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		e.Signal(iouringtest.NewFaultEngine(e, iouringtest.Script()))
		untilWake(t, e)
	})
}

func TestSignalToClosedPeer(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		peer, _, err := iouring.New(e.Name(), iouring.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Close(); err != nil {
			t.Fatal(err)
		}
		e.Signal(peer)
		peer.Wake()
		iouringtest.Quiet(t, e)
	})
}

// TestPollTimesOut checks that a limited wait ends without an event, in the part that the Go scheduler is not told of
// and beyond.
func TestPollTimesOut(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		var events [1]iouring.Event
		for _, wait := range []time.Duration{0, 1, 100 * time.Microsecond, 500 * time.Microsecond, 3 * time.Millisecond} {
			if n, err := e.Poll(events[:], wait); n != 0 || err != nil {
				t.Fatalf("Poll for %v = %d, %v, %+v", wait, n, err, events[0])
			}
		}
	})
}

// TestPollUnderCollection waits while the world is stopped over and over, so that waits are interrupted by signals.
func TestPollUnderCollection(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					runtime.GC()
				}
			}
		}()
		ours, peer := iouringtest.SocketPair(t, e)
		for i := range 200 {
			e.Recv(1, ours)
			write(t, peer, []byte{byte(i)})
			ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1)
			if len(ev.Buf) != 1 || ev.Buf[0] != byte(i) {
				t.Fatalf("round %d: %+v", i, ev)
			}
			e.ReleaseBuffer(ev.BufID)
			var events [1]iouring.Event
			if n, err := e.Poll(events[:], 200*time.Microsecond); n != 0 || err != nil {
				t.Fatalf("round %d: Poll = %d, %v", i, n, err)
			}
		}
		close(stop)
		<-stopped
	})
}
