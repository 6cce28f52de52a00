package iouring_test

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

var engineKinds = []string{"uring", "epoll"}

// eachEngine runs a benchmark on each engine, with and without a spin.
func eachEngine(b *testing.B, run func(b *testing.B, kind string, cfg iouring.Config)) {
	for _, kind := range engineKinds {
		for name, spin := range map[string]time.Duration{"sleeps": 0, "spins": 50 * time.Microsecond} {
			b.Run(kind+"-"+name, func(b *testing.B) { run(b, kind, iouring.Config{Spin: spin}) })
		}
	}
}

// BenchmarkPingPong echoes 100 bytes over a socket pair: a blocking client on another thread, the engine's Recv and
// an inline send on this one.
func BenchmarkPingPong(b *testing.B) {
	eachEngine(b, func(b *testing.B, kind string, cfg iouring.Config) {
		e := iouringtest.Open(b, kind, cfg)
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer unix.Close(pair[1])
		defer unix.Close(pair[0])
		defer e.CancelFD(pair[0])
		done := make(chan struct{})
		go askAndAwait(pair[1], b.N, done)
		events := make([]iouring.Event, 16)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			e.Recv(1, pair[0])
			if n, err := e.Poll(events, -1); n != 1 || err != nil {
				b.Fatal(n, err)
			}
			if _, err := iouring.SendNoWait(pair[0], events[0].Buf, false); err != nil {
				b.Fatal(err)
			}
			e.ReleaseBuffer(events[0].BufID)
		}
		<-done
	})
}

func askAndAwait(fd, rounds int, done chan<- struct{}) {
	defer close(done)
	var request, answer [100]byte
	for range rounds {
		if _, err := unix.Write(fd, request[:]); err != nil {
			return
		}
		if _, err := unix.Read(fd, answer[:]); err != nil {
			return
		}
	}
}

// BenchmarkRecvBatch takes one message from each of 64 sockets per round: what one turn of a busy loop costs.
func BenchmarkRecvBatch(b *testing.B) {
	const sockets = 64
	for _, kind := range engineKinds {
		b.Run(kind, func(b *testing.B) {
			e := iouringtest.Open(b, kind, iouring.Config{})
			var ours, peers [sockets]int
			for i := range sockets {
				ours[i], peers[i] = iouringtest.SocketPair(b, e)
				e.Recv(iouring.Token(i), ours[i])
			}
			events := make([]iouring.Event, sockets)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for _, fd := range peers {
					_, _ = iouring.SendNoWait(fd, []byte("request"), false)
				}
				for got := 0; got < sockets; {
					n, err := e.Poll(events, -1)
					if err != nil {
						b.Fatal(err)
					}
					for _, ev := range events[:n] {
						e.ReleaseBuffer(ev.BufID)
						e.Recv(ev.Token, ours[ev.Token])
					}
					got += n
				}
			}
		})
	}
}

// BenchmarkWakeAwake is what a Wake costs its caller while the loop is busy.
func BenchmarkWakeAwake(b *testing.B) {
	for _, kind := range engineKinds {
		b.Run(kind, func(b *testing.B) {
			e := iouringtest.Open(b, kind, iouring.Config{})
			for range b.N {
				e.Wake()
			}
		})
	}
}

// BenchmarkSignal is the round trip of a signal between two loops that wait between signals.
func BenchmarkSignal(b *testing.B) {
	eachEngine(b, func(b *testing.B, kind string, cfg iouring.Config) {
		e := iouringtest.Open(b, kind, cfg)
		peers, done, over := make(chan iouring.Engine), make(chan struct{}), make(chan struct{})
		go answerSignals(b, kind, cfg, e, b.N, peers, done, over)
		peer := <-peers
		if peer == nil {
			b.Skip("no second engine")
		}
		b.ResetTimer()
		for range b.N {
			e.Signal(peer)
			untilWake(b, e)
		}
		b.StopTimer()
		close(over)
		<-done
	})
}

func answerSignals(b *testing.B, kind string, cfg iouring.Config, back iouring.Engine, rounds int, peers chan<- iouring.Engine, done chan<- struct{}, over <-chan struct{}) {
	defer close(done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	peer, _, err := iouring.New(kind, cfg)
	if err != nil {
		peers <- nil
		return
	}
	peers <- peer
	for range rounds {
		untilWake(b, peer)
		peer.Signal(back)
	}
	flush(b, peer)
	<-over
	_ = peer.Close()
}
