package node

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
	"github.com/ringmill/ringmill/wire"
)

// timesOf are the stages of a kind of request, summed over the loops, once n requests of it have been answered.
func (tn *testNode) timesOf(r stageRow, n uint64) *[stagesMax]stageHistogram {
	tn.t.Helper()
	var row *[stagesMax]stageHistogram
	await(tn.t, "the stages of "+r.name(), func() bool {
		row = tn.metrics.stages.collect().row(r)
		return row[stageTotal].count() >= n
	})
	if got := row[stageTotal].count(); got != n {
		tn.t.Fatalf("%d requests of %s, want %d", got, r.name(), n)
	}
	return row
}

func (h *stageHistogram) count() (n uint64) {
	for _, of := range h.buckets {
		n += of
	}
	return n
}

// wantStages holds how many requests passed each stage, and that the stages add up to the total: no time is left out, none told twice.
func wantStages(t *testing.T, row *[stagesMax]stageHistogram, want map[stage]uint64) {
	t.Helper()
	sum := time.Duration(0)
	for i := range row {
		s := stage(i)
		if got := row[s].count(); got != want[s] {
			t.Errorf("%d requests passed %s, want %d", got, stageNames[s], want[s])
		}
		if s != stageReceived && s != stageThrottled && s != stageTotal {
			sum += row[s].sum
		}
	}
	if sum != row[stageTotal].sum {
		t.Errorf("the stages add up to %v, the total is %v", sum, row[stageTotal].sum)
	}
}

func TestStageBuckets(t *testing.T) {
	slowly := func(d time.Duration) int {
		for i, bound := range stageBounds {
			if d <= bound {
				return i
			}
		}
		return len(stageBounds)
	}
	durations := []time.Duration{0, 1, 999, time.Hour, 1<<63 - 1}
	for _, bound := range stageBounds {
		durations = append(durations, bound-1, bound, bound+1)
	}
	for range 10_000 {
		durations = append(durations, time.Duration(rand.Uint64()>>(1+rand.IntN(62))))
	}
	for _, d := range durations {
		var h stageHistogram
		h.observe(d)
		if want := slowly(d); h.buckets[want] != 1 || h.count() != 1 || h.sum != d {
			t.Errorf("%v: not in bucket %d, or not once", d, want)
		}
	}
}

// A produce's stages on a node of its own: with two loops those produces whose partition is another loop's are in a mailbox too.
func TestStagesOfProduces(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 2)
		c := tn.dial()
		for part := range int32(2) {
			c.mustProduce("a", part, batch("x"))
			c.call(produce(1, toProduce{"a", part, batch("y")}))
		}
		c.call(produce(-1, toProduce{"b", 0, batch("z")})) // there is no such topic
		hops := uint64(s.loops-1) * 2
		wantStages(t, tn.timesOf(stageRow(wire.KeyProduce), 5), map[stage]uint64{
			stageReceived: 5, stageQueued: 5, stageMailbox: hops, stageAppended: 4, stageSynced: 2, stageSent: 5, stageTotal: 5,
		})
	})
}

// Many requests at once, whose answers wait for each other and for the client to read: the stages add up all the same.
func TestStagesOfManyProduces(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 4)
		c := tn.dial()
		const requests = 3 * sentMarksMax
		var all []byte
		for i := range int32(requests) {
			all = append(all, c.frame(produce(int16(-(i%2))|1, toProduce{"a", i % 4, batch("x")}, toProduce{"a", (i + 1) % 4, batch("y")}))...)
		}
		go c.conn.Write(all)
		for range requests {
			c.mustReceive()
		}
		row := tn.timesOf(stageRow(wire.KeyProduce), requests)
		got := map[stage]uint64{stageReceived: requests, stageQueued: requests, stageAppended: requests, stageSent: requests, stageTotal: requests}
		for _, s := range []stage{stageMailbox, stagePurgatory, stageSynced, stageHandled} {
			got[s] = row[s].count()
		}
		wantStages(t, row, got)
	})
}

