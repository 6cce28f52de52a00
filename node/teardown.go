package node

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/wire"
)

// settleTimeout bounds the wait for operations and messages under way when the loops stop. Nothing is owed to anybody
// by then: it only lets what is out come back to where it is freed.
const settleTimeout = 2 * time.Second

// stopLoops ends the loops. Connections are closed and partitions stopped on all of them first, so that what travels
// between two loops is back before either is gone.
func (n *Node) stopLoops() {
	n.metrics.stages.end()
	n.settle()
	for _, l := range n.loops {
		if l.engine == nil {
			continue // its engine could not be made; its thread is gone
		}
		l.send(messageFunc(func(l *Loop) { l.stopping = true }))
		<-l.stopped
	}
}

func (n *Node) settle() {
	for _, l := range n.loops {
		if l.engine != nil {
			l.on((*Loop).closeAll)
		}
	}
	for deadline := time.Now().Add(settleTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		busy := false
		for _, l := range n.loops {
			if l.engine != nil {
				l.on(func(l *Loop) { busy = busy || l.busy() })
			}
		}
		if !busy {
			return
		}
	}
}

// closeAll closes every connection and stops every partition: what waits for a disk is answered to nobody.
func (l *Loop) closeAll() {
	l.dropAccepted()
	l.conns.all(func(c *Conn) { c.close() })
	l.parts.all(func(p *partition) {
		if p.stopped == wire.None {
			l.stop(p, wire.KafkaStorageError)
		}
	})
}

// busy says whether operations or messages are under way that hold buffers or files.
func (l *Loop) busy() bool {
	busy := l.conns.live > 0 || l.overflown > 0
	l.parts.all(func(p *partition) { busy = busy || p.writeFile != nil })
	return busy
}

// teardown frees what is the loop's, at the end of its thread. What an operation still refers to is freed after the
// engine, which cancels and awaits them all.
func (l *Loop) teardown() {
	l.closeAll()
	l.closeReplicators()
	_ = l.engine.Close()
	l.conns.all(func(c *Conn) {
		c.ops = 0
		c.finishClose()
	})
	l.parts.all(func(p *partition) {
		if p.writeFile != nil {
			p.endRingWrite()
		}
	})
	l.slabs.drop()
	for _, b := range l.cold.scratch {
		_ = iouring.Unmap(b)
	}
	checkReturned(l)
}

// drop unmaps the free slabs.
func (s *slabPool) drop() {
	for class, free := range s.free {
		for _, memory := range free {
			_ = iouring.Unmap(memory)
		}
		s.free[class] = nil
	}
	s.freeBytes = 0
}

// outstanding is an account of what a stopped loop has lent out and not got back; "" if that is nothing.
func (l *Loop) outstanding() string {
	if l.provided == 0 && l.slabs.charged == 0 && l.answers.held == 0 && l.conns.live == 0 {
		return ""
	}
	return fmt.Sprintf("loop %d: %d provided buffers, %d bytes of slabs, %d of answers, %d connections", l.index, l.provided, l.slabs.charged, l.answers.held, l.conns.live)
}
