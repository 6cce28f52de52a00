package node

import (
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// peerKey says that a key is one of those that ringmill's nodes use among themselves.
func peerKey(k wire.APIKey) bool { return k >= wire.KeyQuorumMessage && k <= wire.KeyProve }

// servePeer takes up a request of another node. A node of its own has no others, and clients that send such a thing are refused
// as for any other key that is not served.
func (c *Conn) servePeer(h wire.RequestHeader, body []byte, buf *buffer) {
	cl := c.loop.node.cluster
	switch {
	case cl == nil || h.Version != 0 || c.listen != c.loop.node.interBroker():
		c.refuse("request kind is not served", "key", int16(h.Key), "version", int16(h.Version))
	case h.Key == wire.KeyProve:
		c.serveProof(cl, h, body)
	case !c.proven():
		c.refuseUnproven(h)
	case !c.mayActForCluster():
		c.refuse("request of a node from a client that may not act for the cluster", "key", int16(h.Key), "principal", c.client.ACL().Principal)
	case h.Key == wire.KeyQuorumMessage:
		c.serveQuorumMessage(cl, body)
	default:
		c.callCold(h, body, buf)
	}
}

// serveQuorumMessage hands a message to the quorum. It has no answer.
func (c *Conn) serveQuorumMessage(cl *cluster, body []byte) {
	if len(body) > quorum.MessageBytesMax+1<<10 {
		c.refuse("message of a node is too long", "bytes", len(body))
		return
	}
	m, err := readQuorumMessage(append([]byte(nil), body...))
	switch mine := cl.clusterID(); {
	case err != nil:
		c.refuse("malformed message of a node", "error", err)
	case !cl.member.Load(): // it is sent again
	case m.cluster != mine:
		c.refuse("message of a node of another cluster", "node", int(m.sender), "address", m.address, "cluster", m.cluster, "mine", mine)
	default:
		cl.quorum.received(m)
	}
}

// answerPeer answers a request of another node, in a goroutine of its own.
func (n *Node) answerPeer(h wire.RequestHeader, body []byte) []byte {
	c := n.cluster
	r := peerReader{src: body}
	theirs, mine := r.text(), c.clusterID()
	if r.bad {
		return (&peerRefusal{wire.InvalidRequest, "malformed"}).appendTo(nil)
	}
	if theirs != "" && mine != "" && theirs != mine {
		n.log.throttled("request of a node of another cluster refused", "api", int16(h.Key), "cluster", theirs, "mine", mine)
		return (&peerRefusal{wire.InconsistentClusterID, "this node is of cluster " + mine + ", not of " + theirs}).appendTo(nil)
	}
	switch h.Key {
	case wire.KeyForward:
		if !c.member.Load() {
			return (&forwardAnswer{peerRefusal: peerRefusal{code: wire.NotController}}).appendTo(nil)
		}
		a := c.forwarded(body)
		return a.appendTo(nil)
	case wire.KeyJoin:
		a := c.joined(body)
		return a.appendTo(nil)
	case wire.KeySuspect:
		a := n.suspected(body)
		return a.appendTo(nil)
	case wire.KeyIdentify:
		return (&identifyAnswer{node: n.Config().NodeID, directory: c.directory}).appendTo(nil)
	}
	a, message := c.bootstrapAsked(body)
	return appendBytes(a.appendTo(nil), message)
}
