package iouring_test

import (
	"bytes"
	"net"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

// listen returns a listening socket on the loopback and its address.
func listen(t *testing.T, e iouring.Engine) (int, string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.CancelFD(fd)
		unix.Close(fd)
	})
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 16); err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: sa.(*unix.SockaddrInet4).Port}
	return fd, at.String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestAccept(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		fd, addr := listen(t, e)
		e.Accept(7, fd)
		for range 3 {
			dial(t, addr)
		}
		for _, ev := range iouringtest.Await(t, e, 3) {
			if ev.Kind != iouring.EventAccept || ev.Token != 7 || ev.Res < 0 || !ev.More {
				t.Fatalf("event %+v", ev)
			}
			checkAccepted(t, int(ev.Res))
		}
		dial(t, addr)
		ev := iouringtest.AwaitOne(t, e, iouring.EventAccept, 7) // still armed
		unix.Close(int(ev.Res))

		e.CancelFD(fd)
		ev = iouringtest.AwaitOne(t, e, iouring.EventAccept, 7)
		if ev.Res != -int32(unix.ECANCELED) || ev.More {
			t.Fatalf("after CancelFD: %+v", ev)
		}
	})
}

func checkAccepted(t *testing.T, fd int) {
	t.Helper()
	defer unix.Close(fd)
	if fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || fl&unix.O_NONBLOCK == 0 {
		t.Errorf("accepted descriptor: flags %#x, %v: not non-blocking", fl, err)
	}
	if fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || fl&unix.FD_CLOEXEC == 0 {
		t.Errorf("accepted descriptor: descriptor flags %#x, %v: not close-on-exec", fl, err)
	}
}

func TestAcceptFails(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		ours, _ := iouringtest.SocketPair(t, e) // connected, so it can't accept
		e.Accept(1, ours)
		ev := iouringtest.AwaitOne(t, e, iouring.EventAccept, 1)
		if ev.Res != -int32(unix.EINVAL) || ev.More {
			t.Fatalf("event %+v, want -EINVAL and no more", ev)
		}
		iouringtest.Quiet(t, e)
	})
}

// TestAcceptWithoutDescriptors runs into the limit on descriptors and out of it again.
func TestAcceptWithoutDescriptors(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		fd, addr := listen(t, e)
		dial(t, addr)
		var before unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Dup(fd) // the number the next descriptor would get
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(next)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next), Max: before.Max}); err != nil {
			t.Fatal(err)
		}
		e.Accept(1, fd)
		ev := iouringtest.AwaitOne(t, e, iouring.EventAccept, 1)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
		if ev.Res != -int32(unix.EMFILE) || ev.More {
			t.Fatalf("event %+v, want -EMFILE and no more", ev)
		}
		iouringtest.Quiet(t, e)
		e.Accept(1, fd)
		ev = iouringtest.AwaitOne(t, e, iouring.EventAccept, 1)
		if ev.Res < 0 || !ev.More {
			t.Fatalf("event %+v, want the connection that waited", ev)
		}
		unix.Close(int(ev.Res))
	})
}

func TestRecv(t *testing.T) {
	iouringtest.Each(t, iouring.Config{Buffers: 4, BufferSize: 4096}, func(t *testing.T, e iouring.Engine) {
		ours, peer := iouringtest.SocketPair(t, e)
		e.Recv(5, ours)
		iouringtest.Quiet(t, e)
		sent := bytes.Repeat([]byte("0123456789"), 600) // 6000 bytes: a full buffer and a rest
		write(t, peer, sent)
		var got []byte
		for len(got) < len(sent) {
			ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 5)
			if int(ev.Res) != len(ev.Buf) || ev.Res <= 0 || ev.More {
				t.Fatalf("event %+v", ev)
			}
			got = append(got, ev.Buf...)
			e.ReleaseBuffer(ev.BufID)
			e.Recv(5, ours)
		}
		if !bytes.Equal(got, sent) {
			t.Fatal("received other bytes than were sent")
		}
		if err := unix.Shutdown(peer, unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the end of the stream is told as often as it is asked for
			if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 5); ev.Res != 0 || ev.Buf != nil {
				t.Fatalf("at end of stream: %+v", ev)
			}
			e.Recv(5, ours)
		}
	})
}

