package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
	"github.com/ringmill/ringmill/wire"
)

// rounds is how many rounds of syncs the node's loops have had.
func (tn *testNode) rounds() (n uint64) {
	for _, l := range tn.loops {
		n += l.metrics.syncs.Get()
	}
	return n
}

// delayRounds has the loops' rounds of syncs wait for so long.
func (tn *testNode) delayRounds(d time.Duration) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) { l.sync.delay = d })
	}
}

// awaitWritten waits until a partition's log has its batches up to end, on disk or not.
func (tn *testNode) awaitWritten(topic string, end wire.Offset) {
	tn.t.Helper()
	p := tn.partition(topic, 0)
	await(tn.t, "written", func() bool {
		var written wire.Offset
		p.loop.on(func(*Loop) { written = p.replica.WrittenEnd() })
		return written == end
	})
}

// TestDelayedRoundGathers: appends of several turns and connections are acknowledged by one round.
func TestDelayedRoundGathers(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1)
		one, two := tn.dial(), tn.dial()
		one.mustProduce("a", 0, batch("before"))
		tn.delayRounds(time.Hour)
		before := tn.rounds()
		one.send(produce(-1, toProduce{"a", 0, batch("first")}))
		tn.awaitWritten("a", 2)
		two.send(produce(-1, toProduce{"a", 0, batch("second")}))
		tn.awaitWritten("a", 3)
		if n := tn.rounds() - before; n != 0 {
			t.Fatalf("%d rounds before the delay is over", n)
		}
		tn.delayRounds(0)
		for _, c := range []*client{one, two} {
			if code := codeOf(produced(c.mustReceive())); code != wire.None {
				t.Fatal(code)
			}
		}
		if n := tn.rounds() - before; n != 1 {
			t.Fatalf("%d rounds for two appends, want 1", n)
		}
	})
}

// TestCommitDelay: the property delays an acknowledgement, and the loop wakes by itself when it is over.
func TestCommitDelay(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{"ringmill.flush.commit.delay.us=50000"}})
		tn.createTopic("a", 1)
		tn.createTopic("cache", 1, "ringmill.flush.policy=cache")
		c := tn.dial()
		for range 3 {
			began := time.Now()
			c.mustProduce("a", 0, batch("x"))
			if took := time.Since(began); took < 50*time.Millisecond {
				t.Fatalf("acknowledged after %v", took)
			}
		}
		before := tn.rounds()
		c.mustProduce("cache", 0, batch("x"))
		if n := tn.rounds() - before; n != 0 {
			t.Fatalf("%d rounds under the policy cache", n)
		}
	})
}

// TestNothingHangsOnDelayedRound: a full journal, a call and a clean stop end the wait.
func TestNothingHangsOnDelayedRound(t *testing.T) {
	for name, end := range map[string]func(tn *testNode, c *client){
		"full journal": func(tn *testNode, c *client) {
			for range 11 { // of 100 KiB each into two halves of 512 KiB
				c.send(produce(-1, toProduce{"a", 0, batch(strings.Repeat("x", 100<<10))}))
			}
		},
		"call": func(tn *testNode, _ *client) {
			called := make(chan struct{})
			tn.partition("a", 0).loop.on(func(l *Loop) { l.sync.afterRound(func() { close(called) }) })
			<-called
		},
		"stop": func(tn *testNode, _ *client) {
			if err := tn.stop(); err != nil {
				tn.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, s shape) {
				tn := startNode(t, nodeOptions{shape: s, set: []string{"ringmill.journal.bytes=1048576"}})
				tn.createTopic("a", 1)
				for _, l := range tn.loops {
					l.on(func(l *Loop) { l.sync.checking = true }) // no checkpoint makes room
				}
				defer tn.stopChecking()
				tn.delayRounds(time.Hour)
				c := tn.dial()
				c.send(produce(-1, toProduce{"a", 0, batch("waits")}))
				tn.awaitWritten("a", 1)
				end(tn, c)
				if code := codeOf(produced(c.mustReceive())); code != wire.None {
					t.Fatal(code)
				}
			})
		})
	}
}

func (tn *testNode) stopChecking() {
	for _, l := range tn.loops {
		l.on(func(l *Loop) { l.sync.checking = false })
	}
}

// TestJournalRunBytesMax: what is larger is not journalled, nor is what no half of the journal holds.
func TestJournalRunBytesMax(t *testing.T) {
	for _, c := range []struct {
		set       string
		bytes     int
		journaled bool
	}{
		{"ringmill.journal.run.bytes.max=524288", 400 << 10, true},
		{"ringmill.journal.run.bytes.max=524288", 600 << 10, false},
		{"ringmill.journal.run.bytes.max=4096", 3000, true},
		{"ringmill.journal.run.bytes.max=4096", 5000, false},
		{"ringmill.journal.run.bytes.max=0", 1, false},
		{"ringmill.journal.run.bytes.max=1048576", 600 << 10, true}, // of the tests' journal a half has 2 MiB
		{"ringmill.journal.run.bytes.max=8388608", 2 << 20, false},
		{"ringmill.journal.run.bytes.max=8388608 ringmill.journal.bytes=33554432", 7 << 20, true}, // more than the default track has
	} {
		t.Run(fmt.Sprint(c.set, " ", c.bytes), func(t *testing.T) {
			tn := startNode(t, nodeOptions{set: append(strings.Fields(c.set), "message.max.bytes=8388608")})
			tn.createTopic("a", 1)
			tn.dial().mustProduce("a", 0, batch(strings.Repeat("x", c.bytes)))
			p, journaled := tn.partition("a", 0), false
			p.loop.on(func(*Loop) { journaled = p.journaled })
			if journaled != c.journaled {
				t.Errorf("journalled is %t", journaled)
			}
			if full := p.loop.metrics.journalFull.Get(); full != 0 {
				t.Errorf("the journal was full %d times", full)
			}
		})
	}
}

// TestAppendInlineBytesMax: larger appends are the ring's, smaller ones the loop's own.
func TestAppendInlineBytesMax(t *testing.T) {
	for _, c := range []struct {
		set   string
		bytes int
		ring  bool
	}{
		{"ringmill.append.inline.bytes.max=262144", 200 << 10, false},
		{"ringmill.append.inline.bytes.max=262144", 300 << 10, true},
		{"ringmill.append.inline.bytes.max=4096", 3000, false},
		{"ringmill.append.inline.bytes.max=4096", 5000, true},
		{"ringmill.append.inline.bytes.max=0", 1, true},
	} {
		t.Run(fmt.Sprint(c.set, " ", c.bytes), func(t *testing.T) {
			var f faults
			var written bool // on the loop's thread, before the answer
			f.set(func(kind iouring.EventKind, name string) iouringtest.Fault {
				written = written || kind == iouring.EventWrite && strings.Contains(name, "/a-0/")
				return iouringtest.Fault{}
			})
			tn := startNode(t, nodeOptions{seams: f.under, set: []string{c.set, "ringmill.append.path=inline"}})
			tn.createTopic("a", 1)
			tn.dial().mustProduce("a", 0, batch(strings.Repeat("x", c.bytes)))
			tn.partition("a", 0).loop.on(func(*Loop) {
				if written != c.ring {
					t.Errorf("by the ring is %t", written)
				}
			})
		})
	}
}
