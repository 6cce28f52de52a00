package node

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// Loop is one core's event loop: a locked OS thread with an engine, connections and partitions of its own. Every
// field is the loop thread's alone unless it says otherwise; the way in from elsewhere is the mailbox.
type Loop struct {
	node    *Node
	index   int
	engine  iouring.Engine
	mailbox Mailbox
	// overflow holds messages that a full mailbox of another loop refused, by loop; while any waits, this loop reads
	// no new requests (backpressure).
	overflow  [][]Message
	overflown int

	conns slots[Conn]
	// held are connections that are not served, see hold.
	held    map[int]*timer
	parts   slots[partition]
	fetches fetchSessions
	slabs   slabPool
	answers answerMemory

	// dirty are the partitions with planned appends of this turn; active those with bytes to send.
	dirty  []*partition
	active []*Conn
	// activeSpare is last turn's active, emptied; freePending and outBuffers are kept for reuse.
	activeSpare []*Conn
	freePending []*pending
	outBuffers  [][]byte
	// provided counts the engine's receive buffers that are out.
	provided int
	// starved are connections that wait for request memory or provided buffers; freed says that some came back since
	// they last tried.
	starved []*Conn
	freed   bool

	sync    syncer
	works   background
	timers  timerHeap
	indexes indexMemory
	// replicators fetch, by leader, for the partitions that follow; replicating are those that may have something to ask for.
	replicators map[wire.NodeID]*replicator
	replicating []*replicator
	// replicaViews is reused for a partition's replicas.
	replicaViews []replicate.ReplicaView
	cold         coldReads

	// wall is the wall clock at the start of the turn, for record timestamps; mono the monotonic one, for the rest. instant is the
	// monotonic one as it was last read, for requests' stages: mono, or later in the turn.
	wall          wire.Timestamp
	mono, instant time.Duration
	// nextSweep is when idle and stuck connections are next looked for.
	nextSweep time.Duration

	// eff is what the state machines want done; applying says that it is being done.
	eff      replicate.Effects
	applying bool

	produce produceScratch
	// fetchIn, fetchOut and fetchPieces are reused to decode and encode Fetches.
	fetchIn     wire.FetchRequest
	fetchOut    wire.FetchResponse
	fetchPieces []wire.FetchPiece
	// runs are the turn's written appends, vectors the buffers of one inline write; both reused.
	runs    []writtenRun
	vectors [][]byte
	// inlineMax is the largest write in bytes that the loop makes itself where small ones are inline, see
	// logDir.inlineAppends (ringmill.append.inline.bytes.max).
	inlineMax int
	metrics   loopMetrics
	stages    *stageTimes
	// unstamped are bytes that were handed to sockets since instant was read.
	unstamped int
	// assigned counts the connections ever handed to the loop, closed ones too; written and read by loop 0.
	assigned atomic.Int64

	// turns counts turns and lets /livez see that the loop ticks; read by any goroutine.
	turns    atomic.Uint64
	stopping bool
	stopped  chan struct{}
}

// Token layout: kind in the top byte, the slot's generation in the next 24 bits, the slot in the low 32.
const (
	tokenAccept uint64 = iota + 1
	tokenConnRecv
	tokenConnBody
	tokenConnWritable
	tokenConnCold
	tokenPartWrite
	tokenJournalSync
)

const generationMask = 1<<24 - 1

func token(kind uint64, generation uint32, slot uint32) iouring.Token {
	return iouring.Token(kind<<56 | uint64(generation&generationMask)<<32 | uint64(slot))
}

func splitToken(t iouring.Token) (kind uint64, generation, slot uint32) {
	return uint64(t) >> 56, uint32(uint64(t)>>32) & generationMask, uint32(t)
}

// eventsPerTurn bounds what one Poll hands over, so that a turn stays short; 256 is what the loop was measured with.
const eventsPerTurn = 256

// turnWaitMax bounds one wait, so that /livez sees an idle loop tick.
const turnWaitMax = 500 * time.Millisecond

// run is the loop's thread. started is told when the engine is up, or why it is not.
func (l *Loop) run(started chan<- error) {
	runtime.LockOSThread()
	defer close(l.stopped)
	if err := l.open(); err != nil {
		started <- err
		return
	}
	defer l.teardown()
	started <- nil
	events := make([]iouring.Event, eventsPerTurn)
	for !l.stopping {
		l.turn(events)
	}
}

// open pins the thread and makes the engine on it: a ring with a single issuer belongs to the thread that made it.
func (l *Loop) open() error {
	l.pin()
	engine, probe, err := l.newEngine()
	if err != nil {
		return fmt.Errorf("loop %d: engine: %w", l.index, err)
	}
	l.engine = engine
	l.node.noteProbe(l.index, probe)
	return nil
}