// What does not fit into a receive buffer is received in parts, and that is not in the total.
func TestReceivedStage(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.dial()
	frame := c.frame(bigProduce("a", 100_000))
	c.write(frame[:50_000])
	await(t, "the first half", func() bool { return tn.receivedBytes() >= 50_000 })
	const pause = 50 * time.Millisecond
	time.Sleep(pause) // the node's clock and the test's are one
	c.write(frame[50_000:])
	c.mustReceive()
	row := tn.timesOf(stageRow(wire.KeyProduce), 1)
	wantStages(t, row, map[stage]uint64{stageReceived: 1, stageQueued: 1, stageAppended: 1, stageSynced: 1, stageSent: 1, stageTotal: 1})
	if row[stageReceived].sum < pause {
		t.Errorf("received in %v, and half of it was held back for %v", row[stageReceived].sum, pause)
	}
}

// A fetch that finds nothing is in purgatory until its time is up, and what its client asked meanwhile is queued behind it.
func TestPurgatoryStage(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1)
		tn.createTopic("b", 1) // another loop's, if there are two
		c := tn.dial()
		const wait = 50 * time.Millisecond
		c.send(waiting(fetch(toFetch{"a", 0, 0}, toFetch{"b", 0, 0}), 1, wait), kmsg.NewPtrApiVersionsRequest())
		c.mustReceive()
		c.mustReceive()
		row := tn.timesOf(stageRow(wire.KeyFetch), 1)
		want := map[stage]uint64{stageReceived: 1, stageQueued: 1, stagePurgatory: 1, stageSent: 1, stageTotal: 1}
		want[stageMailbox], want[stageHandled] = row[stageMailbox].count(), row[stageHandled].count() // its loops may take turns at once
		wantStages(t, row, want)
		if row[stagePurgatory].sum < wait*9/10 { // mailboxes may have had a part of the wait that it is allowed
			t.Errorf("in purgatory for %v of %v", row[stagePurgatory].sum, wait)
		}
		behind := tn.timesOf(stageRow(wire.KeyApiVersions), 1)
		wantStages(t, behind, map[stage]uint64{stageReceived: 1, stageQueued: 1, stageHandled: 1, stageSent: 1, stageTotal: 1})
		if behind[stageQueued].sum < wait*9/10 {
			t.Errorf("queued for %v behind a fetch of %v", behind[stageQueued].sum, wait)
		}
	})
}

// Who takes more than the quota is told to wait; that is told of the request, and what is sent meanwhile is not told to be queued so long.
func TestThrottledStage(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("t", 1)
		tn.setQuota(testClient, quota.ProducerByteRate, 10)
		c := tn.dial()
		c.send(bigProduce("t", 4_000), bigProduce("t", 4_000))
		told := time.Duration(throttleOf(c.mustReceive())) * time.Millisecond
		if got := tn.timesOf(stageRow(wire.KeyProduce), 1)[stageThrottled]; got.count() != 1 || got.sum != told || told == 0 {
			t.Errorf("throttled %d times, for %v; the answer said %v", got.count(), got.sum, told)
		}
		time.Sleep(10 * time.Millisecond)
		tn.unmuteAll()
		told += time.Duration(throttleOf(c.mustReceive())) * time.Millisecond
		row := tn.timesOf(stageRow(wire.KeyProduce), 2)
		wantStages(t, row, map[stage]uint64{stageReceived: 2, stageQueued: 2, stageAppended: 2, stageSynced: 2, stageMailbox: row[stageMailbox].count(), stageThrottled: 2, stageSent: 2, stageTotal: 2})
		if row[stageThrottled].sum != told || row[stageQueued].sum != 0 {
			t.Errorf("throttled for %v of %v, queued for %v", row[stageThrottled].sum, told, row[stageQueued].sum)
		}
	})
}

