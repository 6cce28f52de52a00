package limits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/iouring"
)

// Sizes of what goes over the loopback: a small request, and a fetch's worth of a file.
const (
	requestBytes = 100
	fileBytes    = 64 << 20
	pieceBytes   = 1 << 20
)

// Loop measures requests and answers over a TCP connection of the loopback, and the ways from the page cache to a socket.
func Loop(ctx context.Context, o Options) ([]Limit, error) { return measure(ctx, o, loopItems()) }

func loopItems() []item {
	var items []item
	for _, out := range []int{1, 64} {
		items = append(items, item{fmt.Sprintf("request and answer of %d bytes, %d out, blocking calls", requestBytes, out), answered(out, blockingEcho)})
		for _, kind := range []string{"uring", "epoll"} {
			items = append(items, item{fmt.Sprintf("request and answer of %d bytes, %d out, ringmill's %s engine", requestBytes, out, kind), answered(out, engineEcho(kind))})
		}
		for _, p := range peers {
			items = append(items, item{fmt.Sprintf("request and answer of %d bytes, %d out, %s", requestBytes, out, p.name), answered(out, p.serve)})
		}
	}
	return append(items,
		item{"page cache to socket, sendfile", streamed(sendfile)},
		item{"page cache to socket, splice through a pipe", streamed(splice)},
		item{"page cache to socket, pread and write", streamed(copied)})
}

// echo answers all that comes on a listener's one connection with the same, until it ends.
type echo func(listener *net.TCPListener) error

// peers are servers on other libraries, which only builds of their own have (iouringgo.go).
var peers []struct {
	name  string
	serve echo
}

// answered asks over one connection, with so many requests out at a time.
func answered(out int, serve echo) func(context.Context, Options, *count) error {
	return func(ctx context.Context, _ Options, c *count) error {
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		defer listener.Close()
		var server errgroup.Group
		server.Go(func() error {
			defer listener.Close() // a client that was not accepted is told
			return serve(listener)
		})
		err = ask(ctx, listener.Addr().String(), out, c)
		_ = listener.Close() // a server that still waits for its connection ends
		if ended := server.Wait(); errors.Is(ended, errMissing) || err == nil {
			return ended
		}
		return err
	}
}

// ask keeps out requests on their way; each latency is from a request's sending to its answer.
func ask(ctx context.Context, address string, out int, c *count) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	request, answer := filled(requestBytes), make([]byte, requestBytes)
	sent := make([]bench.Instant, 0, out)
	c.begin()
	for range out {
		sent = append(sent, bench.Now())
		if _, err := conn.Write(request); err != nil {
			return err
		}
	}
	for oldest := 0; ; oldest = (oldest + 1) % out {
		if _, err := io.ReadFull(conn, answer); err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
		sent[oldest] = c.timed(sent[oldest], 2*requestBytes)
		if !c.goes(ctx) {
			return nil // what is out is answered to nobody
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
	}
}

// blockingEcho is the plainest server there is: a goroutine of Go's net.
func blockingEcho(listener *net.TCPListener) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			if _, err := conn.Write(buf[:n]); err != nil {
				return gone(err)
			}
		}
		if err != nil {
			return gone(err)
		}
	}
}

// gone forgives that a client has gone with answers on their way to it.
func gone(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}

// acceptFile gives the next connection as a descriptor that no poller of Go's knows.
func acceptFile(listener *net.TCPListener) (*os.File, error) {
	conn, err := listener.AcceptTCP()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.File()
}

// engineEcho is a server on a loop of ringmill's own.
func engineEcho(kind string) echo {
	return func(listener *net.TCPListener) error {
		defer bench.LockPacing()() // an engine's calls belong to one thread
		e, probe, err := iouring.New(kind, iouring.Config{})
		if err != nil {
			return fmt.Errorf("%w: %w", errMissing, err)
		}
		defer e.Close()
		if e.Name() != kind {
			return fmt.Errorf("%w: %s", errMissing, probe.Reason)
		}
		file, err := acceptFile(listener)
		if err != nil {
			return err
		}
		defer file.Close()
		return echoOn(e, int(file.Fd()))
	}
}

