package node

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestRollsUnderProduce: many connections fill small segments; nothing is lost, doubled or out of its connection's order.
func TestRollsUnderProduce(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		eachPath(t, func(t *testing.T, path string) {
			tn := startNode(t, nodeOptions{shape: s, set: []string{path}})
			tn.createTopic("a", 2, "segment.bytes=1048576")
			const writers, rounds = 4, 30
			var done sync.WaitGroup
			for w := range writers {
				c := tn.dial()
				done.Go(func() {
					for i := range rounds {
						value := fmt.Sprint(w, " ", i, " ", strings.Repeat("x", 90<<10))
						c.send(produce([]int16{1, -1}[i%2], toProduce{"a", 0, batch(value)}, toProduce{"a", 1, batch(value)}))
					}
					for range rounds {
						for _, p := range produced(c.mustReceive()) {
							if p.ErrorCode != 0 {
								t.Errorf("produce: %s", wire.ErrorCode(p.ErrorCode))
							}
						}
					}
				})
			}
			done.Wait()
			check := func(c *client) {
				t.Helper()
				for part := range int32(2) {
					var next [writers]int
					for _, v := range c.readAll("a", part, 0) {
						var w, i int
						_, _ = fmt.Sscan(v, &w, &i)
						if i != next[w] {
							t.Fatalf("writer %d: record %d, want %d", w, i, next[w])
						}
						next[w]++
					}
					if next != [writers]int{rounds, rounds, rounds, rounds} {
						t.Fatalf("partition %d has %v records of each writer", part, next)
					}
				}
			}
			check(tn.dial())
			p := tn.partition("a", 0)
			p.loop.on(func(*Loop) {
				if n := len(p.log().Segments()); n < 5 {
					t.Errorf("%d segments", n)
				}
			})
			tn.kill()
			check(tn.restart().dial())
		})
	})
}

// TestRetentionUnderSlowReader: segments go while an answer is being sent from them; the answer is whole.
func TestRetentionUnderSlowReader(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{"log.retention.check.interval.ms=10", "message.max.bytes=4000000"}})
		tn.createTopic("a", 1, "segment.bytes=8388608")
		c := tn.dial()
		big := strings.Repeat("x", 1<<20)
		for range 20 {
			c.mustProduce("a", 0, batch(big))
		}
		slow := tn.dial()
		slow.send(fetch(toFetch{"a", 0, 0}))
		if _, err := slow.r.Peek(1); err != nil {
			t.Fatal(err)
		}
		tn.alterTopic("a", "retention.bytes", "1")
		p := tn.partition("a", 0)
		await(t, "first segments dropped", func() bool { return p.published.logStart.Load() > 0 })
		got, _ := values(t, fetched(slow.mustReceive())["a-0"].RecordBatches)
		if len(got) == 0 || slices.ContainsFunc(got, func(v string) bool { return v != big }) {
			t.Fatalf("%d records, not all of them whole", len(got))
		}
		gone := fetched(slow.call(fetch(toFetch{"a", 0, 0})))["a-0"]
		if wire.ErrorCode(gone.ErrorCode) != wire.OffsetOutOfRange {
			t.Fatalf("fetch of what is gone: %s", wire.ErrorCode(gone.ErrorCode))
		}
		if tn.hasFailed() {
			t.Fatal(tn.failure)
		}
	})
}

