package node

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// Nodes that have a gossip keyring prove to each other, once for each connection that one makes to another, that they have a key of it.
// What only nodes may ask is answered over such a connection alone.
//
//	who connects                                                          who listens
//	   ── Prove: the address that it connected to, a nonce ──▶
//	                                                   ◀── another nonce ──
//	   ── Prove: HMAC of "connects" and both messages ──▶                 takes it by any key of its ring
//	                        ◀── HMAC of "listens" and both messages ──    by the key that proved
//	   takes that, and asks what it has to ask
//
// Both nonces are of this connection, so a proof that was seen is worth nothing on another. The address is in the proof, and the one who
// listens knows its own: a stranger to whom a node connects, at an address that another node had once, cannot pass the proof on. Who can
// change what passes over the connection afterwards needs no proof; against that there is TLS.
//
// A key is derived from each gossip key, so that what is proved says nothing about what encrypts. Who connects proves by the first key of
// its ring; each of the other's is taken, as gossip takes them, so that keys can be changed a node at a time.

// proofKeys are the keys that prove, in the order of the keyring; empty where the node has none, and nothing is proved.
type proofKeys [][]byte

const (
	// proofLabel derives the keys: another label for another use, or another form of the proof.
	proofLabel = "ringmill: proof of a node, 1"
	// nonceBytes is the length of a nonce; as long as a digest.
	nonceBytes = sha256.Size
	// proveBytesMax bounds a Prove's body: a host name has 255 bytes at most, a cluster id 22.
	proveBytesMax = 1 << 10
)

// The sides of a connection, so that none proves by what the other says.
const (
	sideConnects = "connects"
	sideListens  = "listens"
)

func newProofKeys(ring [][]byte) proofKeys {
	keys := make(proofKeys, len(ring))
	for i, gossip := range ring {
		key, err := hkdf.Key(sha256.New, gossip, nil, proofLabel, sha256.Size)
		if err != nil {
			panic("BUG: a key cannot be derived: " + err.Error())
		}
		keys[i] = key
	}
	return keys
}

// proof is what a side says of the messages of a connection.
func proof(key []byte, side string, said []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(appendBytes(nil, side))
	h.Write(said)
	return h.Sum(nil)
}

// proves gives the key by which p is a side's proof; nil if there is none.
func (keys proofKeys) proves(p []byte, side string, said []byte) []byte {
	for _, key := range keys {
		if hmac.Equal(p, proof(key, side, said)) {
			return key
		}
	}
	return nil
}

// saidOf is what both sides prove: the first request and its answer.
func saidOf(request, answer []byte) []byte { return appendBytes(appendBytes(nil, request), answer) }

func newNonce() []byte {
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // it never fails
	return nonce
}

// prove proves to the node at the other end of a new connection that this one has a key, and has it prove the same.
func (ps *peers) prove(c *peerConn, addr string, deadline time.Time) error {
	refused := func(why string) error {
		ps.node.log.throttled("a connection to another node is not made: it and this one have not proved that they are of one cluster", "address", addr, "why", why)
		return fmt.Errorf("node: proof to %s: %s", addr, why)
	}
	request := proveRequest{cluster: ps.node.cluster.clusterID(), sender: ps.node.Config().NodeID, address: addr, nonce: newNonce()}
	first := request.appendTo(nil)
	answer, a, err := c.proveStep(first, deadline)
	switch {
	case err != nil:
		return fmt.Errorf("node: proof to %s: %w", addr, err)
	case a.code != wire.None:
		return refused(a.message)
	case len(a.nonce) != nonceBytes:
		return refused("it gives no nonce")
	}
	said := saidOf(first, answer)
	request.proof = proof(ps.keys[0], sideConnects, said)
	_, a, err = c.proveStep(request.appendTo(nil), deadline)
	switch {
	case err != nil:
		return fmt.Errorf("node: proof to %s: %w", addr, err)
	case a.code != wire.None:
		return refused(a.message)
	case ps.keys.proves(a.proof, sideListens, said) == nil:
		return refused("it proves nothing itself")
	}
	return c.conn.SetReadDeadline(time.Time{}) // of the answers
}

func (c *peerConn) proveStep(body []byte, deadline time.Time) (answer []byte, a proveAnswer, err error) {
	if answer, err = c.roundTrip(wire.RequestHeader{Key: wire.KeyProve}, body, deadline); err == nil {
		a, err = readProveAnswer(answer)
	}
	return answer, a, err
}

// proven reports whether the connection may ask what only nodes ask: it is another node's, or this node has no keys by which nodes could
// be told from others.
func (c *Conn) proven() bool {
	cl := c.loop.node.cluster
	return cl == nil || len(cl.peers.keys) == 0 || c.client.Node
}

// refuseUnproven closes the connection for what only nodes may ask.
func (c *Conn) refuseUnproven(h wire.RequestHeader) {
	c.refuse("request of a node without a proof of the gossip key", "key", int16(h.Key))
}

// serveProof answers a step of a node's proof. One that is refused may be tried again, and nothing else may.
func (c *Conn) serveProof(cl *cluster, h wire.RequestHeader, body []byte) {
	request, err := readProve(body)
	if err != nil || len(body) > proveBytesMax || len(request.nonce) != nonceBytes {
		c.refuse("malformed proof of a node", "bytes", len(body))
		return
	}
	a := c.judgeProof(cl, &request, body)
	if a.code != wire.None {
		c.loop.node.log.throttled("proof of a node refused", "peer", c.client.Host, "node", int(request.sender), "asked for", request.address, "why", a.message)
	}
	r := c.begin(h)
	r.answer = appendFrame(r.answer[:0], h, a.appendTo(nil))
	c.loop.complete(r)
}

func (c *Conn) judgeProof(cl *cluster, request *proveRequest, body []byte) (a proveAnswer) {
	said := c.toProve
	c.toProve = nil
	switch {
	case len(cl.peers.keys) == 0:
		a.peerRefusal = peerRefusal{wire.ClusterAuthorizationFailed, "the node has no gossip key"}
		return a
	case request.address != cl.address():
		a.peerRefusal = peerRefusal{wire.ClusterAuthorizationFailed, "the node is at " + cl.address()}
		return a
	case len(request.proof) == 0:
		a.nonce = newNonce()
		c.toProve = saidOf(body, a.appendTo(nil))
		return a
	}
	key := cl.peers.keys.proves(request.proof, sideConnects, said)
	if said == nil || key == nil {
		a.peerRefusal = peerRefusal{wire.ClusterAuthorizationFailed, "the proof is by none of the node's gossip keys"}
		return a
	}
	c.client.Node = true
	a.proof = proof(key, sideListens, said)
	return a
}
