package main

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outage tells, once each time, that nodes cannot be reached and that one can again. The client tries on by itself, and would not
// say a word.
type outage struct {
	mu   sync.Mutex
	w    io.Writer
	down bool
}

var _ kgo.HookBrokerConnect = (*outage)(nil)

// OnBrokerConnect is called by goroutines of the client.
func (o *outage) OnBrokerConnect(node kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	address := net.JoinHostPort(node.Host, fmt.Sprint(node.Port))
	switch {
	case err != nil && !o.down:
		fmt.Fprintf(o.w, "ringmill: no node answers at %s: %s; trying on\n", address, oneLine(cause(err).Error()))
	case err == nil && o.down:
		fmt.Fprintf(o.w, "ringmill: a node answers at %s again\n", address)
	}
	o.down = err != nil
}