// TestFutureRecordBlocksRetention: a record ten years ahead, where such times are allowed, keeps its segment and all behind it
// however old they get (KAFKA-18929). What lies before it goes, the log says why the rest does not, and retention by size passes it.
func TestFutureRecordBlocksRetention(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1, "segment.bytes=1048576", "message.timestamp.after.max.ms=9223372036854775807")
	const hour, tenYears = 3600 * 1000, 10 * 365 * 24 * 3600 * 1000
	c, now := tn.dial(), wallNow()
	for _, at := range []wire.Timestamp{now - hour, now + tenYears, now - hour, now - hour} {
		value := wire.Record{Value: bytes.Repeat([]byte("x"), 900_000)} // a segment each
		c.mustProduce("a", 0, wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: at}, []wire.Record{value}))
	}
	start := &tn.partition("a", 0).published.logStart
	tn.alterTopic("a", "retention.ms", "60000")
	await(t, "the segment before it dropped", func() bool { tn.retain(); return start.Load() > 0 })
	tn.retain()
	if got := start.Load(); got != 1 {
		t.Errorf("the log begins at %d", got)
	}
	if !tn.log.knows("segment contains future timestamps: it and those after it cannot be deleted by age") {
		t.Error("the log does not say why")
	}
	tn.alterTopic("a", "retention.bytes", "1")
	await(t, "all but the newest dropped", func() bool { tn.retain(); return start.Load() >= 3 })
}

// knows says whether a warning of a kind came up, written or left out.
func (t *throttledLog) knows(kind string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kinds[kind] != nil
}

// TestReadersUnderRetention: old segments are opened, looked up and dropped all the time.
func TestReadersUnderRetention(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{"log.retention.check.interval.ms=1"}})
		tn.createTopic("a", 2, "segment.bytes=1048576", "retention.bytes=3000000")
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			c := tn.dial()
			readers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					p := tn.partition("a", wire.PartitionIndex(i%2))
					from := p.published.logStart.Load()
					p.loop.on(func(l *Loop) { l.closeIdleFiles(p, true) })
					got := fetched(c.call(fetch(toFetch{"a", int32(i % 2), from})))[fmt.Sprint("a-", i%2)]
					if code := wire.ErrorCode(got.ErrorCode); code != wire.None && code != wire.OffsetOutOfRange {
						t.Errorf("fetch from %d: %s", from, code)
						return
					}
					values(t, got.RecordBatches)
				}
			})
		}
		c := tn.dial()
		for i := range 60 {
			c.mustProduce("a", int32(i%2), batch(strings.Repeat("x", 300<<10)))
		}
		close(stop)
		readers.Wait()
		if tn.hasFailed() {
			t.Fatal(tn.failure)
		}
	})
}

// TestTopicDeletedUnderLoad: producers and fetchers of a topic that comes and goes get an answer to each request, and the
// node takes no harm.
func TestTopicDeletedUnderLoad(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		eachPath(t, func(t *testing.T, path string) {
			tn := startNode(t, nodeOptions{shape: s, set: []string{path, "log.segment.delete.delay.ms=0"}})
			stop := make(chan struct{})
			var load sync.WaitGroup
			for w := range 4 {
				c := tn.dial()
				load.Go(func() {
					big := batch(strings.Repeat("x", 300<<10))
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						var req kmsg.Request = produce([]int16{1, -1}[i%2], toProduce{"a", 0, big}, toProduce{"a", 1, batch("x")})
						if w%2 == 1 {
							req = waiting(fetch(toFetch{"a", 0, 0}, toFetch{"a", 1, 0}), 1, time.Millisecond)
						}
						c.send(req)
						resp, err := c.receive()
						if err != nil {
							t.Error(err)
							return
						}
						if r, ok := resp.(*kmsg.FetchResponse); ok {
							for _, p := range fetched(r) {
								values(t, p.RecordBatches)
							}
						}
					}
				})
			}
			for range 5 {
				tn.createTopic("a", 2)
				tn.dial().mustProduce("a", 0, batch("x"))
				if code := tn.DeleteTopic("a", wire.TopicID{}); code != wire.None {
					t.Fatal(code)
				}
			}
			close(stop)
			load.Wait()
			for _, l := range tn.loops {
				l.on(func(l *Loop) {
					if l.parts.live != 0 {
						t.Errorf("loop %d still has %d partitions", l.index, l.parts.live)
					}
				})
			}
			tn.createTopic("a", 1)
			tn.dial().mustProduce("a", 0, batch("x"))
			if err := tn.stop(); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestDeletionWakes: a long poll and a produce of a topic that is deleted are answered at once.
func TestDeletionWakes(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 2)
		c := tn.dial()
		c.send(waiting(fetch(toFetch{"a", 0, 0}, toFetch{"a", 1, 0}), 1, time.Hour))
		await(t, "waiting", func() bool { return tn.waitingFetches() == 1 })
		tn.DeleteTopic("a", wire.TopicID{})
		if got := fetched(c.mustReceive())["a-0"]; wire.ErrorCode(got.ErrorCode) != wire.UnknownTopicOrPartition {
			t.Fatalf("answered %s", wire.ErrorCode(got.ErrorCode))
		}
	})
}

