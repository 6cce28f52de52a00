package cluster

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/wire"
)

// gossipKey is one of some keys, as ringmill.gossip.key wants it.
func gossipKey(n byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('a'+n)), 32)))
}

// identityOf is what a node is in the metadata quorum.
func identityOf(t *testing.T, n *harness.Node) quorum.Identity {
	t.Helper()
	id, err := quorum.ReadIdentity(osfs.FS{}, filepath.Join(n.DataDir(), "state", quorum.DirName))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// private is a request of one of ringmill's own keys, without its length. Texts and bytes of parts have their lengths put before them.
func private(key wire.APIKey, parts ...any) string {
	out := binary.BigEndian.AppendUint16(nil, uint16(key))
	out = append(out, 0, 0, 0, 0, 0, 1, 0xff, 0xff) // version, correlation id, no client id
	for _, part := range parts {
		switch v := part.(type) {
		case string:
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(v))), v...)
		case wire.UUID:
			out = append(out, v[:]...)
		default:
			var err error
			if out, err = binary.Append(out, binary.BigEndian, v); err != nil {
				panic(err)
			}
		}
	}
	return string(out)
}

// forgedLoss is a message of another member that says that a member has acknowledged what it never had. Whoever believes it ends for good.
func forgedLoss(t *testing.T, to, from quorum.Identity) string {
	t.Helper()
	raftID := quorum.RaftID(to.DirectoryID)
	body, err := proto.Marshal(&pb.Message{
		Type: pb.MsgHeartbeat.Enum(), To: &raftID, From: new(quorum.RaftID(from.DirectoryID)), Term: new(uint64(1000)), Commit: new(uint64(1 << 40)),
	})
	if err != nil {
		t.Fatal(err)
	}
	data := append(binary.BigEndian.AppendUint32([]byte{1}, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))), body...)
	return private(wire.KeyQuorumMessage, to.ClusterID, int32(from.NodeID), "127.0.0.1:1", quorum.RaftID(from.DirectoryID), raftID, string(data))
}

// unproven are the lines by which a node has told of strangers.
func unproven(n *harness.Node) int {
	return strings.Count(n.Log(), "request of a node without a proof of the gossip key")
}

// TestAForgedMessageEndsANode is what a keyring is good for: without one a node believes whoever reaches its listener.
func TestAForgedMessageEndsANode(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	n := c.Nodes[1]
	harness.SendFrame(t, n.Address, forgedLoss(t, identityOf(t, n), identityOf(t, c.Nodes[0])), harness.Patience)
	harness.Await(t, "the node to end", func() bool { return !n.Alive() })
	if _, err := os.Stat(filepath.Join(n.DataDir(), "state", quorum.DirName, "lost")); err != nil {
		t.Error(err)
	}
}

// TestAKeyringKeepsStrangersOut: nodes that have a gossip key form a cluster, elect, outlive their controller and take in another node, and
// whatever somebody without the key forges changes nothing, and is told of in a few lines.
func TestAKeyringKeepsStrangersOut(t *testing.T) {
	t.Parallel()
	const times = 50
	c := harness.StartCluster(t, 3, map[string]string{"ringmill.gossip.key": gossipKey(1)})
	controller := awaitAgreement(t, c.Nodes, 1, 2, 3)
	topic := createTopic(t, c.Nodes[0], 3, 3)
	for i, n := range c.Nodes {
		self, other := identityOf(t, n), identityOf(t, c.Nodes[(i+1)%3])
		for range times {
			harness.SendFrame(t, n.Address, forgedLoss(t, self, other), harness.Patience)
		}
		for _, frame := range []string{
			private(wire.KeyForward, self.ClusterID), private(wire.KeyBootstrap, self.ClusterID, ""), private(wire.KeyIdentify, self.ClusterID),
			private(wire.KeySuspect, self.ClusterID, wire.UUID{1}, int32(0), int64(0)), strangersJoin(self.ClusterID, 9, wire.UUID{9}),
			private(wire.KeyProve, self.ClusterID, int32(9), n.Address, strings.Repeat("n", 32), strings.Repeat("p", 32)),
		} {
			harness.SendFrame(t, n.Address, frame, harness.Patience)
		}
		if told := unproven(n); told == 0 || told >= times {
			t.Errorf("%s has told of %d strangers in %d lines", n.Address, times, told)
		}
		if _, err := os.Stat(filepath.Join(n.DataDir(), "state", quorum.DirName, "lost")); !errors.Is(err, fs.ErrNotExist) || !n.Alive() {
			t.Errorf("%s has believed a forged message: %v", n.Address, err)
		}
	}
	if again := awaitAgreement(t, c.Nodes, 1, 2, 3); again != controller {
		t.Errorf("forged messages have made node %d the controller in place of node %d", again, controller)
	}
	if voters, observers := quorumOf(t, c.Nodes[0]); len(voters) != 3 || len(observers) != 0 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}

	killed := c.Nodes[controller-1]
	killed.Kill(t)
	var rest []*harness.Node
	var ids []int32
	for i, n := range c.Nodes {
		if n != killed {
			rest, ids = append(rest, n), append(ids, int32(i+1))
		}
	}
	awaitAgreement(t, rest, ids...)
	killed.Restart(t)
	added := c.Add(t, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3, 4)
	awaitInSync(t, c.Nodes[0], topic)
	awaitTopic(t, added, topic, hasLeader)
}

