package node

import (
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// leaderHint tells clients that asked a node that does not lead who does, and where that is, so that they need not ask for metadata
// (KIP-951). One is used for one answer.
type leaderHint struct {
	image    *image.Image
	listener string
}

// leaderHint is for a client of a connection.
func (c *Conn) leaderHint() leaderHint {
	return leaderHint{c.loop.node.Image(), c.listen.name}
}

// of is the leader of a partition, not set if nothing is known of it, and nodes with where that one is reached.
func (h leaderHint) of(id wire.TopicID, index wire.PartitionIndex, nodes []wire.NodeEndpoint) (wire.CurrentLeader, []wire.NodeEndpoint) {
	t := h.image.ByID(id)
	if t == nil {
		return wire.CurrentLeader{}, nodes
	}
	s := t.State(index)
	if s == nil {
		return wire.CurrentLeader{}, nodes
	}
	return wire.CurrentLeader{Set: true, Leader: s.Leader, Epoch: s.LeaderEpoch}, h.appendNode(nodes, s.Leader)
}

// appendNode adds a node's listener of the client's name, once, if clients may be sent there.
func (h leaderHint) appendNode(nodes []wire.NodeEndpoint, id wire.NodeID) []wire.NodeEndpoint {
	b := h.image.Broker(id)
	if b == nil || b.Fenced || slices.ContainsFunc(nodes, func(n wire.NodeEndpoint) bool { return n.Node == id }) {
		return nodes
	}
	e, ok := b.Endpoint(h.listener)
	if !ok {
		return nodes
	}
	return append(nodes, wire.NodeEndpoint{Node: id, Host: e.Host, Port: int32(e.Port), Rack: b.Rack})
}
