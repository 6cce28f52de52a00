package iouringtest

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
)

// Op is an operation about to be started, as a [Plan] sees it.
type Op struct {
	Kind  iouring.EventKind
	Token iouring.Token
	FD    int
	Len   int // bytes of memory: recv-into, read, write
	Off   int64
	Seq   int // how many operations of this kind the engine started before
}

// Fault is what goes wrong with an operation. The zero value is nothing.
type Fault struct {
	// Errno, if not 0, is the outcome; the operation is not performed. An accept is disarmed by it.
	Errno unix.Errno
	// Short, if not 0, is the most bytes that recv-into, read or write may transfer. (Recv's size is that of the
	// engine's buffers: configure small ones.)
	Short int
	// Delay is the number of Polls by which the event comes late. Other events overtake it.
	Delay int
	// Gate, if not nil, holds the event back until it is opened, however many Polls that takes: for a test that looks at what
	// there is meanwhile.
	Gate *Gate
}

// Gate holds events back until it is opened, by any goroutine. The zero value is closed.
type Gate struct{ opened atomic.Bool }

// Open lets the events through, those to come too.
func (g *Gate) Open() { g.opened.Store(true) }

// closed reports whether there is a gate that holds events back.
func (g *Gate) closed() bool { return g != nil && !g.opened.Load() }

// Plan decides the fault of each operation. It is called in the order in which operations are started.
type Plan func(Op) Fault

// FaultEngine is an engine on which operations go wrong as its plan says. Everything else is the wrapped engine's.
type FaultEngine struct {
	inner   iouring.Engine
	plan    Plan
	shuffle *rand.Rand
	seq     map[iouring.EventKind]int
	delays  map[opKey][]lateness // of operations in flight, oldest first
	held    []heldEvent
	due     []iouring.Event // to be delivered, oldest first
	tick    int             // Polls so far
	// Injected counts faults by kind of operation: a test of faults that meets none tests nothing.
	Injected map[iouring.EventKind]int
}

type opKey struct {
	kind iouring.EventKind
	tok  iouring.Token
}

// lateness is what holds an operation's event back.
type lateness struct {
	polls int
	gate  *Gate
}

type heldEvent struct {
	event iouring.Event
	until int // the tick from which it may be delivered
	gate  *Gate
}

var _ iouring.Engine = (*FaultEngine)(nil)

// NewFaultEngine wraps inner. Closing the wrapper closes inner.
func NewFaultEngine(inner iouring.Engine, plan Plan) *FaultEngine {
	return &FaultEngine{
		inner: inner, plan: plan,
		seq: map[iouring.EventKind]int{}, delays: map[opKey][]lateness{}, Injected: map[iouring.EventKind]int{},
	}
}

// Reorder makes every Poll deliver its events in an order drawn from seed. Completions have no order that a caller may
// rely on, save that connections of one accept do not pass its end.
func (f *FaultEngine) Reorder(seed uint64) { f.shuffle = rand.New(rand.NewPCG(seed, seed)) }

// Unwrap returns the wrapped engine.
func (f *FaultEngine) Unwrap() iouring.Engine { return f.inner }

// Name returns the wrapped engine's name.
func (f *FaultEngine) Name() string { return f.inner.Name() }

// Features returns the wrapped engine's features.
func (f *FaultEngine) Features() iouring.Features { return f.inner.Features() }

// Counters returns the wrapped engine's counters.
func (f *FaultEngine) Counters() iouring.Counters { return f.inner.Counters() }

// start asks the plan and reports whether the operation is to be performed, and on how many of its bytes.
func (f *FaultEngine) start(kind iouring.EventKind, tok iouring.Token, fd, size int, off int64) (limit int, perform bool) {
	fault := f.plan(Op{Kind: kind, Token: tok, FD: fd, Len: size, Off: off, Seq: f.seq[kind]})
	f.seq[kind]++
	if fault != (Fault{}) {
		f.Injected[kind]++
	}
	if fault.Errno != 0 {
		f.hold(iouring.Event{Token: tok, Kind: kind, Res: -int32(fault.Errno)}, lateness{fault.Delay, fault.Gate})
		return 0, false
	}
	key := opKey{kind, tok}
	f.delays[key] = append(f.delays[key], lateness{fault.Delay, fault.Gate})
	if fault.Short > 0 && fault.Short < size {
		return fault.Short, true
	}
	return size, true
}

func (f *FaultEngine) hold(ev iouring.Event, by lateness) {
	f.held = append(f.held, heldEvent{ev, f.tick + 1 + by.polls, by.gate})
}

// Accept starts the wrapped engine's, unless the plan fails it.
func (f *FaultEngine) Accept(tok iouring.Token, fd int) {
	if _, perform := f.start(iouring.EventAccept, tok, fd, 0, 0); perform {
		f.inner.Accept(tok, fd)
	}
}

// Recv starts the wrapped engine's, unless the plan fails it.
func (f *FaultEngine) Recv(tok iouring.Token, fd int) {
	if _, perform := f.start(iouring.EventRecv, tok, fd, 0, 0); perform {
		f.inner.Recv(tok, fd)
	}
}

