package node

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/wire"
)

// gossipKey is one of some keys, as a keyring has it.
func gossipKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func keyring(t *testing.T, dir string, ring ...byte) {
	t.Helper()
	var keys []string
	for _, b := range ring {
		keys = append(keys, base64.StdEncoding.EncodeToString(gossipKey(b)))
	}
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	serf := filepath.Join(dir, "state", "serf")
	if err := errors.Join(os.MkdirAll(serf, 0o700), os.WriteFile(filepath.Join(serf, "keyring"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// startMember starts the one node of a cluster, with these gossip keys.
func startMember(t *testing.T, ring ...byte) *testNode {
	t.Helper()
	dir := t.TempDir()
	if len(ring) > 0 {
		keyring(t, dir, ring...)
	}
	id := quorum.Identity{NodeID: 1, DirectoryID: wire.UUID{1}, ClusterID: "cluster"}
	voter := quorum.Member{
		ReplicaKey: quorum.ReplicaKey{NodeID: id.NodeID, DirectoryID: id.DirectoryID}, Voter: true,
		Endpoints: []quorum.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 1}},
	}
	if err := quorum.Create(osfs.FS{}, filepath.Join(dir, "state", quorum.DirName), id, []quorum.Member{voter}, initialImage(id.ClusterID, nil)); err != nil {
		t.Fatal(err)
	}
	return startNode(t, nodeOptions{dir: dir, set: []string{"node.id=1", "ringmill.gossip.listen=127.0.0.1:0"}})
}

func (tn *testNode) address() string { return tn.cluster.address() }

// otherNode is a node that has these gossip keys, and has not been started: what connects to others is there.
func otherNode(t *testing.T, ring ...byte) *peers {
	t.Helper()
	n := newUnstarted(t)
	var keys [][]byte
	for _, b := range ring {
		keys = append(keys, gossipKey(b))
	}
	n.cluster.peers.keys = newProofKeys(keys)
	t.Cleanup(n.cluster.peers.close)
	return n.cluster.peers
}

var identifyHeader = wire.RequestHeader{Key: wire.KeyIdentify}

// TestNodesProveTheirKeys: a connection is one of a node's when both have a key of the other's ring, whichever they encrypt with.
func TestNodesProveTheirKeys(t *testing.T) {
	tn := startMember(t, 1, 2)
	for _, test := range []struct {
		ring    []byte
		refused string
	}{
		{[]byte{1}, ""},
		{[]byte{2}, ""},
		{[]byte{2, 1}, ""},
		{[]byte{2, 3}, ""},
		{[]byte{3}, "none of the node's gossip keys"},
		{[]byte{3, 1}, "none of the node's gossip keys"},
		{nil, "EOF"},
	} {
		body, err := otherNode(t, test.ring...).callRaw(tn.address(), identifyHeader, appendBytes(nil, ""), patience)
		switch {
		case test.refused != "":
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("a node with the keys %v: %v", test.ring, err)
			}
		case err != nil:
			t.Errorf("a node with the keys %v: %v", test.ring, err)
		default:
			if a, err := readIdentifyAnswer(body); err != nil || a.directory != tn.cluster.directory {
				t.Errorf("a node with the keys %v is answered %+v, %v", test.ring, a, err)
			}
		}
	}
}

// TestWithoutAKeyring: a node that has none asks and answers as it did before there were proofs, and takes none.
func TestWithoutAKeyring(t *testing.T) {
	tn := startMember(t)
	if _, err := otherNode(t).callRaw(tn.address(), identifyHeader, appendBytes(nil, ""), patience); err != nil {
		t.Error(err)
	}
	if _, err := otherNode(t, 1).callRaw(tn.address(), identifyHeader, appendBytes(nil, ""), patience); err == nil || !strings.Contains(err.Error(), "the node has no gossip key") {
		t.Errorf("a node with a key: %v", err)
	}
}

// closes sends a request over a connection and reports whether the other side closes it in place of an answer.
func closes(t *testing.T, c *peerConn, h wire.RequestHeader, body []byte) bool {
	t.Helper()
	_, err := c.roundTrip(h, body, time.Now().Add(patience))
	var refused net.Error
	if errors.As(err, &refused) && refused.Timeout() {
		t.Fatal(err)
	}
	return err != nil
}

func connected(t *testing.T, addr string) *peerConn {
	t.Helper()
	c, err := dialPeer(addr, time.Now().Add(patience))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// TestStrangersMayNotAskAsNodes: whatever only nodes ask closes a connection over which nothing was proved; a consumer's Fetch does not.
func TestStrangersMayNotAskAsNodes(t *testing.T) {
	tn := startMember(t, 1)
	fetchAs := func(id wire.NodeID) []byte {
		in := wire.FetchRequest{}
		in.Reset()
		in.ReplicaID = id
		return in.AppendTo(nil, 4)
	}
	message := quorumMessage{cluster: tn.cluster.clusterID(), sender: 9, from: 9, to: 1}
	strangers := map[*wire.RequestHeader][]byte{
		{Key: wire.KeyFetch, Version: 4}: fetchAs(1), {Key: wire.KeyQuorumMessage}: message.appendTo(nil), {Key: wire.KeyForward}: nil, {Key: wire.KeyJoin}: nil,
		{Key: wire.KeyBootstrap}: nil, {Key: wire.KeySuspect}: nil, {Key: wire.KeyIdentify}: appendBytes(nil, ""), {Key: wire.KeyAlterPartition, Version: 2}: nil,
		{Key: wire.KeyBrokerRegistration}: nil, {Key: wire.KeyBrokerHeartbeat}: nil, {Key: wire.KeyAllocateProducerIDs}: nil,
	}
	for h, body := range strangers {
		if !closes(t, connected(t, tn.address()), *h, body) {
			t.Errorf("key %d of a stranger is answered", h.Key)
		}
	}
	if closes(t, connected(t, tn.address()), wire.RequestHeader{Key: wire.KeyFetch, Version: 4}, fetchAs(-1)) {
		t.Error("a consumer's Fetch is not answered")
	}
}

// proving is a connection that has been given the second nonce, and the request that would prove the keys' first.
func proving(t *testing.T, tn *testNode, keys proofKeys, nonce []byte) (c *peerConn, request proveRequest) {
	t.Helper()
	c = connected(t, tn.address())
	request = proveRequest{sender: 9, address: tn.address(), nonce: nonce}
	first := request.appendTo(nil)
	answer, a, err := c.proveStep(first, time.Now().Add(patience))
	if err != nil || a.code != wire.None {
		t.Fatal(a, err)
	}
	request.proof = proof(keys[0], sideConnects, saidOf(first, answer))
	return c, request
}

// TestProofsThatAreRefused: what proves something else, or a second time, opens nothing.
func TestProofsThatAreRefused(t *testing.T) {
	tn := startMember(t, 1)
	keys, nonce := newProofKeys([][]byte{gossipKey(1)}), newNonce()
	deadline := time.Now().Add(patience)
	c, good := proving(t, tn, keys, nonce)
	if _, a, err := c.proveStep(good.appendTo(nil), deadline); err != nil || a.code != wire.None || closes(t, c, identifyHeader, appendBytes(nil, "")) {
		t.Fatalf("the proof that the others are made of: %+v, %v", a, err)
	}
	for name, change := range map[string]func(p *proveRequest){
		"of another connection": func(p *proveRequest) { p.proof = good.proof },
		"of one bit less":       func(p *proveRequest) { p.proof[0] ^= 1 },
		"cut":                   func(p *proveRequest) { p.proof = p.proof[:16] },
		"at another address":    func(p *proveRequest) { p.address = "127.0.0.1:1" },
	} {
		c, request := proving(t, tn, keys, nonce)
		change(&request)
		if _, a, err := c.proveStep(request.appendTo(nil), deadline); err != nil || a.code != wire.ClusterAuthorizationFailed || len(a.proof) > 0 {
			t.Errorf("a proof %s: %+v, %v", name, a, err)
		}
		if !closes(t, c, identifyHeader, appendBytes(nil, "")) {
			t.Errorf("a proof %s opens the connection", name)
		}
	}
	c, raw := proving(t, tn, proofKeys{gossipKey(1)}, nonce) // by the gossip key, in place of the one that is derived of it
	if _, a, err := c.proveStep(raw.appendTo(nil), deadline); err != nil || a.code != wire.ClusterAuthorizationFailed {
		t.Errorf("a proof by the gossip key: %+v, %v", a, err)
	}
	c, again := proving(t, tn, keys, nonce)
	wrong := again
	wrong.proof = bytes.Repeat([]byte{1}, len(again.proof))
	for _, request := range []*proveRequest{&wrong, &again} { // a nonce is good for one try
		if _, a, err := c.proveStep(request.appendTo(nil), deadline); err != nil || a.code == wire.None {
			t.Errorf("the right proof after a wrong one: %+v, %v", a, err)
		}
	}
	for name, body := range map[string][]byte{
		"nothing": nil, "a short nonce": (&proveRequest{address: tn.address(), nonce: nonce[:8]}).appendTo(nil),
		"too much": (&proveRequest{cluster: strings.Repeat("c", proveBytesMax), address: tn.address(), nonce: nonce}).appendTo(nil),
	} {
		if !closes(t, connected(t, tn.address()), wire.RequestHeader{Key: wire.KeyProve}, body) {
			t.Errorf("%s is answered", name)
		}
	}
}

// TestWhoListensProvesToo: nothing is asked of a listener that has no key, whatever it answers.
func TestWhoListensProvesToo(t *testing.T) {
	for name, prove := range map[string]func(asked *proveRequest) proveAnswer{
		"nothing":             func(*proveRequest) proveAnswer { return proveAnswer{} },
		"what it was told":    func(asked *proveRequest) proveAnswer { return proveAnswer{proof: asked.proof} },
		"by a key of its own": func(*proveRequest) proveAnswer { return proveAnswer{proof: proof(gossipKey(7), sideListens, nil)} },
		"that it would like to know": func(*proveRequest) proveAnswer {
			return proveAnswer{peerRefusal: peerRefusal{code: wire.UnknownServerError}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ln := loopbackListener(t)
			peerServer(t, ln, func(h wire.RequestHeader, body []byte) []byte {
				asked, err := readProve(body)
				switch {
				case h.Key != wire.KeyProve || err != nil:
					t.Errorf("key %d was asked for", h.Key)
					return nil
				case len(asked.proof) == 0:
					return (&proveAnswer{nonce: newNonce()}).appendTo(nil)
				}
				a := prove(&asked)
				return a.appendTo(nil)
			})
			if _, err := otherNode(t, 1).callRaw(ln.Addr().String(), identifyHeader, nil, patience); err == nil {
				t.Error("it was asked")
			}
		})
	}
}

// TestProofsAreNotPassedOn: a stranger at an address that a node once had gains nothing by passing on to another node what it is told.
func TestProofsAreNotPassedOn(t *testing.T) {
	tn := startMember(t, 1)
	ln := loopbackListener(t)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", tn.address())
			if err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(conn, onward) }()
			go func() { _, _ = io.Copy(onward, conn) }()
		}
	}()
	if _, err := otherNode(t, 1).callRaw(ln.Addr().String(), identifyHeader, appendBytes(nil, ""), patience); err == nil || !strings.Contains(err.Error(), "the node is at "+tn.address()) {
		t.Errorf("%v", err)
	}
}
