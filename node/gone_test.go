package node

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// coldCalls counts the goroutines of this process that answer requests.
func coldCalls() int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "node.(*Node).serveCold(")
}

// TestClientsThatGoWhileTheyWait: what waits for minutes for an answer, in a group or for records of a share group, leaves no
// connection and no goroutine behind when its client goes: with and without a request behind it, with and without a farewell.
// (Apache Kafka 4.1.1 keeps the connection of a JoinGroup until it is answered.)
func TestClientsThatGoWhileTheyWait(t *testing.T) {
	waits := map[string]func(tn *testNode) func(i int) kmsg.Request{
		"JoinGroup": func(tn *testNode) func(int) kmsg.Request {
			tn.awaitCoordinator(tn.dial(), "g")
			return func(int) kmsg.Request { return longJoin("g", 10) }
		},
		"ShareFetch": func(tn *testNode) func(int) kmsg.Request {
			id := tn.shareTopic("t")
			return func(i int) kmsg.Request { // those beyond the bound on sessions wait too, before they are refused
				r := &shareReader{topic: id, member: wire.TopicID{14: 1, 15: byte(i)}.String(), waitMS: 600_000}
				return r.request()
			}
		},
	}
	for name, prepare := range waits {
		t.Run(name, func(t *testing.T) {
			eachShapeAlone(t, func(t *testing.T, s shape) { goWhileWaiting(t, s, prepare) })
		})
	}
}

func goWhileWaiting(t *testing.T, s shape, prepare func(tn *testNode) func(i int) kmsg.Request) {
	const clients = 60
	tn := startNode(t, nodeOptions{shape: s, seams: quickSweeps, set: []string{
		"group.initial.rebalance.delay.ms=600000", "share.coordinator.state.topic.num.partitions=2", "group.share.max.share.sessions=40",
	}})
	request := prepare(tn)
	var all []*client
	for i := range clients {
		c := tn.dial()
		all = append(all, c)
		if c.send(request(i)); i%2 == 0 {
			c.send(kmsg.NewPtrApiVersionsRequest())
		}
	}
	await(t, "all wait", func() bool { return coldCalls() == clients })
	for i, c := range all {
		if i%3 == 0 { // a reset
			if err := c.conn.(*net.TCPConn).SetLinger(0); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "no goroutine answers any", func() bool { return coldCalls() == 0 })
	await(t, "their connections are closed", func() bool {
		live := 0
		for _, l := range tn.loops {
			l.on(func(l *Loop) { live += l.conns.live })
		}
		return live <= 2 // of those that prepared
	})
	tn.dial().alive()
}