// RecvInto starts the wrapped engine's on as much of dst as the plan lets it.
func (f *FaultEngine) RecvInto(tok iouring.Token, fd int, dst []byte) {
	if n, perform := f.start(iouring.EventRecvInto, tok, fd, len(dst), 0); perform {
		f.inner.RecvInto(tok, fd, dst[:n])
	}
}

// PollOut starts the wrapped engine's, unless the plan fails it.
func (f *FaultEngine) PollOut(tok iouring.Token, fd int) {
	if _, perform := f.start(iouring.EventPollOut, tok, fd, 0, 0); perform {
		f.inner.PollOut(tok, fd)
	}
}

// ReadAt starts the wrapped engine's on as much of dst as the plan lets it.
func (f *FaultEngine) ReadAt(tok iouring.Token, fd int, dst []byte, off int64) {
	if n, perform := f.start(iouring.EventRead, tok, fd, len(dst), off); perform {
		f.inner.ReadAt(tok, fd, dst[:n], off)
	}
}

// WriteAt starts the wrapped engine's on as much of bufs as the plan lets it.
func (f *FaultEngine) WriteAt(tok iouring.Token, fd int, bufs [][]byte, off int64) {
	size := 0
	for _, b := range bufs {
		size += len(b)
	}
	n, perform := f.start(iouring.EventWrite, tok, fd, size, off)
	if !perform {
		return
	}
	if n < size {
		bufs = prefix(bufs, n)
	}
	f.inner.WriteAt(tok, fd, bufs, off)
}

// prefix returns the first n bytes of bufs, as slices of the same memory.
func prefix(bufs [][]byte, n int) [][]byte {
	var cut [][]byte
	for _, b := range bufs {
		b = b[:min(len(b), n)]
		cut = append(cut, b)
		if n -= len(b); n == 0 {
			break
		}
	}
	return cut
}

// Datasync starts the wrapped engine's, unless the plan fails it.
func (f *FaultEngine) Datasync(tok iouring.Token, fd int) {
	if _, perform := f.start(iouring.EventSync, tok, fd, 0, 0); perform {
		f.inner.Datasync(tok, fd)
	}
}

// CancelFD cancels at the wrapped engine. Events that are held back come as late as they were to.
func (f *FaultEngine) CancelFD(fd int) { f.inner.CancelFD(fd) }

// ReleaseBuffer releases at the wrapped engine.
func (f *FaultEngine) ReleaseBuffer(id uint16) { f.inner.ReleaseBuffer(id) }

// Wake wakes the wrapped engine.
func (f *FaultEngine) Wake() { f.inner.Wake() }

// Signal signals peer, which may be wrapped too, from the wrapped engine.
func (f *FaultEngine) Signal(peer iouring.Engine) { f.inner.Signal(peer) }

// gateWait is how long a Poll waits at most while all that is held back is held by gates, which open without a wake.
const gateWait = time.Millisecond

// waitFor bounds a Poll's wait: not at all where a Poll is a step of something's delay.
func (f *FaultEngine) waitFor(wait time.Duration) time.Duration {
	if len(f.due) > 0 {
		return 0
	}
	for _, h := range f.held {
		if !h.gate.closed() {
			return 0
		}
		if wait < 0 || wait > gateWait {
			wait = gateWait
		}
	}
	return wait
}

// Poll delivers what is due.
func (f *FaultEngine) Poll(events []iouring.Event, wait time.Duration) (int, error) {
	f.tick++
	n, err := f.inner.Poll(events, f.waitFor(wait))
	for _, ev := range events[:n] {
		if late := f.takeDelay(opKey{ev.Kind, ev.Token}); late.polls > 0 || late.gate.closed() {
			late.polls--
			f.hold(ev, late)
			continue
		}
		f.due = append(f.due, ev)
	}
	f.releaseHeld()
	if f.shuffle != nil {
		f.shuffle.Shuffle(len(f.due), f.swap)
	}
	n = copy(events, f.due)
	f.due = append(f.due[:0], f.due[n:]...)
	return n, err
}

// swap leaves accepts where they are: their last event must stay last.
func (f *FaultEngine) swap(i, j int) {
	if f.due[i].Kind != iouring.EventAccept && f.due[j].Kind != iouring.EventAccept {
		f.due[i], f.due[j] = f.due[j], f.due[i]
	}
}

func (f *FaultEngine) takeDelay(key opKey) lateness {
	delays := f.delays[key]
	if len(delays) == 0 {
		return lateness{}
	}
	if len(delays) == 1 {
		delete(f.delays, key)
	} else {
		f.delays[key] = delays[1:]
	}
	return delays[0]
}

func (f *FaultEngine) releaseHeld() {
	keep := f.held[:0]
	for _, h := range f.held {
		if h.until > f.tick || h.gate.closed() {
			keep = append(keep, h)
			continue
		}
		f.due = append(f.due, h.event)
	}
	f.held = keep
}

// Close closes the wrapped engine; what is held back is dropped.
func (f *FaultEngine) Close() error { return f.inner.Close() }
