package node

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Clients whose next request waits behind a long poll hold no receive buffer that others need: more of them than there
// are buffers, and a new client is served.
func TestWaitingRequestsHoldNoReceiveBuffers(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		if s.loops > 1 {
			t.Skip("one loop's buffers are what this is about")
		}
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("t", 1)
		const clients = 600 // an engine has 512 buffers
		for range clients {
			c := tn.dial()
			poll := waiting(fetch(toFetch{topic: "t"}), 1, time.Minute)
			c.write(append(c.frame(poll), c.frame(kmsg.NewPtrApiVersionsRequest())...))
		}
		waits := func() (n int) {
			tn.loops[0].on(func(l *Loop) {
				l.conns.all(func(c *Conn) {
					if c.fetch.waiting && c.in.backlog != nil {
						n++
					}
				})
			})
			return n
		}
		await(t, "all long polls", func() bool { return waits() == clients })
		tn.dial().alive()
		tn.loops[0].on(func(l *Loop) {
			if l.provided != 0 {
				t.Errorf("%d receive buffers are held", l.provided)
			}
		})
	})
}
