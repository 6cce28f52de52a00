package world

import (
	"fmt"
	"time"
)

// NetworkOptions say how messages fare.
type NetworkOptions struct {
	LatencyMin, LatencyMax time.Duration
	SlowShare              float64       // of messages that take up to SlowMax instead: the heavy tail
	SlowMax                time.Duration //
	LossShare              float64
	DuplicateShare         float64
}

// Network carries messages between places. Messages overtake each other, but for those of a Connection.
type Network struct {
	world  *World
	opt    NetworkOptions
	cut    [][]int           // from, to → how many cuts are in force
	slow   [][]time.Duration // from, to → what every message takes longer
	calm   bool              // no loss, no duplicates, no tail
	sent   int
	copies int
}

// NewNetwork joins places 0 to places-1.
func (w *World) NewNetwork(places int, opt NetworkOptions) *Network {
	n := &Network{world: w, opt: opt, cut: make([][]int, places), slow: make([][]time.Duration, places)}
	for i := range n.cut {
		n.cut[i], n.slow[i] = make([]int, places), make([]time.Duration, places)
	}
	return n
}

// Cut lets nothing pass from one place to another until it is undone with Heal as often.
func (n *Network) Cut(from, to int) { n.cut[from][to]++ }

// Heal undoes one Cut.
func (n *Network) Heal(from, to int) { n.cut[from][to] = max(0, n.cut[from][to]-1) }

// Slow has every message from one place to another take longer from now on; 0 undoes it.
func (n *Network) Slow(from, to int, by time.Duration) { n.slow[from][to] = by }

// Calm heals all cuts and makes the network a good one, for the rest of the run.
func (n *Network) Calm() {
	n.calm = true
	for i := range n.cut {
		clear(n.cut[i])
		clear(n.slow[i])
	}
}

// Send carries a message that life of to gets, whichever it is when it arrives: a datagram. size is in bytes, for the trace.
func (n *Network) Send(from, to *Process, what string, deliver func()) {
	n.pass(from, to, what, n.delay(from.place, to.place), func() { to.run(to.life, deliver) })
}

// SendToLife carries a message that only the present life of to gets: one on a connection that ends with it.
func (n *Network) SendToLife(from, to *Process, life uint64, what string, deliver func()) {
	n.pass(from, to, what, n.delay(from.place, to.place), func() { to.run(life, deliver) })
}

func (n *Network) pass(from, to *Process, what string, delay time.Duration, arrive func()) {
	n.sent++
	if n.lost(from.place, to.place) {
		if n.world.Tracing() {
			n.world.Tracef("lost      %s -> %s %s", from.name, to.name, what)
		}
		return
	}
	carry := func(d time.Duration) {
		n.world.After(d, func() {
			if n.cut[from.place][to.place] == 0 {
				arrive()
			}
		})
	}
	carry(delay)
	if !n.calm && Chance(n.world.Network, n.opt.DuplicateShare) {
		n.copies++
		carry(delay + n.delay(from.place, to.place))
	}
}

func (n *Network) lost(from, to int) bool {
	return n.cut[from][to] > 0 || !n.calm && Chance(n.world.Network, n.opt.LossShare)
}

func (n *Network) delay(from, to int) time.Duration {
	slow := n.slow[from][to]
	if !n.calm && Chance(n.world.Network, n.opt.SlowShare) {
		return slow + Between(n.world.Network, n.opt.LatencyMax, n.opt.SlowMax)
	}
	return slow + Between(n.world.Network, n.opt.LatencyMin, n.opt.LatencyMax)
}

// Summary says what was carried.
func (n *Network) Summary() string { return fmt.Sprintf("%d messages, %d copies", n.sent, n.copies) }

// A Connection carries messages from one process's life to another's in order and at most once, as TCP does. A message that is lost
// ends it: later ones do not arrive either. One that is closed by its near end may have requests under way: they arrive, late perhaps,
// and their answers do not.
type Connection struct {
	network  *Network
	from, to *Process
	fromLife uint64
	toLife   uint64
	last     time.Duration // when the latest message arrives
	broken   bool
	closed   bool
}

// Connect gives a connection between the present lives of two processes.
func (n *Network) Connect(from, to *Process) *Connection {
	return &Connection{network: n, from: from, to: to, fromLife: from.life, toLife: to.life}
}

// Broken says that nothing arrives any more: a message was lost, or one of the lives has ended.
func (c *Connection) Broken() bool {
	return c.broken || c.closed || !c.to.running || c.to.life != c.toLife || !c.from.running || c.from.life != c.fromLife
}

// Close ends the connection.
func (c *Connection) Close() { c.closed = true }

// Send carries a message to the far end, behind those before it.
func (c *Connection) Send(what string, deliver func()) {
	c.carry(c.from, c.to, c.toLife, what, deliver)
}

// Answer carries a message back.
func (c *Connection) Answer(what string, deliver func()) {
	c.carry(c.to, c.from, c.fromLife, what, deliver)
}

func (c *Connection) carry(from, to *Process, life uint64, what string, deliver func()) {
	n := c.network
	if c.Broken() {
		return
	}
	n.sent++
	if n.lost(from.place, to.place) {
		if n.world.Tracing() {
			n.world.Tracef("lost      %s -> %s %s", from.name, to.name, what)
		}
		c.broken = true
		return
	}
	c.last = max(c.last, n.world.Now()+n.delay(from.place, to.place))
	n.world.After(c.last-n.world.Now(), func() {
		if n.cut[from.place][to.place] > 0 {
			c.broken = true
		}
		if !c.broken && !(c.closed && to == c.from) {
			to.run(life, deliver)
		}
	})
}