func TestLongPoll(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, seams: quickSweeps})
		tn.createTopic("a", 4)
		all := []toFetch{{"a", 0, 0}, {"a", 1, 0}, {"a", 2, 0}, {"a", 3, 0}}
		c, other := tn.dial(), tn.dial()
		// A timeout answers with nothing.
		if got := fetched(c.call(waiting(fetch(all...), 1, 20*time.Millisecond))); len(got) != 4 || len(got["a-0"].RecordBatches) > 0 {
			t.Fatalf("%d partitions after a timeout", len(got))
		}
		// A record of any partition wakes.
		for part := range int32(4) {
			c.send(waiting(fetch(all...), 1, time.Hour))
			await(t, "waiting", func() bool { return tn.waitingFetches() == 1 })
			other.mustProduce("a", part, batch("x"))
			if got := fetched(c.mustReceive()); len(got[fmt.Sprint("a-", part)].RecordBatches) == 0 {
				t.Fatalf("woken by partition %d without its record", part)
			}
			all[part].offset = 1
		}
		// Less than the minimum does not.
		one := len(batch("x"))
		c.send(waiting(fetch(all...), int32(2*one), time.Hour))
		await(t, "waiting", func() bool { return tn.waitingFetches() == 1 })
		other.mustProduce("a", 0, batch("x"))
		p := tn.partition("a", 1)
		p.loop.on(func(*Loop) {})
		other.mustProduce("a", 3, batch("x"))
		got := fetched(c.mustReceive())
		if n := len(got["a-0"].RecordBatches) + len(got["a-3"].RecordBatches); n != 2*one {
			t.Fatalf("%d bytes, want %d", n, 2*one)
		}
		// One that goes away is forgotten.
		c.send(waiting(fetch(toFetch{"a", 0, 99}, toFetch{"a", 1, 1}), 1, time.Hour))
		c.mustReceive() // out of range: at once
		c.send(waiting(fetch(toFetch{"a", 1, 1}, toFetch{"a", 2, 1}), 1, time.Hour))
		await(t, "waiting", func() bool { return tn.waitingFetches() == 1 })
		c.conn.Close()
		await(t, "gone", func() bool { return tn.waitingFetches() == 0 && tn.liveConns() == 1 })
		other.mustProduce("a", 1, batch("x"))
	})
}

func TestFailedSilentProduceCloses(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 2)
		c := tn.dial()
		c.send(produce(0, toProduce{"a", 0, batch("x")}, toProduce{"a", 1, batch("x")}))
		c.alive()
		await(t, "appended", func() bool { return tn.partition("a", 1).published.highWatermark.Load() == 1 })
		c.send(produce(0, toProduce{"a", 0, batch("x")}, toProduce{"a", 9, batch("x")}))
		c.awaitClosed()
	})
}

