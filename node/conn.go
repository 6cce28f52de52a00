package node

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/node/api"
)

// Conn is one client's connection. Its loop owns it.
//
//	recv ─▶ input: provided buffer or slab ─▶ frame ─▶ dispatch ─▶ pipeline (answers, in order) ─▶ transmit ─▶ send
//	  ▲                                                               │
//	  └──────────── armed only while the pipeline has room ◀──────────┘
type Conn struct {
	loop             *Loop
	fd               int
	slot, generation uint32
	// ops counts the engine's operations on fd that are under way; the descriptor is closed when none is.
	ops     int
	closing bool
	// lastActive is when bytes last moved either way.
	lastActive time.Duration

	in  input
	out transmit
	// pipeline holds the requests under way, oldest first; serial says that the newest must be answered before the
	// next is read.
	pipeline pipeline
	serial   bool
	// cold is the cold call under way, nil if none is.
	cold *coldCall
	// held is what its answers are charged with; see answerMemory.
	held int
	// consuming guards consume against itself: an answer that comes at once calls it again.
	consuming bool
	// starving says that it waits for memory, starvedAt since when.
	starving bool
	// reading is the newest request while its records are read elsewhere.
	reading   *recordReading
	starvedAt time.Duration
	// muted says that no request is read before unmute fires, mutedAt since when; see throttle.go.
	muted   bool
	mutedAt time.Duration
	unmute  timer

	fetch  fetchRequest
	client api.Client
	grants grants
	// toProve is what the next message is to prove, nil if there is nothing; see proof.go.
	toProve []byte
	// shares says that a share session may have been opened on it.
	shares bool
	listen *listener
}

// inFlightMax bounds the requests of one connection that are under way. An idempotent producer has 5 (Kafka's
// max.in.flight.requests.per.connection); librdkafka's plain producer goes far beyond and is slowed by this.
const inFlightMax = 32

// outBytesMax bounds answers that a client does not read; beyond it no request of its is read, and while answers fill the
// loop's share of memory, none of it has any.
const outBytesMax = 256 << 10

// adopt makes a connection of an accepted descriptor, on the loop that is to own it.
func (l *Loop) adopt(fd int, from *listener, peer netip.AddrPort) {
	c := &Conn{loop: l, fd: fd, lastActive: l.mono, listen: from}
	c.client.Host = peer.Addr().Unmap().String()
	c.client.Port = peer.Port()
	c.client.ListenerName = from.name
	c.client.Connection = l.node.connectionIDs.Add(1)
	c.client.User = api.AnonymousUser
	c.unmute.fire = func(*Loop) { c.unmuted() }
	c.fetch.init(c)
	c.slot, c.generation = l.conns.add(c)
	c.armRecv()
}

func (c *Conn) token(kind uint64) iouring.Token { return token(kind, c.generation, c.slot) }

// connEvent handles a completion of one of a connection's operations.
func (l *Loop) connEvent(kind uint64, generation, slot uint32, e *iouring.Event) {
	c := l.conns.get(slot, generation)
	if c == nil {
		panic("BUG: event of a connection whose operations were all accounted for")
	}
	c.ops--
	if c.closing {
		switch {
		case kind == tokenConnRecv && e.Res > 0:
			l.engine.ReleaseBuffer(e.BufID)
			l.freed = true
		case kind == tokenConnCold:
			l.endColdRead(c)
		}
		c.finishClose()
		return
	}
	switch kind {
	case tokenConnRecv:
		c.received(e)
	case tokenConnBody:
		c.receivedBody(int(e.Res))
	case tokenConnWritable:
		c.out.blocked = false
		c.activate()
	case tokenConnCold:
		l.coldRead(c, e.Res)
	}
}

// activate puts the connection among those that have bytes to send this turn.
func (c *Conn) activate() {
	if !c.out.queued && !c.closing {
		c.out.queued = true
		c.loop.active = append(c.loop.active, c)
	}
}

// close ends the connection: operations under way are cancelled, and what they hold is freed as they come back.
func (c *Conn) close() {
	if c.closing {
		return
	}
	c.closing = true
	c.endMute()
	c.loop.node.metrics.connections.Add(-1)
	c.listen.release(c.client.Host)
	c.loop.engine.CancelFD(c.fd)
	_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
	c.fetch.abandon()
	if c.shares {
		c.loop.node.shares.disconnected(c.client.Connection)
	}
	if c.reading != nil {
		c.reading.gone.Store(true)
	}
	if c.cold != nil {
		close(c.cold.gone)
	}
	c.pipeline.drop()
	c.out.drop(c.loop)
	c.letGo(c.held)
	if c.in.backlog != nil {
		c.loop.release(c.in.backlog)
		c.in.backlog, c.in.rest = nil, nil
	}
	c.finishClose()
}

// finishClose frees the descriptor once no operation refers to it: a number that is reused under the engine's feet
// would hand one client's bytes to another.
func (c *Conn) finishClose() {
	if c.ops > 0 {
		return
	}
	if c.in.body != nil {
		c.loop.release(c.in.body)
		c.in.body = nil
	}
	_ = unix.Close(c.fd)
	c.loop.conns.remove(c.slot)
}

// refuse closes the connection for a fault of the client's, with one throttled line that names it and the reason.
func (c *Conn) refuse(reason string, args ...any) {
	c.loop.node.log.throttled("connection closed: "+reason, append([]any{"peer", c.client.Host, "client", c.client.ID, "software", c.client.Software}, args...)...)
	c.loop.metrics.faulted.Inc()
	c.close()
}
