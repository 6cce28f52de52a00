package node

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// limitAnswers lowers the bound of every loop.
func (tn *testNode) limitAnswers(max int) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) { l.answers.max = max })
	}
}

func (tn *testNode) answersHeldBytes() (n int) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) { n += l.answers.held })
	}
	return n
}

// describeAll asks for every configuration of topics t0 to t(n-1), with what explains it: some 20 KiB a topic.
func describeAll(n int) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version, req.IncludeDocumentation, req.IncludeSynonyms = 4, true, true
	for i := range n {
		resource := kmsg.NewDescribeConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, fmt.Sprint("t", i)
		req.Resources = append(req.Resources, resource)
	}
	return req
}

// TestUnreadAnswersAreShed: many clients that ask for much and read nothing hold no more than the bound together; one that
// reads gets all of its answer, and in the end nothing is held.
func TestUnreadAnswersAreShed(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		const topics, max = 20, 3 << 20
		tn := startNode(t, nodeOptions{shape: s, set: []string{"socket.send.buffer.bytes=4096"}}) // the kernel's bytes are not the node's
		for i := range topics {
			tn.createTopic(fmt.Sprint("t", i), 1)
		}
		size := len(tn.dial().call(describeAll(topics)).AppendTo(nil))
		tn.limitAnswers(max)
		var idle []*client
		ask := describeAll(topics)
		for range s.loops * 2 * max / outBytesMax {
			c := tn.dial()
			_ = c.conn.(*net.TCPConn).SetReadBuffer(4096)
			c.send(ask, ask, ask, ask, ask, ask, ask, ask) // some stay in the kernel
			idle = append(idle, c)
			if held := tn.answersHeldBytes(); held > s.loops*(max+growingMax(s.loops)*size) {
				t.Fatalf("%d bytes of answers are held, the bound is %d", held, s.loops*max)
			}
		}
		await(t, "some were disconnected", func() bool { return tn.liveConns() < len(idle) })
		if got := len(tn.dial().call(describeAll(topics)).AppendTo(nil)); got != size {
			t.Errorf("an answer of %d bytes, want %d", got, size)
		}
		for _, c := range idle {
			c.conn.Close()
		}
		await(t, "nothing is held", func() bool { return tn.answersHeldBytes() == 0 })
	})
}

// TestLargestAnswerGoesOut: an answer larger than the whole bound is sent all the same when nobody else needs the memory.
func TestLargestAnswerGoesOut(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 1}})
	for i := range 20 {
		tn.createTopic(fmt.Sprint("t", i), 1)
	}
	tn.limitAnswers(1000)
	c := tn.dial()
	_ = c.conn.(*net.TCPConn).SetReadBuffer(4096)
	if got := len(c.call(describeAll(20)).(*kmsg.DescribeConfigsResponse).Resources); got != 20 {
		t.Errorf("%d resources", got)
	}
}

// TestWaitingJoinsLetOthersDecode: members that wait for a group to form do not keep others' requests from being decoded,
// however long theirs were.
func TestWaitingJoinsLetOthersDecode(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 2}, seams: noDrain, set: []string{"group.initial.rebalance.delay.ms=600000"}})
	c := tn.dial()
	const joins = decodeBytesMax>>20 + 2
	for i := range joins {
		group := fmt.Sprint("g", i)
		tn.awaitCoordinator(c, group)
		tn.dial().send(longJoin(group, 1<<20))
	}
	await(t, "all wait, none is charged", func() bool {
		tn.decoding.mu.Lock()
		used := tn.decoding.used
		tn.decoding.mu.Unlock()
		copied := 0
		for _, l := range tn.loops {
			l.on(func(l *Loop) { copied += l.slabs.copied })
		}
		return used == 0 && copied == 0 && tn.waitingJoins() == joins
	})
	c.alive()
}

// awaitCoordinator waits until a group has a coordinator that has loaded it. A Heartbeat would be told nothing of loading.
func (tn *testNode) awaitCoordinator(c *client, group string) {
	tn.t.Helper()
	find, offsets := kmsg.NewPtrFindCoordinatorRequest(), kmsg.NewPtrOffsetFetchRequest()
	find.Version, find.CoordinatorKeys = 4, []string{group}
	offsets.Version, offsets.Group = 7, group
	await(tn.t, "a coordinator", func() bool {
		return c.call(find).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode == 0 && c.call(offsets).(*kmsg.OffsetFetchResponse).ErrorCode == 0
	})
}

// longJoin joins a group that a delay of its first rebalance keeps waiting, with metadata of that many bytes.
func longJoin(group string, bytes int) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.ProtocolType = 3, group, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 60_000, 600_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte(strings.Repeat("x", bytes))}}
	return req
}

func (tn *testNode) waitingJoins() (n int) {
	done := make(chan struct{})
	tn.groups.inbox.put(func() {
		n = len(tn.groups.waiting.calls)
		close(done)
	})
	<-done
	return n
}

// TestEmptyProduceEntriesAreCharged: entries without records, which cost the node many times their bytes, are refused once
// request memory is full of them; those with records are not.
func TestEmptyProduceEntriesAreCharged(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 1}})
	tn.createTopic("a", 1)
	entries := make([]toProduce, 10_000)
	for i := range entries {
		entries[i].topic = "a"
	}
	l := tn.loops[0]
	l.on(func(l *Loop) { l.slabs.max = len(entries)*produceItemBytes - 1 })
	c := tn.dial()
	c.send(produce(1, entries...))
	c.awaitClosed()
	tn.dial().mustProduce("a", 0, batch("x"))
	if got := len(produced(tn.dial().call(produce(1, entries[:1000]...)))); got != 1000 {
		t.Errorf("%d answers, want 1000", got)
	}
	l.on(func(l *Loop) {
		if l.slabs.charged != 0 {
			t.Errorf("%d bytes are charged when all is answered", l.slabs.charged)
		}
	})
}