// pin binds the thread to a CPU of its own where there are more than loops. Where every CPU has a loop, something else
// has to share one, and the scheduler does better without: with clients on the same two cores, 16 connections that
// produce got 1.45 times the rate at 0.74 of the CPU (PERFORMANCE.md).
func (l *Loop) pin() {
	cpus, err := iouring.ThreadCPUs()
	if err == nil && len(l.node.loops) < len(cpus) {
		_ = iouring.PinThread(cpus[l.index%len(cpus)])
	}
}

// turn is one round: reap completions, run handlers and the mailbox, then submit what they planned.
func (l *Loop) turn(events []iouring.Event) {
	n, err := l.engine.Poll(events, l.waitFor())
	if err != nil {
		l.node.fatal(fmt.Errorf("loop %d: engine: %w", l.index, err))
		l.stopping = true
		return
	}
	l.turns.Add(1)
	l.readClocks()
	for i := range events[:n] {
		l.handle(&events[i])
	}
	for _, m := range l.mailbox.take() {
		m.handle(l)
	}
	l.timers.fire(l)
	l.flushAppends()
	l.sync.start(l)
	l.replicate()
	l.resumeStarved()
	l.flushConns()
	l.shedAnswers()
	l.flushOverflow()
	l.sweep()
}

func (l *Loop) readClocks() {
	now := time.Now()
	l.wall = wire.Timestamp(now.UnixMilli())
	l.mono = now.Sub(l.node.started)
	l.instant = l.mono
}

// readInstant reads the monotonic clock anew: where requests have just spent time that the turn's beginning does not know of.
func (l *Loop) readInstant() { l.instant = time.Since(l.node.started) }

// waitFor is how long the next Poll may sleep: not at all while work is left over from this turn. Answers that go out
// late in a turn let requests in whose appends are left over. Timers are counted from the instant, as a turn may take as
// long as they run.
func (l *Loop) waitFor() time.Duration {
	if len(l.active) > 0 || l.overflown > 0 || len(l.dirty) > 0 || len(l.starved) > 0 && l.freed {
		return 0
	}
	wait := turnWaitMax
	if at, ok := l.timers.next(); ok {
		wait = min(wait, max(at-l.instant, 0))
	}
	return wait
}

func (l *Loop) handle(e *iouring.Event) {
	kind, generation, slot := splitToken(e.Token)
	switch kind {
	case tokenAccept:
		l.accepted(int(slot), e)
	case tokenConnRecv, tokenConnBody, tokenConnWritable, tokenConnCold:
		l.connEvent(kind, generation, slot, e)
	case tokenPartWrite:
		if p := l.parts.get(slot, generation); p != nil {
			l.ringWritten(p, e.Res)
		}
	case tokenJournalSync:
		l.sync.journalSynced(l, e.Res)
	}
}

// post sends m to another loop, from this loop's thread.
func (l *Loop) post(to *Loop, m Message) {
	if len(l.overflow[to.index]) == 0 {
		ok, wasEmpty := to.mailbox.put(m)
		if wasEmpty {
			l.engine.Signal(to.engine)
		}
		if ok {
			return
		}
	}
	l.overflow[to.index] = append(l.overflow[to.index], m)
	l.overflown++
}

// flushOverflow retries what full mailboxes refused, in order.
func (l *Loop) flushOverflow() {
	if l.overflown == 0 {
		return
	}
	for i, waiting := range l.overflow {
		sent := 0
		for _, m := range waiting {
			ok, wasEmpty := l.node.loops[i].mailbox.put(m)
			if wasEmpty {
				l.engine.Signal(l.node.loops[i].engine)
			}
			if !ok {
				break
			}
			sent++
		}
		l.overflown -= sent
		rest := copy(waiting, waiting[sent:])
		clear(waiting[rest:])
		l.overflow[i] = waiting[:rest]
	}
	if l.overflown == 0 {
		l.conns.all((*Conn).consume) // they were not read meanwhile
	}
}

// send puts m into the loop's mailbox from any goroutine, waiting while it is full.
func (l *Loop) send(m Message) {
	for {
		ok, wasEmpty := l.mailbox.put(m)
		if wasEmpty {
			l.engine.Wake()
		}
		if ok {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// on runs f on the loop's thread and returns when it has run. For cold paths; never from a loop.
func (l *Loop) on(f func(l *Loop)) {
	done := make(chan struct{})
	l.send(messageFunc(func(l *Loop) {
		f(l)
		close(done)
	}))
	select {
	case <-done:
	case <-l.stopped:
	}
}

// onOrNow is on, or f at once while the loops do not run yet.
func (l *Loop) onOrNow(f func(l *Loop)) {
	if l.node.running {
		l.on(f)
		return
	}
	f(l)
}