// TestRecvEndWithData has the bytes and the end of the stream arrive together, where an edge-triggered engine could
// wait for an edge that has passed.
func TestRecvEndWithData(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		ours, peer := iouringtest.SocketPair(t, e)
		write(t, peer, []byte("last words"))
		if err := unix.Shutdown(peer, unix.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		e.Recv(1, ours)
		ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1)
		if string(ev.Buf) != "last words" {
			t.Fatalf("event %+v", ev)
		}
		e.ReleaseBuffer(ev.BufID)
		e.Recv(1, ours)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1); ev.Res != 0 {
			t.Fatalf("event %+v, want the end", ev)
		}
	})
}

func TestRecvNoBuffers(t *testing.T) {
	iouringtest.Each(t, iouring.Config{Buffers: 2, BufferSize: 4096}, func(t *testing.T, e iouring.Engine) {
		ours, peer := iouringtest.SocketPair(t, e)
		var held []iouring.Event
		for range 2 {
			write(t, peer, []byte("x"))
			e.Recv(1, ours)
			held = append(held, iouringtest.AwaitOne(t, e, iouring.EventRecv, 1))
		}
		if held[0].BufID == held[1].BufID {
			t.Fatalf("one buffer lent twice: %+v", held)
		}
		write(t, peer, []byte("y"))
		e.Recv(1, ours)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1); ev.Res != -int32(unix.ENOBUFS) || ev.Buf != nil {
			t.Fatalf("event %+v, want -ENOBUFS", ev)
		}
		e.ReleaseBuffer(held[0].BufID)
		e.Recv(1, ours)
		ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1)
		if string(ev.Buf) != "y" {
			t.Fatalf("event %+v, want the byte that waited", ev)
		}
		e.ReleaseBuffer(ev.BufID)
		e.ReleaseBuffer(held[1].BufID)
	})
}

// TestBuffersCirculate takes a small pool round often enough that its 16-bit tail wraps.
func TestBuffersCirculate(t *testing.T) {
	iouringtest.Each(t, iouring.Config{Buffers: 2, BufferSize: 64}, func(t *testing.T, e iouring.Engine) {
		ours, peer := iouringtest.SocketPair(t, e)
		events := make([]iouring.Event, 1)
		for i := range 1<<16 + 100 {
			write(t, peer, []byte{byte(i)})
			e.Recv(1, ours)
			n, err := e.Poll(events, -1)
			if err != nil || n != 1 || len(events[0].Buf) != 1 || events[0].Buf[0] != byte(i) {
				t.Fatalf("round %d: %d events, %v: %+v", i, n, err, events[0])
			}
			e.ReleaseBuffer(events[0].BufID)
		}
	})
}

func TestReleaseTwicePanics(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		defer func() {
			if recover() == nil {
				t.Fatal("no panic")
			}
		}()
		e.ReleaseBuffer(3)
	})
}

func TestRecvInto(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		ours, peer := iouringtest.SocketPair(t, e)
		dst := make([]byte, 100)
		e.RecvInto(9, ours, dst)
		iouringtest.Quiet(t, e) // the kernel has the address
		runtime.GC()
		write(t, peer, []byte("straight"))
		ev := iouringtest.AwaitOne(t, e, iouring.EventRecvInto, 9)
		if ev.Res != 8 || string(dst[:8]) != "straight" || ev.Buf != nil {
			t.Fatalf("event %+v, dst %q", ev, dst[:8])
		}
		e.RecvInto(9, ours, dst[:4])
		write(t, peer, []byte("longer"))
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecvInto, 9); ev.Res != 4 {
			t.Fatalf("event %+v, want 4 bytes", ev)
		}
		e.RecvInto(9, ours, dst)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecvInto, 9); ev.Res != 2 {
			t.Fatalf("event %+v, want the 2 bytes left", ev)
		}
	})
}

