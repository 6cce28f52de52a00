package node

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
)

// input is a connection's receiving side.
//
//	idle ──recv──▶ backlog (a provided buffer) ──frame complete──▶ dispatch, in place
//	                    └──frame longer than the rest──▶ body (a slab), filled by further receives ──▶ dispatch
type input struct {
	// prefix collects the 4 bytes of a frame's length, which may arrive one by one.
	prefix    [4]byte
	prefixLen int
	// backlog is the buffer that is being read, rest what of it is not read yet.
	backlog *buffer
	rest    []byte
	// size is the length of the frame whose prefix is complete, 0 if none is; body holds it when it did not lie in one
	// provided buffer, filled so far.
	size   int
	body   *buffer
	filled int
	// armed says that a receive is under way; since, when the frame now being received began, without the time for which it could not.
	armed bool
	since time.Duration
	// arrived is when the newest bytes were received, without the time for which the connection was muted since; began is since with
	// all that it took, and took how long the frame now taken up was on its way.
	arrived, began, took time.Duration
}

// frameBytesMin is the shortest request: key, version, correlation id.
const frameBytesMin = 8

// armRecv asks for the next bytes, if none are asked for and the connection may go on.
func (c *Conn) armRecv() {
	if c.in.armed || c.in.backlog != nil || c.in.body != nil || !c.mayRead() {
		return
	}
	c.in.armed = true
	c.ops++
	c.loop.engine.Recv(c.token(tokenConnRecv), c.fd)
}

// mayRead says whether another request of this connection may be taken up. One that waits for memory goes on from
// resumeStarved alone: an answer that let it go on before would have it receive twice at once then.
func (c *Conn) mayRead() bool {
	return !c.closing && !c.serial && !c.starving && !c.muted && c.pipeline.len() < inFlightMax && c.held < outBytesMax && (c.held == 0 || !c.loop.answers.over()) &&
		c.loop.overflown == 0 && !c.loop.node.stopping.Load()
}

// received handles a receive into a provided buffer.
func (c *Conn) received(e *iouring.Event) {
	c.in.armed = false
	switch {
	case e.Res > 0:
		c.lastActive, c.in.arrived = c.loop.mono, c.loop.mono
		c.loop.metrics.received.Add(int(e.Res))
		c.loop.provided++
		c.in.backlog, c.in.rest = &buffer{data: e.Buf, refs: 1, provided: int32(e.BufID)}, e.Buf
		c.consume()
	case e.Res == 0:
		c.close()
	case unix.Errno(-e.Res) == unix.ENOBUFS:
		c.starve()
	case transientErrno(e.Res):
		c.armRecv()
	default:
		c.close()
	}
}

func transientErrno(res int32) bool {
	errno := unix.Errno(-res)
	return errno == unix.EAGAIN || errno == unix.EINTR
}

// consume takes up the requests in the backlog for as long as the connection may, then asks for more bytes.
func (c *Conn) consume() {
	if c.consuming || c.in.body != nil {
		return
	}
	c.consuming = true
	for c.in.backlog != nil && c.mayRead() && c.consumeFrame() {
	}
	c.consuming = false
	if b := c.in.backlog; b != nil && len(c.in.rest) == 0 {
		c.in.backlog, c.in.rest = nil, nil
		c.loop.release(b)
	}
	c.parkBacklog()
	c.armRecv()
}

// parkBacklog moves what must wait out of the provided buffer, if request memory allows it: clients that send and never
// read would otherwise hold every buffer that the others' bytes need.
func (c *Conn) parkBacklog() {
	b := c.in.backlog
	if b == nil || b.provided < 0 || c.mayRead() || c.closing {
		return
	}
	if parked := c.loop.slabs.take(len(c.in.rest)); parked != nil {
		c.in.backlog, c.in.rest = parked, parked.data[:copy(parked.data, c.in.rest)]
		c.loop.release(b)
	}
}

// consumeFrame takes up one frame; false if the backlog holds no whole one or the connection must wait or is closed.
func (c *Conn) consumeFrame() bool {
	if c.in.size == 0 && !c.consumePrefix() {
		return false
	}
	if len(c.in.rest) < c.in.size {
		return c.beginBody()
	}
	frame := c.in.rest[:c.in.size]
	c.in.rest = c.in.rest[c.in.size:]
	c.in.size, c.in.took = 0, 0
	c.dispatch(frame, c.in.backlog)
	return !c.closing
}

