package node

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// TestGroupsBeforeTheirCoordinators: a request that finds __consumer_offsets just made, and the coordinators not yet, is to be
// tried again; it must not end the node.
func TestGroupsBeforeTheirCoordinators(t *testing.T) {
	n := &Node{quit: make(chan struct{})}
	g := newGroupService(n)
	go g.run()
	t.Cleanup(func() {
		close(n.quit)
		<-g.inbox.stopped
	})
	resp := g.call(7, api.Client{}, kmsg.NewPtrHeartbeatRequest(), func() {}, nil).(*kmsg.HeartbeatResponse)
	if got := wire.ErrorCode(resp.ErrorCode); got != wire.CoordinatorNotAvailable {
		t.Errorf("a request without its coordinator is told %s", got)
	}
	ended := make(chan struct{})
	g.txnEnded(7, txnMarker{}, func() { close(ended) })
	<-ended
}