// strangersJoin is a Join of a node that is not there.
func strangersJoin(cluster string, id int32, directory wire.UUID) string {
	return private(wire.KeyJoin, cluster, id, directory, "127.0.0.1:1", "", "1", time.Now().UnixMilli(), int16(1))
}

// TestStrangersDoNotFillTheQuorum: without a keyring, too, only so many are taken in that do no more than to ask for it, and they keep no node out.
func TestStrangersDoNotFillTheQuorum(t *testing.T) {
	t.Parallel()
	const most, more = 32, 8
	c := harness.StartCluster(t, 3, nil)
	controller := c.Nodes[awaitAgreement(t, c.Nodes, 1, 2, 3)-1]
	cluster := identityOf(t, controller).ClusterID
	for i := range byte(most + more) {
		harness.SendFrame(t, controller.Address, strangersJoin(cluster, 100+int32(i), wire.UUID{1 + i, 7}), harness.Patience)
	}
	if voters, observers := quorumOf(t, c.Nodes[0]); len(voters) != 3 || len(observers) != most {
		t.Errorf("%d voters and %d observers, want 3 and %d", len(voters), len(observers), most)
	}
	if !strings.Contains(controller.Log(), "32 nodes have joined and not registered") {
		t.Error("nobody is told")
	}
	c.Add(t, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3, 4)
}

// TestGossipKeysAreChangedOneByOne: nodes whose rings have a key in common go on while the rings are changed, as docs/cluster.md says.
func TestGossipKeysAreChangedOneByOne(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"ringmill.gossip.key": gossipKey(1)})
	topic := createTopic(t, c.Nodes[0], 1, 3)
	for _, ring := range [][]string{{gossipKey(1), gossipKey(2)}, {gossipKey(2), gossipKey(1)}, {gossipKey(2)}} {
		for _, n := range c.Nodes {
			n.Stop(t)
			text, err := json.Marshal(ring)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(n.DataDir(), "state", "serf", "keyring"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			n.Set("ringmill.gossip.key", ring[0])
			n.Restart(t)
			awaitInSync(t, c.Nodes[0], topic)
		}
	}
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	for _, n := range c.Nodes {
		if told := unproven(n); told > 0 || strings.Contains(n.Log(), "proof of a node refused") {
			t.Errorf("%s has refused another node:\n%s", n.Address, n.Log())
		}
	}
	n := c.Layout(t, 4, map[string]string{"ringmill.gossip.key": gossipKey(1)}) // the key that is no more
	n.Begin(t)
	harness.Await(t, "a line about the key", func() bool { return strings.Contains(n.Log(), "no installed keys could decrypt the message") })
	if voters, observers := quorumOf(t, c.Nodes[0]); len(observers) > 0 || len(voters) != 3 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
}
