package node

import (
	"sync"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// serviceInbox carries events to the goroutine that owns coordinators. It is unbounded, but what it holds is bounded: a
// request a connection, an append a request, and a verification a batch that waits.
type serviceInbox struct {
	mu     sync.Mutex
	events []func()
	wake   chan struct{}
	// stopped is closed when the goroutine has ended.
	stopped chan struct{}
}

func newServiceInbox() serviceInbox {
	return serviceInbox{wake: make(chan struct{}, 1), stopped: make(chan struct{})}
}

// run is the goroutine: events in the order in which they came, and tick, which does what is due and says how long until
// something is again. It ends when quit is closed; events that come in later are never run.
func (b *serviceInbox) run(quit <-chan struct{}, tick func() time.Duration) {
	defer close(b.stopped)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		for _, f := range b.take() {
			f()
		}
		timer.Reset(tick())
		select {
		case <-b.wake:
		case <-timer.C:
		case <-quit:
			return
		}
	}
}

func (b *serviceInbox) put(f func()) {
	b.mu.Lock()
	b.events = append(b.events, f)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// do runs f on the goroutine and waits; false if it was not run and never will be, because the node stops.
func (b *serviceInbox) do(f func()) bool {
	done := make(chan struct{})
	b.put(func() {
		f()
		close(done)
	})
	select {
	case <-done:
		return true
	case <-b.stopped: // not quit: f may run meanwhile, and shares what the caller has
	}
	select {
	case <-done:
		return true
	default:
		return false
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

// nowMS is the coordinators' monotonic time, wallNow their wall clock.
func (n *Node) nowMS() int64 { return time.Since(n.started).Milliseconds() }

func wallNow() wire.Timestamp { return wire.Timestamp(time.Now().UnixMilli()) }
