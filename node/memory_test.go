package node

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// starvedConns counts connections that wait for memory.
func (tn *testNode) starvedConns() (n int) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) { n += len(l.starved) })
	}
	return n
}

func (tn *testNode) liveConns() (n int) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) { n += l.conns.live })
	}
	return n
}

// TestRequestMemory: half-sent frames that do not fit together hold up those that need memory and no others, and all are
// served in the end.
func TestRequestMemory(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{
			"socket.request.max.bytes=3145728", fmt.Sprint("ringmill.request.memory.bytes=", s.loops*3<<20), "message.max.bytes=3000000",
		}})
		tn.createTopic("a", 1)
		frame := func(c *client) []byte {
			return c.frame(produce(1, toProduce{"a", 0, batch(strings.Repeat("x", 2500<<10))}))
		}
		goOn := make(chan struct{})
		var clients []*client
		for range 3 * s.loops { // whichever exceeds the bound goes on alone; one or two wait
			c := tn.dial()
			b := frame(c)
			go func() {
				_, _ = c.conn.Write(b[:2<<20])
				<-goOn
				_, _ = c.conn.Write(b[2<<20:])
			}()
			clients = append(clients, c)
		}
		await(t, "one waits for memory on each loop", func() bool { return tn.starvedConns() >= s.loops })
		for range 2 * s.loops {
			small := tn.dial()
			small.alive()
			small.mustProduce("a", 0, batch("small"))
		}
		close(goOn)
		for _, c := range clients {
			if code := codeOf(produced(c.mustReceive())); code != wire.None {
				t.Fatalf("a large produce after a wait: %s", code)
			}
		}
		for _, l := range tn.loops {
			l.on(func(l *Loop) {
				if l.slabs.charged != 0 || l.slabs.over != nil || len(l.starved) > 0 {
					t.Errorf("loop %d: %d bytes are charged when all is answered", l.index, l.slabs.charged)
				}
			})
		}
	})
}

// TestFrameLargerThanLoopsShare: the node's request memory holds it, one loop's share does not.
func TestFrameLargerThanLoopsShare(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 2}, set: []string{
		"socket.request.max.bytes=4194304", "ringmill.request.memory.bytes=4194304", "message.max.bytes=4000000",
	}})
	tn.createTopic("a", 1)
	tn.dial().mustProduce("a", 0, batch(strings.Repeat("x", 3<<20)))
}

// noDrain has a node that stops close what is under way at once: for tests that leave requests waiting.
func noDrain(s *seams) { s.drainTimeout = 0 }

func quickSweeps(s *seams) {
	s.requestTimeout, s.sweepInterval = 50*time.Millisecond, 10*time.Millisecond
}

// TestHalfSentRequestTimesOut: what a silent client holds is taken from it; one that idles between requests stays.
func TestHalfSentRequestTimesOut(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, seams: quickSweeps})
		tn.createTopic("a", 1)
		idle := tn.dial()
		idle.alive()
		var silent []*client
		for _, sent := range []int{4, 5, 200, 20000} { // the length alone, in a provided buffer, in a slab
			c := tn.dial()
			b := c.frame(produce(1, toProduce{"a", 0, batch(strings.Repeat("x", 2<<20))}))
			c.write(b[:sent])
			silent = append(silent, c)
		}
		for _, c := range silent {
			c.awaitClosed()
		}
		idle.alive()
	})
}

func TestIdleConnectionIsClosed(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, seams: quickSweeps, set: []string{"connections.max.idle.ms=50"}})
		tn.createTopic("a", 1)
		idle, polling := tn.dial(), tn.dial()
		idle.alive()
		polling.send(waiting(fetch(toFetch{"a", 0, 0}), 1, time.Minute))
		idle.awaitClosed()
		await(t, "only the long poll is left", func() bool { return tn.liveConns() == 1 })
		tn.dial().mustProduce("a", 0, batch("x"))
		if got := fetched(polling.mustReceive())["a-0"]; len(got.RecordBatches) == 0 {
			t.Fatal("the long poll was not answered")
		}
	})
}

func TestBadLengths(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		good := tn.dial()
		for _, length := range []uint32{0, 1, frameBytesMin - 1, 100<<20 + 1, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			c := tn.dial()
			c.write(binary.BigEndian.AppendUint32(nil, length))
			c.awaitClosed()
		}
		for _, garbage := range []string{"GET / HTTP/1.1\r\nHost: node\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", strings.Repeat("\xff", 100)} {
			c := tn.dial()
			c.write([]byte(garbage))
			c.awaitClosed()
		}
		good.alive()
		await(t, "the others are gone", func() bool { return tn.liveConns() == 1 })
	})
}

