package node

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
)

// errColdRange says that a range is being read into the page cache first; the connection goes on when that is done.
var errColdRange = errors.New("node: range is not in the page cache yet")

// coldReads brings file ranges into the page cache by ring reads into scratch memory, so that sendfile does not
// block the loop: cold, it was measured to stall 2.5 ms a MiB at the median and 25 ms at p99. Readers take turns on a
// few scratch buffers, so that a replay does not starve the device.
type coldReads struct {
	scratch [][]byte
	made    int
	// waiting are connections whose range is cold while all scratch is in use.
	waiting []*Conn
	// unsupported: cachestat(2) is missing (kernel < 6.5); then every range that is not hot is read first.
	unsupported bool
	// asking is how many goroutines ask disks for what is to be read next.
	asking int
}

const (
	coldReadBytes = 512 << 10
	coldReadsMax  = 4
)

// resident says whether the next bytes of r can be sent without waiting for a disk. If not, it starts to read them
// in (or queues the connection for that) and the connection stops sending until then. Having been read once, a range
// is trusted: asking again could read for ever where memory is short.
func (l *Loop) resident(c *Conn, r *fileRange, want int64) bool {
	if !l.cold.unsupported {
		cached, total, err := iouring.Cachestat(r.file.fd, r.offset, want)
		l.cold.unsupported = errors.Is(err, errors.ErrUnsupported)
		if err == nil {
			all := cached >= total
			if asked := l.reads(r, want, all); all && (!asked || arrived(r.file.fd, r.offset, want)) {
				return true
			}
		}
	}
	c.out.reading = true
	l.metrics.coldRanges.Inc()
	if scratch := l.cold.take(); scratch != nil {
		l.startColdRead(c, scratch)
	} else {
		l.cold.waiting = append(l.cold.waiting, c)
	}
	return false
}

// take returns a free scratch buffer, nil if all are in use.
func (s *coldReads) take() []byte {
	if n := len(s.scratch); n > 0 {
		b := s.scratch[n-1]
		s.scratch = s.scratch[:n-1]
		return b
	}
	if s.made == coldReadsMax {
		return nil
	}
	b, err := iouring.Map(coldReadBytes)
	if err != nil {
		return nil
	}
	s.made++
	return b
}

func (l *Loop) startColdRead(c *Conn, scratch []byte) {
	r := &c.out.ranges[0]
	c.out.scratch, c.out.coldFile = scratch, r.file.retain()
	c.ops++
	l.engine.ReadAt(c.token(tokenConnCold), r.file.fd, scratch[:min(int64(len(scratch)), r.length)], r.offset)
}

// coldRead handles a finished read: what it brought in is sent next.
func (l *Loop) coldRead(c *Conn, res int32) {
	l.endColdRead(c)
	c.out.reading = false
	switch {
	case res > 0:
		c.out.warm = int64(res)
		c.activate()
	case transientErrno(res):
		c.activate()
	default:
		l.node.log.throttled("a cold read failed", "file", c.out.ranges[0].file.name, "error", unix.Errno(-res))
		c.close()
	}
}

// endColdRead hands the scratch buffer on to the next that waits.
func (l *Loop) endColdRead(c *Conn) {
	scratch := c.out.scratch
	c.out.coldFile.release()
	c.out.scratch, c.out.coldFile = nil, nil
	for len(l.cold.waiting) > 0 {
		next := l.cold.waiting[0]
		l.cold.waiting = l.cold.waiting[1:]
		if !next.closing {
			l.startColdRead(next, scratch)
			return
		}
	}
	l.cold.scratch = append(l.cold.scratch, scratch)
}
