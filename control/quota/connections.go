package quota

import (
	"math"
	"net/netip"
)

// Unlimited is the connection rate of who has no limit (QuotaConfig.IP_CONNECTION_RATE_DEFAULT).
const Unlimited = math.MaxInt32

// Connections holds the rates at which connections come (KIP-612): of the node, of each listener, and of each address.
//
//	accepted ─▶ Accept: how long before it is taken up, and the next accepted ─▶ Admit: whether its address may ─▶ served
//	                                                                                └▶ held for a while, then closed
type Connections struct {
	windows   Windows
	node      limitedRate
	listeners map[string]*limitedRate
	addresses map[netip.Addr]float64
	byDefault float64
	rates     meters[address, Rate]
}

type limitedRate struct {
	limit float64
	rate  Rate
}

type address struct{ netip.Addr }

func (address) bytes() int { return 16 }

// NewConnections makes one without limits.
func NewConnections(w Windows) *Connections {
	return &Connections{windows: w, node: limitedRate{limit: Unlimited}, listeners: make(map[string]*limitedRate), byDefault: Unlimited}
}

// SetRate sets max.connection.creation.rate of the node, connections a second.
func (c *Connections) SetRate(limit float64) { c.node.limit = limit }

// SetListenerRate sets it of one listener.
func (c *Connections) SetListenerRate(listener string, limit float64) {
	c.listener(listener).limit = limit
}

// SetAddressRates replaces the connection_creation_rate of addresses, and that of all others; Unlimited for none.
func (c *Connections) SetAddressRates(limits map[netip.Addr]float64, byDefault float64) {
	c.addresses, c.byDefault = limits, byDefault
}

func (c *Connections) listener(name string) *limitedRate {
	l := c.listeners[name]
	if l == nil {
		l = &limitedRate{limit: Unlimited}
		c.listeners[name] = l
	}
	return l
}

// Accept counts a new connection and gives the milliseconds that it, and the listener with it, must wait: one window at most.
func (c *Connections) Accept(listener string, now int64) int64 {
	return max(c.record(&c.node, now), c.record(c.listener(listener), now))
}

func (c *Connections) record(l *limitedRate, now int64) int64 {
	l.rate.add(c.windows, 1, now)
	return min(l.rate.wait(c.windows, l.limit, now), c.windows.SizeMS)
}

// Admit counts a connection of an address. One that comes too soon is not to be served but held for so many milliseconds, one
// window at most, and then closed; it does not count, neither here nor for node and listener.
func (c *Connections) Admit(listener string, from netip.Addr, now int64) (holdMS int64) {
	limit, own := c.addresses[from]
	if !own {
		limit = c.byDefault
	}
	if limit == Unlimited {
		return 0
	}
	rate := c.rates.of(address{from}, now)
	rate.add(c.windows, 1, now)
	if holdMS = min(rate.wait(c.windows, limit, now), c.windows.SizeMS); holdMS > 0 {
		rate.add(c.windows, -1, now)
		c.node.rate.add(c.windows, -1, now)
		c.listener(listener).rate.add(c.windows, -1, now)
	}
	return holdMS
}
