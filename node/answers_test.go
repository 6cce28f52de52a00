package node

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// TestCloseBehindUnansweredProduce: a Fetch is answered behind a Produce that waits for the disk; when the client leaves,
// the files of the answer are given back. (ended, at the end of the test, counts them.)
func TestCloseBehindUnansweredProduce(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		var synced iouringtest.Gate
		tn := startNode(t, nodeOptions{shape: s, seams: func(s *seams) {
			f.under(s)
			quickSweeps(s) // while it waits, nothing but a sweep sees that the client has gone
		}})
		defer synced.Open()
		tn.createTopic("a", 2)
		c := tn.dial()
		c.mustProduce("a", 0, batch("x"))
		f.set(func(kind iouring.EventKind, name string) iouringtest.Fault {
			if kind == iouring.EventSync && strings.Contains(name, "journal-") {
				return iouringtest.Fault{Gate: &synced}
			}
			return iouringtest.Fault{}
		})
		c.send(produce(-1, toProduce{"a", 0, batch("y")}), fetch(toFetch{"a", 0, 0}))
		await(t, "the Fetch is done, the Produce is not", func() bool { return tn.answersHeld() == 1 })
		c.conn.Close()
		await(t, "closed", func() bool { return tn.liveConns() == 0 })
		await(t, "one reference, the partition's", func() bool {
			refs := int32(0)
			p := tn.partition("a", 0)
			p.loop.on(func(*Loop) { refs = p.files[p.log().ActiveSegment()].refs.Load() })
			return refs == 1
		})
	})
}

// answersHeld counts answers that wait for one before them.
func (tn *testNode) answersHeld() (n int) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) {
			l.conns.all(func(c *Conn) {
				for _, r := range c.pipeline.items[c.pipeline.head:] {
					if r.done {
						n++
					}
				}
			})
		})
	}
	return n
}

// TestFetchDuringSlowWrite: what is not written yet is not there, in every answer until it is (apache/iggy#2575, #2578).
func TestFetchDuringSlowWrite(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		var written iouringtest.Gate
		tn := startNode(t, nodeOptions{shape: s, seams: f.under, set: []string{"ringmill.append.path=ring"}})
		defer written.Open()
		tn.createTopic("a", 1)
		writer, reader := tn.dial(), tn.dial()
		writer.mustProduce("a", 0, batch("before"))
		f.set(func(kind iouring.EventKind, name string) iouringtest.Fault {
			if kind == iouring.EventWrite && strings.HasSuffix(name, ".log") {
				return iouringtest.Fault{Gate: &written}
			}
			return iouringtest.Fault{}
		})
		writer.send(produce(-1, toProduce{"a", 0, batch("late")}))
		for range 200 {
			if got := reader.readAll("a", 0, 0); len(got) != 1 || got[0] != "before" {
				t.Fatalf("read %q while the write is under way", got)
			}
		}
		written.Open()
		if code := codeOf(produced(writer.mustReceive())); code != wire.None {
			t.Fatal(code)
		}
		if got := reader.readAll("a", 0, 0); len(got) != 2 || got[1] != "late" {
			t.Errorf("read %q after the write", got)
		}
	})
}

// TestFullMailbox: while a loop stands still and its mailbox is full, the other loop's connections are not read; they go
// on when it does.
func TestFullMailbox(t *testing.T) {
	for _, engine := range []string{"uring", "epoll"} {
		t.Run(engine, func(t *testing.T) {
			tn := startNode(t, nodeOptions{shape: shape{engine, 2}})
			tn.createTopic("a", 2)
			var clients []*client
			for range 4 {
				c := tn.dial()
				c.alive()
				clients = append(clients, c)
			}
			still, goOn := make(chan struct{}), make(chan struct{})
			to := tn.partition("a", 0).loop
			go to.on(func(*Loop) {
				close(still)
				<-goOn
			})
			<-still
			for {
				if ok, _ := to.mailbox.put(messageFunc(func(*Loop) {})); !ok {
					break
				}
			}
			for i, c := range clients {
				for part := range int32(2) {
					c.send(produce(1, toProduce{"a", part, batch(fmt.Sprint(i))}))
				}
			}
			other := tn.loops[1-to.index]
			overflown := 0
			await(t, "overflow", func() bool {
				other.on(func(l *Loop) { overflown = l.overflown })
				return overflown > 0
			})
			for _, c := range clients { // comes in while nothing is read
				c.send(produce(1, toProduce{"a", 1, batch("later")}))
			}
			close(goOn)
			for _, c := range clients {
				for range 3 {
					if code := codeOf(produced(c.mustReceive())); code != wire.None {
						t.Fatal(code)
					}
				}
			}
		})
	}
}

// TestLateAndReorderedCompletions: the segments of a node whose operations come back short, late and out of order hold
// the same bytes as those of one that has no such trouble.
func TestLateAndReorderedCompletions(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			want := writeLoad(t, nodeOptions{shape: s})
			for seed := range uint64(3) {
				got := writeLoad(t, nodeOptions{shape: s, seams: func(seams *seams) { trouble(seams, seed) }})
				for name, b := range want {
					if !bytes.Equal(got[name], b) {
						t.Errorf("seed %d: %s has %d bytes, want %d, or others", seed, name, len(got[name]), len(b))
					}
				}
			}
		})
	}
}

