//go:build iouringgo

package limits

import (
	"fmt"
	"net"

	"github.com/iceber/iouring-go"
	"golang.org/x/sys/unix"
)

// The high-level API of iouring-go as a peer. Its package reaches into syscall's internals, which Go has not linked since 1.23 unless it is told to:
// build with -tags iouringgo -ldflags=-checklinkname=0 (make bench-iouringgo).
func init() {
	peers = append(peers, struct {
		name  string
		serve echo
	}{"iouring-go's own API", iouringGoEcho})
}

// iouringGoEntries is the size of the ring: one request of the only connection is out at a time.
const iouringGoEntries = 64

// iouringGoEcho receives and sends by requests of iouring-go, whose results come over a channel.
func iouringGoEcho(listener *net.TCPListener) error {
	ring, err := iouring.New(iouringGoEntries)
	if err != nil {
		return fmt.Errorf("%w: %w", errMissing, err)
	}
	defer ring.Close()
	file, err := acceptFile(listener)
	if err != nil {
		return err
	}
	defer file.Close()
	fd, results := int(file.Fd()), make(chan iouring.Result, 1)
	done := func(prepare iouring.PrepRequest) (int, error) {
		request, err := ring.SubmitRequest(prepare, results)
		if err != nil {
			return 0, err
		}
		<-results
		n, err := request.GetRes()
		if err == nil && n < 0 {
			err = unix.Errno(-n)
		}
		return n, err
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := done(iouring.Recv(fd, buf, 0))
		if err != nil || n == 0 {
			return gone(err)
		}
		for left := buf[:n]; len(left) > 0; left = left[n:] {
			if n, err = done(iouring.Send(fd, left, unix.MSG_NOSIGNAL)); err != nil {
				return gone(err)
			}
		}
	}
}
