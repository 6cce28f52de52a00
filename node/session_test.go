package node

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// inSession puts a Fetch into a session.
func inSession(req *kmsg.FetchRequest, id, epoch int32) *kmsg.FetchRequest {
	req.SessionID, req.SessionEpoch = id, epoch
	return req
}

func fetchedNames(resp kmsg.Response) []string {
	return slices.Sorted(maps.Keys(fetched(resp)))
}

func (c *client) openSession(parts ...toFetch) int32 {
	c.t.Helper()
	resp := c.call(inSession(fetch(parts...), 0, 0)).(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 || resp.SessionID == 0 {
		c.t.Fatalf("no session: %s", wire.ErrorCode(resp.ErrorCode))
	}
	return resp.SessionID
}

func TestFetchSessionIsIncremental(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 5)
		c := tn.dial()
		id := c.openSession(toFetch{"a", 0, 0}, toFetch{"a", 1, 0}, toFetch{"a", 2, 0})
		step := func(epoch int32, req *kmsg.FetchRequest, want ...string) {
			t.Helper()
			if got := fetchedNames(c.call(inSession(req, id, epoch))); !slices.Equal(got, want) {
				t.Fatalf("epoch %d: answered for %v, want %v", epoch, got, want)
			}
		}
		step(1, fetch())
		c.mustProduce("a", 1, batch("x"))
		c.mustProduce("a", 4, batch("y"))
		step(2, fetch(), "a-1")
		step(3, fetch(), "a-1") // not fetched on: it has bytes still
		step(4, fetch(toFetch{"a", 1, 1}, toFetch{"a", 4, 0}), "a-4")
		forget := fetch(toFetch{"a", 4, 1})
		gone := kmsg.NewFetchRequestForgottenTopic()
		gone.Topic, gone.Partitions = "a", []int32{1, 2}
		forget.ForgottenTopics = append(forget.ForgottenTopics, gone)
		step(5, forget)
		for part := range int32(5) {
			c.mustProduce("a", part, batch("z"))
		}
		step(6, fetch(), "a-0", "a-4")
	})
}

func TestFetchSessionRefusals(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{fmt.Sprint("max.incremental.fetch.session.cache.slots=", 2*s.loops)}})
		tn.createTopic("a", 2)
		c := tn.dial()
		id := c.openSession(toFetch{"a", 0, 0})
		refused := func(req *kmsg.FetchRequest, want wire.ErrorCode) {
			t.Helper()
			resp := c.call(req).(*kmsg.FetchResponse)
			if wire.ErrorCode(resp.ErrorCode) != want || len(resp.Topics) > 0 {
				t.Fatalf("session %d, epoch %d: %s with %d topics, want %s", req.SessionID, req.SessionEpoch, wire.ErrorCode(resp.ErrorCode), len(resp.Topics), want)
			}
		}
		refused(inSession(fetch(), id, 7), wire.InvalidFetchSessionEpoch)
		refused(inSession(fetch(), id^1, 1), wire.FetchSessionIDNotFound)
		refused(inSession(fetch(), id, 1), wire.None)
		c.openSession(toFetch{"a", 0, 0})
		if resp := c.call(inSession(fetch(toFetch{"a", 0, 0}), 0, 0)).(*kmsg.FetchResponse); resp.SessionID != 0 || len(resp.Topics) != 1 {
			t.Fatalf("a session beyond the slots, none of them old: %d, %d topics", resp.SessionID, len(resp.Topics))
		}
		for _, l := range tn.loops { // both sessions are old enough to be evicted
			l.on(func(l *Loop) {
				for _, s := range l.fetches.byID {
					s.used -= sessionEvictAge
				}
			})
		}
		if next := c.openSession(toFetch{"a", 0, 0}); next == id {
			t.Fatal("the same session again")
		}
		c.call(inSession(fetch(toFetch{"a", 0, 0}), id, -1)) // gives it up, if it was not the one evicted
		refused(inSession(fetch(), id, 2), wire.FetchSessionIDNotFound)
	})
}

// TestFetchSessionIsTakenOver: a session that another connection waits in is refused and left alone, by a connection too
// that had it before.
func TestFetchSessionIsTakenOver(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 4)
		first := tn.dial()
		all := []toFetch{{"a", 0, 0}, {"a", 1, 0}, {"a", 2, 0}, {"a", 3, 0}}
		id := first.openSession(all...)
		for i := range int32(4) { // a connection of each loop has the session at times
			next := tn.dial()
			next.send(waiting(inSession(fetch(), id, 2*i+1), 1, time.Minute))
			await(t, "waiting", func() bool { return tn.waitingFetches() == 1 })
			for epoch := range int32(9) {
				code := wire.ErrorCode(first.call(inSession(fetch(), id, epoch+1)).(*kmsg.FetchResponse).ErrorCode)
				if code != wire.InvalidFetchSessionEpoch && code != wire.FetchSessionIDNotFound {
					t.Fatalf("a session in use: %s", code)
				}
			}
			first.mustProduce("a", i, batch("x"))
			if got := fetched(next.mustReceive())[fmt.Sprint("a-", i)]; len(got.RecordBatches) == 0 {
				t.Fatal("woken without the records")
			}
			next.call(inSession(fetch(toFetch{"a", i, 1}), id, 2*i+2))
		}
	})
}

func (tn *testNode) waitingFetches() (n int) {
	for _, l := range tn.loops {
		l.on(func(l *Loop) {
			l.conns.all(func(c *Conn) {
				if c.fetch.waiting {
					n++
				}
			})
		})
	}
	return n
}