func TestRecvReset(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		fd, addr := listen(t, e)
		c := dial(t, addr)
		e.Accept(1, fd)
		conn := int(iouringtest.AwaitOne(t, e, iouring.EventAccept, 1).Res)
		defer unix.Close(conn)
		defer e.CancelFD(conn)
		e.Recv(2, conn)
		iouringtest.Quiet(t, e)
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 2); ev.Res != -int32(unix.ECONNRESET) {
			t.Fatalf("event %+v, want -ECONNRESET", ev)
		}
	})
}

func TestPollOut(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		ours, peer := iouringtest.SocketPair(t, e)
		e.PollOut(3, ours)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventPollOut, 3); ev.Res&unix.POLLOUT == 0 {
			t.Fatalf("event %+v of an empty socket", ev)
		}
		filled := fill(t, ours)
		e.PollOut(3, ours)
		iouringtest.Quiet(t, e)
		drain(t, peer, filled)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventPollOut, 3); ev.Res&unix.POLLOUT == 0 {
			t.Fatalf("event %+v after the peer has read", ev)
		}
	})
}

// TestPollOutLate lets the socket become writable, and the engine look, before the caller asks.
func TestPollOutLate(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		ours, peer := iouringtest.SocketPair(t, e)
		e.Recv(1, ours)
		drain(t, peer, fill(t, ours))
		iouringtest.Quiet(t, e)
		e.PollOut(3, ours)
		iouringtest.AwaitOne(t, e, iouring.EventPollOut, 3)
	})
}

func TestSocketOperationsOnClosedDescriptor(t *testing.T) {
	const closed = 1 << 16 // beyond any limit on descriptors here
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		e.Recv(1, closed)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1); ev.Res != -int32(unix.EBADF) {
			t.Errorf("recv: %+v, want -EBADF", ev)
		}
		e.RecvInto(1, -1, make([]byte, 1))
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecvInto, 1); ev.Res != -int32(unix.EBADF) {
			t.Errorf("recv-into: %+v, want -EBADF", ev)
		}
		e.PollOut(1, closed)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventPollOut, 1); ev.Res != -int32(unix.EBADF) {
			t.Errorf("poll-out: %+v, want -EBADF", ev)
		}
	})
}

func TestCancelFD(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		ours, _ := iouringtest.SocketPair(t, e)
		other, _ := iouringtest.SocketPair(t, e)
		fill(t, ours)
		e.Recv(1, ours)
		e.PollOut(2, ours)
		e.Recv(3, other)
		iouringtest.Quiet(t, e)
		e.CancelFD(ours)
		seen := map[iouring.Token]int32{}
		for _, ev := range iouringtest.Await(t, e, 2) {
			seen[ev.Token] = ev.Res
		}
		if want := -int32(unix.ECANCELED); seen[1] != want || seen[2] != want {
			t.Fatalf("results %v, want -ECANCELED of 1 and 2", seen)
		}
		iouringtest.Quiet(t, e) // 3 stays
	})
}

// TestCancelFDBeforePoll cancels what was started in the same turn and closes at once; the descriptor's number is
// taken by another file before the next Poll.
func TestCancelFDBeforePoll(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(pair[1])
		e.Recv(1, pair[0])
		e.CancelFD(pair[0])
		unix.Close(pair[0])
		successor, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(successor)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1); ev.Res != -int32(unix.ECANCELED) {
			t.Fatalf("event %+v, want -ECANCELED", ev)
		}
	})
}

// TestDescriptorReuse runs one connection after the other over the same descriptor numbers.
func TestDescriptorReuse(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		fd, addr := listen(t, e)
		e.Accept(1, fd)
		for i := range 20 {
			c := dial(t, addr)
			conn := int(iouringtest.AwaitOne(t, e, iouring.EventAccept, 1).Res)
			e.Recv(2, conn)
			if _, err := c.Write([]byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
			ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 2)
			if len(ev.Buf) != 1 || ev.Buf[0] != byte(i) {
				t.Fatalf("connection %d: %+v", i, ev)
			}
			e.ReleaseBuffer(ev.BufID)
			e.CancelFD(conn)
			unix.Close(conn)
			c.Close()
		}
	})
}