func echoOn(e iouring.Engine, fd int) error {
	const token = 1
	events := make([]iouring.Event, 8)
	var pending []byte
	for {
		e.Recv(token, fd)
		n, err := e.Poll(events, -1)
		if err != nil {
			return err
		}
		for _, ev := range events[:n] {
			if ev.Kind != iouring.EventRecv || ev.Res <= 0 {
				e.CancelFD(fd)
				if ev.Res < 0 {
					return gone(unix.Errno(-ev.Res))
				}
				return nil
			}
			pending = append(pending[:0], ev.Buf...)
			e.ReleaseBuffer(ev.BufID)
			for len(pending) > 0 {
				sent, err := iouring.SendNoWait(fd, pending, false)
				switch err {
				case nil:
					pending = pending[sent:]
				case unix.EAGAIN: // there is room for all that may be out
					time.Sleep(50 * time.Microsecond)
				default:
					e.CancelFD(fd)
					return gone(err)
				}
			}
		}
	}
}

// streamed reads a file out of the page cache to a socket, by the way that send makes, while another goroutine reads the other end.
func streamed(way func() (sender, error)) func(context.Context, Options, *count) error {
	return func(ctx context.Context, o Options, c *count) error {
		return withFile(o.Dir, func(file int) error {
			if err := written(file, filled(fileBytes), 0); err != nil {
				return err
			}
			send, err := way()
			if err != nil {
				return err
			}
			defer send.end()
			to, from, err := connected()
			if err != nil {
				return err
			}
			defer from.Close()
			var reader errgroup.Group
			reader.Go(func() error {
				_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{from}, make([]byte, pieceBytes))
				return err
			})
			c.begin()
			for at := int64(0); err == nil && c.goes(ctx); at = (at + pieceBytes) % fileBytes {
				err = sendPiece(send, int(to.Fd()), file, at)
				c.operations++
				c.bytes += pieceBytes
			}
			return errors.Join(err, to.Close(), reader.Wait())
		})
	}
}

// connected is both ends of a connection of the loopback, the first one as a descriptor in blocking mode.
func connected() (to *os.File, from net.Conn, err error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if from, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	conn, err := listener.AcceptTCP()
	if err == nil {
		to, err = conn.File()
		_ = conn.Close()
	}
	if err == nil {
		err = unix.SetNonblock(int(to.Fd()), false)
	}
	if err != nil {
		_ = from.Close()
	}
	return to, from, err
}

// sender is a way from a file to a socket. send may send less than it is told to.
type sender struct {
	send func(socket, file int, at int64, n int) (int, error)
	end  func()
}

func sendPiece(s sender, socket, file int, at int64) error {
	for left := pieceBytes; left > 0; {
		n, err := s.send(socket, file, at, left)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return fmt.Errorf("%d bytes sent of a piece: %w", pieceBytes-left, err)
		}
		at, left = at+int64(n), left-n
	}
	return nil
}

func sendfile() (sender, error) {
	return sender{func(socket, file int, at int64, n int) (int, error) { return unix.Sendfile(socket, file, &at, n) }, func() {}}, nil
}

// splice needs a pipe between; what is in it is sent before more comes.
func splice() (sender, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return sender{}, fmt.Errorf("pipe2: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(pipe[0]), unix.F_SETPIPE_SZ, pieceBytes); err != nil && err != unix.EPERM { // smaller is slower, no more
		return sender{}, fmt.Errorf("F_SETPIPE_SZ: %w", err)
	}
	send := func(socket, file int, at int64, n int) (int, error) {
		in, err := unix.Splice(file, &at, pipe[1], nil, n, unix.SPLICE_F_MOVE)
		for left := in; err == nil && left > 0; {
			var out int64
			if out, err = unix.Splice(pipe[0], nil, socket, nil, int(left), unix.SPLICE_F_MOVE|unix.SPLICE_F_MORE); err == unix.EINTR {
				err = nil
			}
			left -= out
		}
		return int(in), err
	}
	return sender{send, func() { _, _ = unix.Close(pipe[0]), unix.Close(pipe[1]) }}, nil
}

// copied is what a node does that has to look at each byte, or that speaks TLS.
func copied() (sender, error) {
	buf := make([]byte, pieceBytes)
	send := func(socket, file int, at int64, n int) (int, error) {
		n, err := unix.Pread(file, buf[:n], at)
		if err != nil || n == 0 {
			return n, err
		}
		return unix.Write(socket, buf[:n])
	}
	return sender{send, func() {}}, nil
}
