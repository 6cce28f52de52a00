package node

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// TestControllerAnswersOnceItHasFollowed: a controller that has decided, or taken over, more than its node has followed so far does not answer
// from what the node has.
func TestControllerAnswersOnceItHasFollowed(t *testing.T) {
	older := new(image.Image)
	newer, err := older.With(image.TopicRecord{Name: "t", ID: wire.TopicID{1}, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	controller := func() *cluster {
		n := &Node{quit: make(chan struct{})}
		n.image.Store(older)
		c := &cluster{node: n, quorum: &quorumService{}, follower: newFollower(n)}
		c.quorum.view.Store(&quorumView{here: true})
		c.follower.publish(newer)
		return c
	}
	request := (&forwardRequest{header: wire.RequestHeader{Key: wire.KeyCreatePartitions, Version: 3}}).appendTo(nil)
	synctest.Test(t, func(t *testing.T) {
		if a := controller().forwarded(request); a.code != wire.NotController || a.body != nil {
			t.Errorf("answered with code %v, %d bytes, before the node has followed", a.code, len(a.body))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := controller()
		go func() {
			time.Sleep(time.Second)
			c.node.image.Store(newer)
			c.follower.published(newer.Version())
		}()
		if !c.ready() || c.node.Image() != newer {
			t.Error("not ready when the node has followed")
		}
	})
}