// TestClientThatNeverReads: its answers are bounded, it is read no further, and others go on.
func TestClientThatNeverReads(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		for i := range 50 {
			tn.createTopic(fmt.Sprintf("%s-%d", strings.Repeat("t", 200), i), 1)
		}
		tn.createTopic("a", 1)
		c := tn.dial()
		_ = c.conn.(*net.TCPConn).SetReadBuffer(4096)
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for { // until the node takes no more
				req := kmsg.NewPtrMetadataRequest()
				req.Version = 9
				_ = c.conn.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
				if _, err := c.conn.Write(formatter.AppendRequest(nil, req, 1)); err != nil {
					return
				}
			}
		}()
		<-stop
		for _, l := range tn.loops {
			l.on(func(l *Loop) {
				l.conns.all(func(c *Conn) {
					if n := cap(c.out.mem); n > 4*outBytesMax {
						t.Errorf("%d bytes of answers are held", n)
					}
				})
			})
		}
		other := tn.dial()
		other.mustProduce("a", 0, batch("x"))
	})
}

// TestAnswersKeptAreBounded: a client that reads slowly and without pause never lets the node's buffer run empty.
func TestAnswersKeptAreBounded(t *testing.T) {
	var out transmit
	l := &Loop{}
	answer := make([]byte, 10<<10)
	var want []byte
	for i := range 2000 {
		for j := range answer {
			answer[j] = byte(i + j)
		}
		out.append(l, answer, []fileRange{{at: 5}})
		want = append(want, answer...)
		for out.unsent() > 100<<10 { // as flush does, always leaving something
			got := out.mem[out.sent : out.sent+1<<10]
			if string(got) != string(want[:1<<10]) {
				t.Fatalf("answer %d: other bytes than appended", i)
			}
			want = want[1<<10:]
			out.sent += 1 << 10
			for len(out.ranges) > 0 && out.ranges[0].at <= out.sent {
				out.ranges = out.ranges[1:]
			}
		}
	}
	if cap(out.mem) > 1<<20 {
		t.Fatalf("%d bytes kept for %d to be sent", cap(out.mem), out.unsent())
	}
	for _, r := range out.ranges { // the fifth byte of an answer
		if r.at < out.sent || byte(out.mem[r.at]-out.mem[r.at-5]) != 5 {
			t.Fatalf("a range at byte %d of %d, which is not where it was put", r.at, len(out.mem))
		}
	}
}

func TestPipelineThatNeverEmpties(t *testing.T) {
	var p pipeline
	r := &pending{}
	for range inFlightMax / 2 {
		p.push(r)
	}
	for range 100000 {
		p.push(r)
		if p.pop() != r {
			t.Fatal("popped something else")
		}
	}
	if p.len() != inFlightMax/2 || cap(p.items) > 8*inFlightMax {
		t.Fatalf("%d requests under way, room for %d", p.len(), cap(p.items))
	}
}

func TestConnectionLimits(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		for _, limit := range []string{"max.connections=3", "max.connections.per.ip=3", "max.connections.per.ip.overrides=127.0.0.1:3"} {
			tn := startNode(t, nodeOptions{shape: s, set: []string{limit}})
			var clients []*client
			for range 3 {
				c := tn.dial()
				c.alive()
				clients = append(clients, c)
			}
			tn.dial().awaitClosed()
			clients[1].conn.Close()
			await(t, "one left", func() bool { return tn.liveConns() == 2 })
			tn.dial().alive()
			tn.dial().awaitClosed()
			tn.stop()
		}
	})
}

// TestMemoryLimit: the runtime's limit lies a quarter above what clients may hold and above what lives, whatever that is, so that the
// collector always has room.
func TestMemoryLimit(t *testing.T) {
	const mib = 1 << 20
	for _, row := range []struct{ bound, live, want int64 }{
		{2658 * mib, 20 * mib, 3328 * mib},
		{2658 * mib, 2658 * mib, 3328 * mib},
		{2658 * mib, 6000 * mib, 7552 * mib}, // 100,000 partitions and more
		{64 * mib, 0, 192 * mib},
	} {
		if got := memoryLimit(row.bound, row.live); got != row.want {
			t.Errorf("bound %d MiB, %d MiB live: %d MiB, want %d", row.bound/mib, row.live/mib, got/mib, row.want/mib)
		}
	}
}

// TestMemoryLimitOfTheProcess: the limit is set while a node serves, lifted when it stops, and the user's own stays.
func TestMemoryLimitOfTheProcess(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	tn := startNode(t, nodeOptions{})
	want := memoryLimit(tn.memoryBound(), 0)
	if got := tn.limitMemory(); got != want || debug.SetMemoryLimit(-1) != want {
		t.Errorf("the limit is %d, and %d is told; want %d", debug.SetMemoryLimit(-1), got, want)
	}
	tn.stop()
	await(t, "the limit lifted", func() bool { return debug.SetMemoryLimit(-1) == math.MaxInt64 })
	debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "1GiB")
	if got := tn.restart().limitMemory(); got != before || debug.SetMemoryLimit(-1) != before {
		t.Errorf("the user's limit of %d became %d", before, got)
	}
}