// TestSmallQueues starts more than either queue holds, so that submissions happen early and completions overflow.
func TestSmallQueues(t *testing.T) {
	const sockets = 200
	iouringtest.Each(t, iouring.Config{Entries: 4, CQEntries: 8, Buffers: 256, BufferSize: 64}, func(t *testing.T, e iouring.Engine) {
		for i := range sockets {
			ours, peer := iouringtest.SocketPair(t, e)
			write(t, peer, []byte{byte(i)})
			e.Recv(iouring.Token(i), ours)
		}
		seen := map[iouring.Token]bool{}
		for _, ev := range iouringtest.Await(t, e, sockets) {
			if len(ev.Buf) != 1 || ev.Buf[0] != byte(ev.Token) || seen[ev.Token] {
				t.Fatalf("event %+v", ev)
			}
			seen[ev.Token] = true
			e.ReleaseBuffer(ev.BufID)
		}
		iouringtest.Quiet(t, e)
		if c := e.Counters(); e.Name() == "uring" && (c.EarlySubmits == 0 || c.Overflows == 0) {
			t.Errorf("counters %+v: neither queue ran over, so nothing was tested", c)
		}
	})
}

// TestAcceptOverflow lets more connections arrive than the completion queue holds, which ends the multishot.
func TestAcceptOverflow(t *testing.T) {
	iouringtest.Each(t, iouring.Config{Entries: 1, CQEntries: 2}, func(t *testing.T, e iouring.Engine) {
		fd, addr := listen(t, e)
		for range 12 {
			dial(t, addr)
		}
		e.Accept(1, fd)
		for _, ev := range iouringtest.Await(t, e, 12) {
			if ev.Kind != iouring.EventAccept || ev.Res < 0 || !ev.More {
				t.Fatalf("event %+v", ev)
			}
			unix.Close(int(ev.Res))
		}
		unix.Close(int(func() int32 { dial(t, addr); return iouringtest.AwaitOne(t, e, iouring.EventAccept, 1).Res }()))
	})
}

// TestCloseInFlight closes an engine that still has everything in flight; what it watched must be free afterwards.
func TestCloseInFlight(t *testing.T) {
	for _, kind := range []string{"uring", "epoll"} {
		t.Run(kind, func(t *testing.T) {
			e := openForClose(t, kind)
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			e.RecvInto(1, pair[0], make([]byte, 10))
			iouringtest.Quiet(t, e)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			write(t, pair[1], []byte("still here"))
			var b [20]byte
			if n, err := unix.Read(pair[0], b[:]); err != nil || n != 10 {
				t.Fatalf("read %d, %v: the closed engine took the bytes", n, err)
			}
		})
	}
}

func openForClose(t *testing.T, kind string) iouring.Engine {
	t.Helper()
	runtime.LockOSThread()
	e, probe, err := iouring.New(kind, iouring.Config{})
	if err != nil {
		t.Skip(probe.String())
	}
	return e
}

func write(t testing.TB, fd int, p []byte) {
	t.Helper()
	if n, err := unix.Write(fd, p); err != nil || n != len(p) {
		t.Fatalf("write %d of %d bytes, %v", n, len(p), err)
	}
}

// fill sends until the socket is full and returns the count.
func fill(t *testing.T, fd int) int {
	t.Helper()
	chunk := make([]byte, 64<<10)
	total := 0
	for {
		n, err := iouring.SendNoWait(fd, chunk, false)
		if err == unix.EAGAIN {
			return total
		}
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
}

func drain(t *testing.T, fd, n int) {
	t.Helper()
	chunk := make([]byte, 64<<10)
	for n > 0 {
		k, err := unix.Read(fd, chunk)
		if err != nil {
			t.Fatal(err)
		}
		n -= k
	}
}
