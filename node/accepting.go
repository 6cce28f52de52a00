package node

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/node/config"
)

// connectionRates hold the listeners to the rates at which connections may come (KIP-612). Loop 0 asks; whoever changes a quota
// or a property sets.
type connectionRates struct {
	started time.Time
	mu      sync.Mutex
	rates   *quota.Connections
}

func newConnectionRates(cfg *config.Config, started time.Time) *connectionRates {
	return &connectionRates{started: started, rates: quota.NewConnections(clientWindows(cfg))}
}

// set takes the limits from the configuration.
func (r *connectionRates) set(cfg *config.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rates.SetRate(float64(cfg.ConnectionRateMax))
	for name, limit := range cfg.ListenerConnectionRates {
		r.rates.SetListenerRate(name, float64(limit))
	}
}

func (r *connectionRates) setAddresses(limits map[netip.Addr]float64, byDefault float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rates.SetAddressRates(limits, byDefault)
}

// accept counts a connection of a listener and gives the wait before it is taken up.
func (r *connectionRates) accept(listener string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.rates.Accept(listener, time.Since(r.started).Milliseconds())) * time.Millisecond
}

// admit counts a connection of an address and gives how long it is to be held before it is closed, 0 if it may come.
func (r *connectionRates) admit(listener string, from netip.Addr) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.rates.Admit(listener, from, time.Since(r.started).Milliseconds())) * time.Millisecond
}

// setAddressRates hands the quotas of addresses to the listeners; metaMu is held, and the names of hosts are in n.addresses.
func (n *Node) setAddressRates(m *image.Image) {
	limits, byDefault := make(map[netip.Addr]float64), float64(quota.Unlimited)
	for _, e := range m.QuotaEntities() {
		rate, ok := m.ClientQuotas(e)[quota.ConnectionCreationRate]
		switch addr, found := n.addressOf(e.IP.Name); {
		case !ok:
		case e.IP.Default:
			byDefault = rate
		case found:
			limits[addr] = rate
		}
	}
	n.connectionRates.setAddresses(limits, byDefault)
}

func (n *Node) addressOf(name string) (netip.Addr, bool) {
	if addr, ok := quota.ParseAddress(name); ok {
		return addr, true
	}
	addr, ok := n.addresses[name]
	return addr, ok
}

// lookupsAtOnce bounds the host names that are looked up at once.
const lookupsAtOnce = 16

// lookUpHosts finds the addresses of hosts that have quotas, all at once. It may take some seconds; no lock is held.
func (n *Node) lookUpHosts(entities []image.QuotaEntity) map[string]netip.Addr {
	var mu sync.Mutex
	var lookups sync.WaitGroup
	found, places := make(map[string]netip.Addr), make(chan struct{}, lookupsAtOnce)
	for _, e := range entities {
		if _, is := quota.ParseAddress(e.IP.Name); is || !e.IP.Given || e.IP.Default {
			continue
		}
		places <- struct{}{}
		lookups.Go(func() {
			defer func() { <-places }()
			addr, ok := api.LookupAddress(e.IP.Name)
			if !ok {
				n.log.throttled("the quota of an address has no effect: it is no address and no host's name", "ip", e.IP.Name)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found[e.IP.Name] = addr
		})
	}
	lookups.Wait()
	return found
}

// acceptQueue is a listener whose connections come too fast. While the first that must wait waits, none is accepted: the others
// wait in the kernel, but for those that it had handed out already. It is loop 0's.
type acceptQueue struct {
	// waiting are descriptors in the order in which they came; the first is counted, and its turn comes with the timer.
	waiting []int
	turn    timer
	// armed says that the engine accepts.
	armed bool
}

// arrived takes up a new connection, or lets it wait for its turn.
func (l *Loop) arrived(index, fd int) {
	ln := l.node.listeners[index]
	if len(ln.queue.waiting) > 0 {
		ln.queue.waiting = append(ln.queue.waiting, fd)
		return
	}
	if wait := l.node.connectionRates.accept(ln.name); wait > 0 {
		ln.queue.waiting = append(ln.queue.waiting, fd)
		l.node.metrics.delayed.Inc()
		l.engine.CancelFD(ln.fd)
		l.waitTurn(index, wait)
		return
	}
	l.admit(ln, fd)
}

func (l *Loop) waitTurn(index int, wait time.Duration) {
	q := &l.node.listeners[index].queue
	q.turn.fire = func(l *Loop) { l.nextTurn(index) }
	l.timers.set(&q.turn, l.mono+wait)
}

// nextTurn takes up the first of those that wait, and the next until one must wait again.
func (l *Loop) nextTurn(index int) {
	ln := l.node.listeners[index]
	for q := &ln.queue; len(q.waiting) > 0; {
		fd := q.waiting[0]
		q.waiting = q.waiting[1:]
		l.admit(ln, fd)
		if len(q.waiting) == 0 {
			break
		}
		if wait := l.node.connectionRates.accept(ln.name); wait > 0 {
			l.node.metrics.delayed.Inc()
			l.waitTurn(index, wait)
			return
		}
	}
	l.armAccept(index)
}

// armAccept asks for connections, unless they are asked for, one of the listener's waits, or the node stops.
func (l *Loop) armAccept(index int) {
	ln := l.node.listeners[index]
	if ln.queue.armed || len(ln.queue.waiting) > 0 || l.node.stopping.Load() {
		return
	}
	ln.queue.armed = true
	l.engine.Accept(token(tokenAccept, 0, uint32(index)), ln.fd)
}

// heldMax bounds the connections that are held because their address makes too many; beyond it they are closed at once.
const heldMax = 1024

// hold keeps a connection that is not served, so that its client does not try again at once, and then closes it.
func (l *Loop) hold(fd int, d time.Duration) {
	l.node.metrics.held.Inc()
	if len(l.held) >= heldMax {
		_ = unix.Close(fd)
		return
	}
	end := &timer{fire: func(l *Loop) {
		delete(l.held, fd)
		_ = unix.Close(fd)
	}}
	if l.held == nil {
		l.held = make(map[int]*timer)
	}
	l.held[fd] = end
	l.timers.set(end, l.mono+d)
}

// dropAccepted closes the connections that wait for their turn or are held.
func (l *Loop) dropAccepted() {
	for fd, end := range l.held {
		l.timers.cancel(end)
		_ = unix.Close(fd)
	}
	l.held = nil
	if l.index > 0 {
		return
	}
	for _, ln := range l.node.listeners {
		for _, fd := range ln.queue.waiting {
			_ = unix.Close(fd)
		}
		ln.queue.waiting = nil
		l.timers.cancel(&ln.queue.turn)
	}
}
