package node

import (
	"sync"
	"time"
)

// serviceInbox carries events to the goroutine that owns coordinators. It is unbounded, but what it holds is bounded: a
// request a connection, an append a request, and a verification a batch that waits.
type serviceInbox struct {
	mu     sync.Mutex
	events []func()
	wake   chan struct{}
}

func newServiceInbox() serviceInbox { return serviceInbox{wake: make(chan struct{}, 1)} }

func (b *serviceInbox) put(f func()) {
	b.mu.Lock()
	b.events = append(b.events, f)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *serviceInbox) take() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// tickIn is how long a service waits for a timer that is due in so many milliseconds.
func tickIn(ms int64) time.Duration {
	return time.Duration(min(max(ms, 1), time.Hour.Milliseconds())) * time.Millisecond
}

// nowMS is the coordinators' monotonic time.
func (n *Node) nowMS() int64 { return time.Since(n.started).Milliseconds() }
