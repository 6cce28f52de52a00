package node

import (
	"errors"
	"time"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// A node of a cluster accepts connections before it belongs to the cluster or has caught up with it, since the other nodes come by the
// same listener. Clients that come so early wait, as they do for a broker of Apache Kafka that starts: one that was closed on would
// take the node for another kind of server. Who they are and what the node speaks is answered at once.

// early says that a request of a key comes before the node can do anything about it: a Produce or Fetch is not held on a loop, and what
// nodes ask the controller cannot be answered by one that is not a member yet.
func (n *Node) early(k wire.APIKey) bool {
	switch {
	case n.serving.Load():
		return false
	case api.InCluster(k):
		return !n.isMember()
	}
	return k == wire.KeyProduce || k == wire.KeyFetch
}

// servingPatience is how long a client's request waits for the node to serve; then it tries another node.
const servingPatience = 5 * time.Second

// errNotServing ends a call that came too early.
var errNotServing = errors.New("node: it does not serve clients yet")

// awaitServing holds a client's request back until the node serves; it runs on the request's goroutine.
func (n *Node) awaitServing(k wire.APIKey, gone <-chan struct{}) error {
	if n.serving.Load() || peerKey(k) || api.BetweenNodes(k) || k == wire.KeyApiVersions {
		return nil
	}
	timer := time.NewTimer(servingPatience)
	defer timer.Stop()
	select {
	case <-n.served:
		return nil
	case <-gone:
		return errGone
	case <-n.draining:
	case <-n.quit:
	case <-timer.C:
	}
	return errNotServing
}
