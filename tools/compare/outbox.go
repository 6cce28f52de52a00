package main

import (
	"net"
	"sync"
)

// outbox writes to a connection what producers hand over, as much at once as has come while the last write was under way: nothing waits for
// more, and a write is shared by what is there.
type outbox struct {
	socket net.Conn
	wake   chan struct{}
	over   chan struct{}

	mu      sync.Mutex
	pending []byte
}

func newOutbox(socket net.Conn) *outbox {
	o := &outbox{socket: socket, wake: make(chan struct{}, 1), over: make(chan struct{})}
	go o.write()
	return o
}

// add has append add a message's bytes.
func (o *outbox) add(message func(dst []byte) []byte) {
	o.mu.Lock()
	o.pending = message(o.pending)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// write ends when the connection does: whoever reads from it sees why.
func (o *outbox) write() {
	var writing []byte
	for {
		select {
		case <-o.wake:
		case <-o.over:
			return
		}
		o.mu.Lock()
		writing, o.pending = o.pending, writing[:0]
		o.mu.Unlock()
		if _, err := o.socket.Write(writing); err != nil {
			o.socket.Close()
			return
		}
	}
}

func (o *outbox) close() {
	close(o.over)
	o.socket.Close()
}