// trouble makes every operation short, late and overtaken by chance.
func trouble(s *seams, seed uint64) {
	inner := s.newEngine
	s.newEngine = func(kind string, cfg iouring.Config, loop int) (iouring.Engine, iouring.Probe, error) {
		e, probe, err := inner(kind, cfg, loop)
		if err != nil {
			return nil, probe, err
		}
		f := iouringtest.NewFaultEngine(e, iouringtest.Seeded(seed, iouringtest.Rates{
			Short: 0.3, EAGAIN: 0.1, ENOBUFS: 0.02, Late: 0.3, LateMax: 20,
		}))
		f.Reorder(seed)
		return f, probe, nil
	}
}

// writeLoad runs a load whose outcome does not depend on timing and gives the .log files.
func writeLoad(t *testing.T, opts nodeOptions) map[string][]byte {
	t.Helper()
	opts.set = []string{"ringmill.append.path=ring"}
	tn := startNode(t, opts)
	tn.createTopic("a", 3, "segment.bytes=1048576")
	c := tn.dial()
	h := wire.BatchHeader{BaseTimestamp: 1}
	go func() {
		for i := range 120 {
			records := []wire.Record{{Value: bytes.Repeat([]byte{byte(i)}, 100*i+i*i*3)}}
			c.send(produce([]int16{1, -1}[i%2], toProduce{"a", int32(i % 3), wire.AppendRecordBatch(nil, h, records)}))
		}
	}()
	for range 120 {
		if code := codeOf(produced(c.mustReceive())); code != wire.None {
			t.Fatal(code)
		}
	}
	for part := range int32(3) { // acks 1 answers before the sync that lets readers see the batch
		await(t, "40 records in each partition", func() bool { return len(c.readAll("a", part, 0)) == 40 })
	}
	if err := tn.stop(); err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	names, _ := filepath.Glob(filepath.Join(tn.dirs[0].path, "a-*", "*.log"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(tn.dirs[0].path, name)
		files[rel] = b
	}
	return files
}

// TestEngineThatCannotBeMade is a start error, not a fault.
func TestEngineThatCannotBeMade(t *testing.T) {
	labelGoroutines(t)
	for bad := range 3 {
		cfg, _, err := config.Load(config.Source{Listen: "127.0.0.1:0", Data: t.TempDir(), Set: []string{"ringmill.http.listen=", "ringmill.loops=3", "ringmill.engine=epoll"}})
		if err != nil {
			t.Fatal(err)
		}
		n := newNode(cfg)
		inner := n.seams.newEngine
		n.seams.newEngine = func(kind string, cfg iouring.Config, loop int) (iouring.Engine, iouring.Probe, error) {
			if loop == bad {
				return nil, iouring.Probe{}, unix.EPERM
			}
			return inner(kind, cfg, loop)
		}
		var start *StartError
		if err := n.start(); !errors.As(err, &start) {
			t.Fatalf("loop %d: %v", bad, err)
		}
		awaitNoGoroutines(t)
	}
}

// TestDiskFull fills a real file system.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("ringmill-test", dir, "tmpfs", 0, "size=48m"); err != nil {
		t.Skip("a tmpfs cannot be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	eachPath(t, func(t *testing.T, path string) {
		opts := nodeOptions{dir: filepath.Join(dir, strings.TrimPrefix(path, "ringmill.append.path=")), set: []string{
			path, "ringmill.journal.bytes=1048576", "log.retention.check.interval.ms=10", "message.max.bytes=2000000",
		}}
		tn := startNode(t, opts)
		tn.createTopic("a", 2, "segment.bytes=4194304")
		tn.createTopic("ballast", 1)
		c := tn.dial()
		big := strings.Repeat("x", 1<<20)
		for i := 0; ; i++ {
			if code := codeOf(produced(c.call(produce(-1, toProduce{"ballast", 0, batch(big)})))); code == wire.KafkaStorageError {
				break
			} else if code != wire.None || i > 100 {
				t.Fatalf("produce %d: %s", i, code)
			}
		}
		acked := [2]int{}
		for i := range 200 { // many batches a request, some of which fit and some not
			c.send(produce(-1, toProduce{"a", int32(i % 2), batch(fmt.Sprint(i, " ", strings.Repeat("y", i*400)))}))
		}
		refused := 0
		for i := range 200 {
			switch code := codeOf(produced(c.mustReceive())); code {
			case wire.None:
				acked[i%2]++
			case wire.KafkaStorageError:
				refused++
			default:
				t.Fatal(code)
			}
		}
		if refused == 0 {
			t.Fatal("the disk was not full")
		}
		if code := tn.DeleteTopic("ballast", wire.TopicID{}); code != wire.None && code != wire.KafkaStorageError {
			t.Fatal(code)
		}
		_ = os.RemoveAll(filepath.Join(tn.dirs[0].path, "ballast-0"))
		ballast, _ := filepath.Glob(filepath.Join(tn.dirs[0].path, "ballast-0*"))
		for _, name := range ballast {
			_ = os.RemoveAll(name)
		}
		await(t, "room again", func() bool {
			return codeOf(produced(c.call(produce(-1, toProduce{"a", 0, batch("0 after")})))) == wire.None
		})
		acked[0]++
		check := func(c *client) {
			t.Helper()
			for part := range int32(2) {
				if n := len(c.readAll("a", part, 0)); n != acked[part] {
					t.Fatalf("%d records in partition %d, %d were acknowledged", n, part, acked[part])
				}
			}
		}
		check(c)
		if tn.hasFailed() {
			t.Fatal(tn.failure)
		}
		if err := tn.stop(); err != nil {
			t.Fatal(err)
		}
		tn = tn.restart()
		check(tn.dial())
		tn.kill()
		check(tn.restart().dial())
	})
}
