package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// sweepInterval is how often connections are looked at; sweep closes those that idle or that do not get on.
const sweepInterval = time.Second

// requestTimeout is how long a request's bytes may take: a half-sent frame holds memory that others wait for. The
// rate is what a client on a slow link keeps up.
const (
	requestTimeout = 30 * time.Second
	requestRate    = 64 << 10 // bytes a second
)

func (l *Loop) sweep() {
	if l.mono < l.nextSweep {
		return
	}
	l.nextSweep = l.mono + l.node.seams.sweepInterval
	idle := time.Duration(l.node.Config().ConnectionIdleMS) * time.Millisecond
	l.freed = true // memory that the kernel refused may be had now
	l.metrics.engine.publish(l.engine.Counters())
	l.conns.all(func(c *Conn) {
		switch {
		case c.closing:
		case c.muted:
			if c.hungUp() {
				c.close()
			}
		case c.late():
			c.refuse("a request did not arrive in time", "bytes", c.in.size, "received", c.in.filled)
		case c.pipeline.len() > 0 && c.out.empty():
			if c.gone() {
				c.close()
			}
		case idle > 0 && l.mono-c.lastActive > idle:
			c.close()
		}
	})
}

// gone says that the client closed its side while it waits for an answer. No receive is armed then that would tell, and
// a long poll may last for hours.
func (c *Conn) gone() bool {
	if c.in.armed || c.in.body != nil || c.loop.mono-c.lastActive < goneSweeps*c.loop.node.seams.sweepInterval {
		return false
	}
	return c.hungUp()
}

// hungUp says that the client closed or reset its side: what it had sent before may still wait to be read, for days.
func (c *Conn) hungUp() bool {
	p := [1]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p[:], 0)
	return n > 0 && err == nil
}

// goneSweeps is after how many sweeps a waiting client is looked after: consumers whose polls take a second are spared.
const goneSweeps = 5

// late says that the client does not get on with a request that it began: no byte of it came for a while, or in all
// they come too slowly.
func (c *Conn) late() bool {
	if c.in.size == 0 || c.starving {
		return false
	}
	now, patience := c.loop.mono, c.loop.node.seams.requestTimeout
	return now-c.lastActive > patience || now-c.in.since > patience+time.Duration(c.in.filled/requestRate)*time.Second
}