func TestIdempotentDuplicates(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1)
		c := tn.dial()
		id, _ := tn.NewProducerID()
		seq := func(n int) []byte {
			return batchOf(wire.BatchHeader{Idempotent: true, ProducerID: id, BaseSequence: wire.Sequence(n)}, fmt.Sprint(n))
		}
		expect := func(c *client, n int, code wire.ErrorCode, offset int64) {
			t.Helper()
			for _, acks := range []int16{1, -1} {
				if p := produced(c.call(produce(acks, toProduce{"a", 0, seq(n)})))[0]; wire.ErrorCode(p.ErrorCode) != code || p.BaseOffset != offset {
					t.Fatalf("sequence %d: %s at %d, want %s at %d", n, wire.ErrorCode(p.ErrorCode), p.BaseOffset, code, offset)
				}
			}
		}
		var reqs []kmsg.Request
		for i := range 7 { // each twice, pipelined
			reqs = append(reqs, produce(-1, toProduce{"a", 0, seq(i)}), produce(-1, toProduce{"a", 0, seq(i)}))
		}
		c.send(reqs...)
		for i := range reqs {
			if p := produced(c.mustReceive())[0]; p.ErrorCode != 0 || p.BaseOffset != int64(i/2) {
				t.Fatalf("request %d: %s at %d", i, wire.ErrorCode(p.ErrorCode), p.BaseOffset)
			}
		}
		check := func(c *client, remembered int) {
			t.Helper()
			for n := 7 - remembered; n < 7; n++ {
				expect(c, n, wire.None, int64(n))
			}
			expect(c, 6-remembered, wire.OutOfOrderSequenceNumber, -1)
			expect(c, 9, wire.OutOfOrderSequenceNumber, -1)
			if got := c.readAll("a", 0, 0); len(got) != 7 {
				t.Fatalf("%d records", len(got))
			}
		}
		check(c, 5)
		tn.kill()
		tn = tn.restart()
		check(tn.dial(), 5)
		tn.stop()
		check(tn.restart().dial(), 5) // Kafka's snapshots hold a producer's last batch; the others are read from the log
	})
}

// TestConfigChangeUnderLoad: policies and sizes change while producers wait for what they promise.
func TestConfigChangeUnderLoad(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 2, "segment.bytes=1048576")
		stop := make(chan struct{})
		var load sync.WaitGroup
		counts := make([]int, 3)
		for w := range counts {
			c := tn.dial()
			load.Go(func() {
				for ; ; counts[w]++ {
					select {
					case <-stop:
						return
					default:
						c.mustProduce("a", int32(counts[w]%2), batch(strings.Repeat("x", 10<<10)))
					}
				}
			})
		}
		for range 5 {
			for _, change := range []string{"flush.policy=cache", "flush.policy=interval", "flush.policy=commit"} {
				_, policy, _ := strings.Cut(change, "=")
				tn.alterTopic("a", "ringmill.flush.policy", policy)
			}
			tn.alterTopic("a", "segment.bytes", "1100000")
			tn.alterTopic("a", "segment.bytes", "1048576")
		}
		close(stop)
		load.Wait()
		tn.kill()
		c := tn.restart().dial()
		if got, want := len(c.readAll("a", 0, 0))+len(c.readAll("a", 1, 0)), counts[0]+counts[1]+counts[2]; got != want {
			t.Fatalf("%d records, %d were acknowledged", got, want)
		}
	})
}

// TestStopUnderLoad: what was acknowledged before a clean stop is there after it, however busy the producers were.
func TestStopUnderLoad(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1)
		acked := make([]int, 3)
		var load sync.WaitGroup
		for w := range acked {
			c := tn.dial()
			for range 20 { // never idle
				c.send(produce(-1, toProduce{"a", 0, batch("x")}))
			}
			load.Go(func() {
				for {
					resp, err := c.receive()
					if err != nil {
						return
					}
					if p := produced(resp)[0]; p.ErrorCode != 0 {
						t.Errorf("answered %s", wire.ErrorCode(p.ErrorCode))
					}
					acked[w]++
					if _, err := c.conn.Write(c.frame(produce(-1, toProduce{"a", 0, batch("x")}))); err != nil {
						_, _ = io.Copy(io.Discard, c.r)
					}
				}
			})
		}
		await(t, "load", func() bool { return tn.partition("a", 0).published.highWatermark.Load() > 100 })
		if err := tn.stop(); err != nil {
			t.Fatal(err)
		}
		load.Wait()
		tn = tn.restart()
		if !tn.dirs[0].clean {
			t.Fatal("the stop left no mark")
		}
		if got, want := len(tn.dial().readAll("a", 0, 0)), acked[0]+acked[1]+acked[2]; got < want {
			t.Fatalf("%d records, %d were acknowledged", got, want)
		}
	})
}
