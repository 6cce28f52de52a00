package node

import (
	"testing"
	"time"

	"github.com/ringmill/ringmill/control/share"
)

// TestShareFetchEndsWithItsConnection: a fetch that would wait for a day leaves nothing behind when its client goes, and acquires
// nothing any more.
func TestShareFetchEndsWithItsConnection(t *testing.T) {
	tn := startNode(t, nodeOptions{seams: quickSweeps, set: []string{"share.coordinator.state.topic.num.partitions=2"}})
	id := tn.shareTopic("t")
	one, two := tn.shareReader(id, 1), tn.shareReader(id, 2)
	one.waitMS = int32((24 * time.Hour).Milliseconds())
	one.send(one.request())
	s := tn.shares
	var watch *shareWatch
	await(t, "it waits", func() bool {
		s.inbox.do(func() {
			if sp := s.parts[share.Key{Group: "g", Topic: id}]; sp != nil && len(sp.waiters) == 1 {
				watch = sp.watch
			}
		})
		return watch != nil
	})
	one.conn.Close()
	await(t, "nothing is left", func() bool {
		left, watching := -1, true
		s.inbox.do(func() { left = len(s.fetching) + len(s.parts) + len(s.groups) + s.loading })
		watch.part.part.loop.on(func(*Loop) { watching = !watch.ended })
		return left == 0 && !watching
	})
	tn.dial().mustProduce("t", 0, batch("a"))
	two.want("0-0/1", "a")
}

// TestShareFetchBehindItsConnection: a request that is taken up when its connection has gone already begins no session: sessions
// are few, and nothing would end it.
func TestShareFetchBehindItsConnection(t *testing.T) {
	tn := startNode(t, nodeOptions{seams: quickSweeps, set: []string{"share.coordinator.state.topic.num.partitions=2", "group.share.max.share.sessions=1"}})
	id := tn.shareTopic("t")
	tn.dial().mustProduce("t", 0, batch("a"))
	tn.decoding.begin(decodeBytesMax)
	one := tn.shareReader(id, 1)
	before := tn.liveConns()
	one.send(one.request())
	one.conn.Close()
	await(t, "the connection is closed", func() bool { return tn.liveConns() < before })
	tn.decoding.end(decodeBytesMax)
	two := tn.shareReader(id, 2)
	two.want("0-0/1", "a")
}
