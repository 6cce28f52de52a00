package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/node/config"
)

// listener is one of the node's listening sockets. Loop 0 accepts and deals the connections out evenly: hashing by the kernel (SO_REUSEPORT) is lopsided with the few connections that Kafka clients make.
type listener struct {
	name string
	// fd is file's descriptor, taken once: File.Fd makes a descriptor blocking each time it is asked.
	fd   int
	file *os.File
	addr netip.AddrPort
	// limits are max.connections and max.connections.per.ip.
	limits *connLimits
	queue  acceptQueue
}

// connLimits counts the node's connections, in all and by address.
type connLimits struct {
	mu    sync.Mutex
	total int
	byIP  map[string]int
}

func (c *connLimits) admit(host string, cfg *config.Config) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	perIP, ok := cfg.ConnectionsPerIPOverrides[host]
	if !ok {
		perIP = cfg.ConnectionsPerIPMax
	}
	if c.total >= cfg.ConnectionsMax || c.byIP[host] >= perIP {
		return false
	}
	c.total++
	c.byIP[host]++
	return true
}

func (c *connLimits) release(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.byIP[host]--; c.byIP[host] <= 0 {
		delete(c.byIP, host)
	}
}

func (ln *listener) release(host string) { ln.limits.release(host) }

// listen binds one of the configured listeners.
func listen(l config.Listener, backlog int, limits *connLimits) (*listener, error) {
	bound, err := bindTCP(l.Address())
	if err != nil {
		return nil, &StartError{Path: "listeners: " + l.String(), Problem: bindProblem(err), Cure: "stop what listens there, or choose another address with --listen"}
	}
	defer bound.Close()
	file, err := bound.(*net.TCPListener).File()
	if err != nil {
		return nil, fmt.Errorf("listener %s: %w", l, err)
	}
	fd := int(file.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("listener %s: %w", l, err)
	}
	if err := unix.Listen(fd, backlog); err != nil { // again, to change the backlog that net.Listen chose
		return nil, fmt.Errorf("listener %s: backlog %d: %w", l, backlog, err)
	}
	return &listener{name: l.Name, fd: fd, file: file, addr: bound.Addr().(*net.TCPAddr).AddrPort(), limits: limits}, nil
}

// bindPatience is how long a port may be in use before that is believed: after kill -9 the kernel takes down a ring, and
// the listening socket that its accept holds, some milliseconds after the process is gone.
const bindPatience = time.Second

// bindTCP listens at an address, waiting a moment for one that a killed node is about to leave.
func bindTCP(address string) (net.Listener, error) {
	for deadline := time.Now().Add(bindPatience); ; time.Sleep(10 * time.Millisecond) {
		ln, err := net.Listen("tcp", address)
		if err == nil || !errors.Is(err, unix.EADDRINUSE) || time.Now().After(deadline) {
			return ln, err
		}
	}
}

func bindProblem(err error) string {
	if errors.Is(err, unix.EADDRINUSE) {
		return "the port is in use"
	}
	return err.Error()
}

// startAccepting arms the listeners on this loop.
func (l *Loop) startAccepting() {
	for i := range l.node.listeners {
		l.armAccept(i)
	}
}

// accepted handles one new connection, or the lack of descriptors for one.
func (l *Loop) accepted(index int, e *iouring.Event) {
	ln := l.node.listeners[index]
	ln.queue.armed = e.More
	if e.Res < 0 {
		if unix.Errno(-e.Res) == unix.ECANCELED { // one of its connections waits, or waited
			l.armAccept(index)
			return
		}
		if !transientErrno(e.Res) && !l.node.stopping.Load() {
			l.node.log.throttled("accept failed", "listener", ln.name, "error", unix.Errno(-e.Res))
		}
		if !e.More {
			l.acceptAgain(index)
		}
		return
	}
	l.arrived(index, int(e.Res))
}

// admit has a connection served, if nothing speaks against it.
func (l *Loop) admit(ln *listener, fd int) {
	peer := peerOf(fd)
	host := peer.Addr().Unmap().String()
	switch {
	case l.node.stopping.Load():
		l.metrics.refused.Inc()
		_ = unix.Close(fd)
		return
	case fd >= l.node.seams.connDescriptors: // nor are any of the rest held
		l.node.log.throttled("connection refused: the rest of the descriptors is for files", "peer", host, "descriptors", l.node.seams.connDescriptors,
			"cure", "raise the process's limit of open files (ulimit -n)")
		_ = unix.Close(fd)
		return
	}
	if d := l.node.connectionRates.admit(ln.name, peer.Addr().Unmap()); d > 0 {
		l.hold(fd, d)
		return
	}
	if !ln.limits.admit(host, l.node.Config()) {
		l.metrics.refused.Inc()
		l.node.log.throttled("connection refused: too many", "peer", host, "properties", "max.connections, max.connections.per.ip")
		_ = unix.Close(fd)
		return
	}
	setSocketOptions(fd, l.node.Config().SendBufferBytes)
	l.node.metrics.connections.Add(1)
	to := l.node.leastLoaded()
	to.assigned.Add(1)
	if to == l {
		l.adopt(fd, ln, peer)
		return
	}
	l.post(to, adoptConn{fd, ln, peer})
}

// setSocketOptions prepares a client's connection. A send buffer that the kernel grows takes a whole answer before the
// client has read any of it; with Kafka's fixed size both go on together, and on loopback hot fetches cost 0.6 times the
// CPU (PERFORMANCE.md). Neither option is worth a refused connection.
func setSocketOptions(fd, sendBufferBytes int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if sendBufferBytes > 0 {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBufferBytes)
	}
}

// acceptPause is how long a listener rests after a failure: out of descriptors, asking again at once would only spin.
const acceptPause = 100 * time.Millisecond

func (l *Loop) acceptAgain(index int) {
	rearm := &timer{fire: func(l *Loop) { l.armAccept(index) }}
	l.timers.set(rearm, l.mono+acceptPause)
}

// adoptConn hands a connection to the loop that is to own it.
type adoptConn struct {
	fd   int
	from *listener
	peer netip.AddrPort
}

func (a adoptConn) handle(l *Loop) { l.adopt(a.fd, a.from, a.peer) }

// leastLoaded is the loop that was handed the fewest connections so far.
func (n *Node) leastLoaded() *Loop {
	best := n.loops[0]
	for _, l := range n.loops[1:] {
		if l.assigned.Load() < best.assigned.Load() {
			best = l
		}
	}
	return best
}

func peerOf(fd int) netip.AddrPort {
	sa, err := unix.Getpeername(fd)
	if err != nil {
		return netip.AddrPort{}
	}
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}