// What holds a write or a sync up is told by the stage that it is of.
func TestStagesOfASlowDisk(t *testing.T) {
	for _, test := range []struct {
		stage stage
		kind  iouring.EventKind
		set   string
	}{
		{stageAppended, iouring.EventWrite, "ringmill.append.path=ring"},
		{stageSynced, iouring.EventSync, "ringmill.append.path=inline"},
	} {
		t.Run(stageNames[test.stage], func(t *testing.T) {
			eachShape(t, func(t *testing.T, s shape) {
				var f faults
				tn := startNode(t, nodeOptions{shape: s, set: []string{test.set}, seams: f.under})
				tn.createTopic("a", 1)
				c := tn.dial()
				gate := new(iouringtest.Gate)
				f.set(func(kind iouring.EventKind, _ string) iouringtest.Fault {
					if kind == test.kind {
						return iouringtest.Fault{Gate: gate}
					}
					return iouringtest.Fault{}
				})
				c.send(produce(-1, toProduce{"a", 0, batch("x")}))
				await(t, "the operation that is held up", func() bool { return f.met.Load() > 0 })
				const pause = 50 * time.Millisecond
				time.Sleep(pause)
				gate.Open()
				c.mustReceive()
				row := tn.timesOf(stageRow(wire.KeyProduce), 1)
				wantStages(t, row, map[stage]uint64{stageReceived: 1, stageQueued: 1, stageAppended: 1, stageSynced: 1, stageSent: 1, stageTotal: 1})
				if got := row[test.stage].sum; got < pause {
					t.Errorf("%s took %v, and the disk %v", stageNames[test.stage], got, pause)
				}
			})
		})
	}
}

// An answer that its client does not read is sent when it does.
func TestSentStage(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.dial()
	for range 16 {
		c.mustProduce("a", 0, batch(strings.Repeat("x", 1<<20-100)))
	}
	c.send(fetch(toFetch{"a", 0, 0}))
	await(t, "the socket is full", func() bool {
		blocked := false
		tn.loops[0].on(func(l *Loop) { l.conns.all(func(c *Conn) { blocked = blocked || c.out.blocked }) })
		return blocked
	})
	const pause = 50 * time.Millisecond
	time.Sleep(pause)
	c.mustReceive()
	row := tn.timesOf(stageRow(wire.KeyFetch), 1)
	wantStages(t, row, map[stage]uint64{stageReceived: 1, stageQueued: 1, stageSent: 1, stageTotal: 1})
	if got := row[stageSent].sum; got < pause {
		t.Errorf("sent in %v to a client that did not read for %v", got, pause)
	}
}

// What is told does not depend on whether many rounds of syncs have ended since.
func TestSyncRounds(t *testing.T) {
	var r syncRounds
	at := func(round uint64) time.Duration { return time.Duration(round) * time.Second }
	for range 3 * syncRoundsKept {
		r.begin(at(r.begun + 1))
		if took := r.end(at(r.begun) + time.Millisecond); took != time.Millisecond {
			t.Fatalf("a round took %v", took)
		}
	}
	now := at(r.ended + 2)
	for _, test := range []struct {
		name    string
		round   uint64
		written time.Duration
		want    time.Duration
	}{
		{"one that has not begun", r.next(), now - 5, now},
		{"the last one", r.ended, 0, at(r.ended) + time.Millisecond},
		{"the oldest that is remembered", r.ended - syncRoundsKept + 1, 0, at(r.ended-syncRoundsKept+1) + time.Millisecond},
		{"an older one", r.ended - syncRoundsKept, at(7), at(7) + time.Millisecond},
		{"an older one, of which less is left", r.ended - syncRoundsKept, now - 5, now},
	} {
		if got := r.endOf(test.round, test.written, now); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	r.begin(now)
	if got := r.endOf(r.begun, 0, now+1); got != now+1 {
		t.Errorf("one that is under way: %v, want %v", got, now+1)
	}
}

func BenchmarkStages(b *testing.B) {
	b.ReportAllocs()
	times, row := newStageTimes(), stageRow(wire.KeyProduce)
	for i := range b.N {
		at := time.Duration(i) * 977
		var r requestTimes
		r.row, r.arrived, r.reached = row, at, at
		r.took(stageReceived, at)
		r.took(stageQueued, at)
		item := produceItem{request: &produceRequest{}, times: itemTimes{taken: at, planned: at, written: at + 30_000, synced: at + 400_000, finished: at + 400_000}}
		item.tellTimes(&r, nil)
		times.answered(&r)
		times.sent(&sentMark{arrived: at, ready: at + 400_000, row: row, answers: 1}, at+410_000)
	}
}

func BenchmarkReadInstant(b *testing.B) {
	l := &Loop{node: &Node{started: time.Now()}}
	for range b.N {
		l.readInstant()
	}
}
