package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestRequestsThatAmplify: entries of a few bytes that would each cost the node hundreds.
func TestRequestsThatAmplify(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 2}})
	tn.createTopic("a", 1)
	for _, n := range []int{producePartitionsMax, producePartitionsMax + 1} {
		entries := make([]toProduce, n)
		for i := range entries {
			entries[i].topic = "a"
		}
		c := tn.dial()
		c.send(produce(1, entries...))
		if n > producePartitionsMax {
			c.awaitClosed()
		} else if got := len(produced(c.mustReceive())); got != n {
			t.Fatalf("%d answers, want %d", got, n)
		}
	}
	for _, n := range []int{100_000, fetchBodyMax / 16} {
		entries := make([]toFetch, n)
		for i := range entries {
			entries[i] = toFetch{"a", int32(i), 0}
		}
		c := tn.dial()
		c.send(fetch(entries...))
		if n > 100_000 {
			c.awaitClosed()
		} else if got := len(c.mustReceive().(*kmsg.FetchResponse).Topics[0].Partitions); got != n {
			t.Fatalf("%d answers, want %d", got, n)
		}
	}
}

// TestWaitersAreForgotten: a connection that waits for ever other topics holds on to none of them.
func TestWaitersAreForgotten(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 2}})
	const topics = 2 * notedKeep
	for i := range topics {
		tn.createTopic(fmt.Sprint("t", i), 1)
	}
	c, other := tn.dial(), tn.dial()
	for i := range topics - 1 {
		c.send(waiting(fetch(toFetch{fmt.Sprint("t", i), 0, 0}, toFetch{fmt.Sprint("t", i+1), 0, 0}), 1, time.Hour))
		await(t, "waiting", func() bool { return tn.waitingFetches() == 1 })
		other.mustProduce(fmt.Sprint("t", i), 0, batch("x"))
		if got := fetched(c.mustReceive())[fmt.Sprint("t", i, "-0")]; len(got.RecordBatches) == 0 {
			t.Fatalf("woken by topic %d without its record", i)
		}
	}
	for _, l := range tn.loops {
		l.on(func(l *Loop) {
			l.conns.all(func(c *Conn) {
				if n := len(c.fetch.noted); n > notedKeep+8 {
					t.Errorf("%d partitions are noted", n)
				}
			})
		})
	}
}

// TestManyPartitionsInSession: a session of many partitions is changed in a time that grows with them, not with their
// square. (It takes minutes otherwise.)
func TestManyPartitionsInSession(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	entries := make([]toFetch, 20_000)
	for i := range entries {
		entries[i] = toFetch{"a", int32(i), 0}
	}
	c := tn.dial()
	id := c.openSession(entries...)
	for epoch := range int32(2) {
		resp := c.call(inSession(fetch(entries...), id, epoch+1)).(*kmsg.FetchResponse)
		if resp.ErrorCode != 0 {
			t.Fatal(wire.ErrorCode(resp.ErrorCode))
		}
	}
	forget := fetch()
	gone := kmsg.NewFetchRequestForgottenTopic()
	gone.Topic = "a"
	for i := range entries[1:] {
		gone.Partitions = append(gone.Partitions, int32(i+1))
	}
	forget.ForgottenTopics = append(forget.ForgottenTopics, gone)
	c.call(inSession(forget, id, 3))
	c.mustProduce("a", 0, batch("x"))
	if got := fetchedNames(c.call(inSession(fetch(), id, 4))); len(got) != 1 {
		t.Fatalf("%d partitions answered, one is left", len(got))
	}
}

// TestDescriptorsAreLeftForFiles: connections end before descriptors do.
func TestDescriptorsAreLeftForFiles(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		first := tn.dial()
		first.alive()
		tn.loops[0].on(func(*Loop) { tn.seams.connDescriptors = 1 })
		tn.dial().awaitClosed()
		first.alive()
		tn.createTopic("a", 1)
		first.mustProduce("a", 0, batch("x"))
		if got := connDescriptorsMax(); got < 1 {
			t.Fatalf("%d descriptors for connections", got)
		}
	})
}

// TestNoDescriptorForSegment: a segment that cannot be opened for want of a descriptor is asked for again later; that is
// no fault of the disk.
func TestNoDescriptorForSegment(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		var f faults
		tn := startNode(t, nodeOptions{shape: s, seams: f.under})
		tn.createTopic("a", 1)
		c := tn.dial()
		c.mustProduce("a", 0, batch("x"))
		p := tn.partition("a", 0)
		p.loop.on(func(l *Loop) { l.closeIdleFiles(p, false) })
		f.open.Store(true)
		if got := fetched(c.call(fetch(toFetch{"a", 0, 0})))["a-0"]; wire.ErrorCode(got.ErrorCode) != wire.KafkaStorageError {
			t.Fatalf("fetch without a descriptor: %s", wire.ErrorCode(got.ErrorCode))
		}
		if code := codeOf(produced(c.call(produce(-1, toProduce{"a", 0, batch("lost")})))); code != wire.KafkaStorageError {
			t.Fatalf("produce without a descriptor: %s", code)
		}
		f.open.Store(false)
		if at := c.mustProduce("a", 0, batch("y")); at != 1 {
			t.Fatalf("base offset %d, want 1", at)
		}
		if got := c.readAll("a", 0, 0); len(got) != 2 {
			t.Fatalf("%d records", len(got))
		}
	})
}

// TestBatchLargerThanASegment is refused as Apache Kafka 4.1.1 refuses it, one that just fits is not.
func TestBatchLargerThanASegment(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1, "segment.bytes=1048576", "max.message.bytes=8000000")
	c := tn.dial()
	fits := 1 << 20
	for len(batch(strings.Repeat("x", fits))) > 1<<20 {
		fits--
	}
	c.mustProduce("a", 0, batch(strings.Repeat("x", fits)))
	for bytes, want := range map[int]wire.ErrorCode{fits + 1: wire.RecordListTooLarge, 2_000_000: wire.RecordListTooLarge, 9_000_000: wire.MessageTooLarge} {
		if code := codeOf(produced(c.call(produce(-1, toProduce{"a", 0, batch(strings.Repeat("x", bytes))})))); code != want {
			t.Errorf("%d bytes: %s, want %s", bytes, code, want)
		}
	}
	if at := c.mustProduce("a", 0, batch("after")); at != 1 {
		t.Errorf("base offset %d", at)
	}
}