// consumePrefix reads the frame's length; false if it is not complete or refused.
func (c *Conn) consumePrefix() bool {
	n := copy(c.in.prefix[c.in.prefixLen:], c.in.rest)
	c.in.rest = c.in.rest[n:]
	c.in.prefixLen += n
	if c.in.prefixLen < len(c.in.prefix) {
		return false
	}
	c.in.prefixLen = 0
	size := int(int32(binary.BigEndian.Uint32(c.in.prefix[:])))
	if size < frameBytesMin || size > c.loop.node.Config().RequestBytesMax {
		if reason := foreign(c.in.prefix); reason != "" {
			c.refuse(reason)
		} else {
			c.refuse("a frame's length is out of bounds", "bytes", size, "max", c.loop.node.Config().RequestBytesMax, "property", "socket.request.max.bytes")
		}
		return false
	}
	c.in.size = size
	c.in.since, c.in.began = c.loop.mono, c.loop.mono
	return true
}

// foreign says what a peer speaks whose first bytes are no length, or nothing where they tell nothing.
func foreign(prefix [4]byte) string {
	switch string(prefix[:]) {
	case "GET ", "HEAD", "POST", "PUT ", "OPTI":
		return "an HTTP request came to a listener of Kafka's protocol; the status page is at ringmill.http.listen"
	}
	if prefix[0] == 0x16 && prefix[1] == 0x03 {
		return "a TLS handshake came to a PLAINTEXT listener; TLS is not built yet: set security.protocol=PLAINTEXT at the client"
	}
	return ""
}

// beginBody moves a frame's beginning to a slab and has the rest received straight into it.
func (c *Conn) beginBody() bool {
	body := c.loop.slabs.take(c.in.size)
	if body == nil {
		c.starve()
		return false
	}
	c.in.body, c.in.filled = body, copy(body.data, c.in.rest)
	c.in.rest = nil
	c.armBody()
	return false
}

// armBody asks for the frame's next bytes, as many as the request memory allows.
func (c *Conn) armBody() {
	limit := c.loop.slabs.extend(c.in.body, c.in.filled, c.in.size)
	if limit == c.in.filled {
		c.starve()
		return
	}
	c.ops++
	c.loop.engine.RecvInto(c.token(tokenConnBody), c.fd, c.in.body.data[c.in.filled:limit])
}

// receivedBody handles a receive into a slab.
func (c *Conn) receivedBody(res int) {
	switch {
	case res > 0:
	case res < 0 && transientErrno(int32(res)):
		c.armBody()
		return
	default:
		c.close()
		return
	}
	c.lastActive, c.in.arrived = c.loop.mono, c.loop.mono
	c.loop.metrics.received.Add(res)
	if c.in.filled += res; c.in.filled < c.in.size {
		c.armBody()
		return
	}
	if !c.muted { // by the answer to a request before
		c.bodyReceived()
	}
}

// bodyReceived goes on when a slab is as full as it was, unless bytes are still missing.
func (c *Conn) bodyReceived() {
	if c.in.filled < c.in.size {
		return
	}
	body := c.in.body
	frame := body.data[:c.in.size]
	c.in.body, c.in.size, c.in.filled = nil, 0, 0
	c.in.took = max(c.in.arrived-c.in.began, 0)
	c.dispatch(frame, body)
	c.loop.release(body)
	if !c.closing {
		c.consume()
	}
}

// starve lets the connection wait until request memory or a provided buffer is free.
func (c *Conn) starve() {
	if c.starving {
		return
	}
	c.starving, c.starvedAt = true, c.loop.mono
	c.loop.metrics.starved.Inc()
	c.loop.starved = append(c.loop.starved, c)
}

// resumeStarved lets those who wait for memory try again, oldest first, if any came back. The time they waited is not
// counted against them.
func (l *Loop) resumeStarved() {
	if !l.freed {
		return
	}
	waiting := l.starved
	l.starved, l.freed = nil, false
	for _, c := range waiting {
		c.starving = false
		c.in.since += l.mono - c.starvedAt
		c.lastActive = l.mono
		switch {
		case c.closing:
		case c.in.body != nil:
			c.armBody()
		default:
			c.consume()
		}
	}
}
