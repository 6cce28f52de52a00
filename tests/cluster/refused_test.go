package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

// refused starts a node that must not come in, and checks that it ends with a line that has all of words.
func refused(t *testing.T, n *harness.Node, words ...string) {
	t.Helper()
	n.Begin(t)
	harness.Await(t, "the refused node to end", func() bool { return !n.Alive() })
	lines := strings.Split(strings.TrimSpace(n.Log()), "\n")
	last := lines[len(lines)-1]
	for _, word := range words {
		if !strings.Contains(last, word) {
			t.Errorf("the last line lacks %q: %s", word, last)
		}
	}
}

// TestNodesThatMustNotComeIn: each is refused with one line that says what to do, and the cluster goes on.
func TestNodesThatMustNotComeIn(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	t.Run("an id that a living node has", func(t *testing.T) {
		refused(t, c.Layout(t, 4, map[string]string{"node.id": "2", "broker.session.timeout.ms": "1000"}), "node id 2 belongs to a node that is alive", "node.id")
	})
	t.Run("a directory of another node", func(t *testing.T) {
		n := c.Layout(t, 4, nil)
		n.Restart(t)
		n.Stop(t)
		refused(t, c.Layout(t, 5, map[string]string{"ringmill.data.dir": n.DataDir()}), "belongs to node 4, this is node 5")
	})
	t.Run("a copy of the directory of a living node", func(t *testing.T) {
		original := c.Nodes[1]
		dir := filepath.Join(t.TempDir(), "copy")
		harness.Eventually(t, "a copy", func(context.Context) error { // files may go meanwhile
			return errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(original.DataDir())))
		})
		for range 2 { // the refusal leaves nothing by which it would come in later
			refused(t, c.Layout(t, 2, map[string]string{"ringmill.data.dir": dir}), "it is a copy", "node 2 runs at "+original.Address, "empty data directory")
		}
		if !original.Alive() {
			t.Error("the node that was copied has ended")
		}
	})
	t.Run("a node that has moved", func(t *testing.T) {
		n := c.Layout(t, 7, nil)
		n.Restart(t)
		n.Stop(t)
		c.Layout(t, 7, map[string]string{"ringmill.data.dir": n.DataDir()}).Restart(t)
	})
	t.Run("a directory of another cluster", func(t *testing.T) {
		other := harness.StartCluster(t, 2, nil)
		for _, n := range other.Nodes {
			n.Kill(t)
		}
		n := c.Layout(t, 2, map[string]string{"ringmill.data.dir": other.Nodes[1].DataDir()})
		n.Begin(t)                                                                                                                                    // it looks for its own cluster, which is not there
		for _, line := range []string{"gossip refused: node ", " belongs to cluster ", "seeds do not answer", "this node waits for the controller"} { // as docs/cluster.md has them
			harness.Await(t, line, func() bool { return strings.Contains(n.Log(), line) })
		}
		if !n.Alive() {
			t.Error("the node has ended")
		}
	})
	t.Run("a directory of a node that has run alone", func(t *testing.T) {
		n := harness.StartRingmill(t, harness.Options{})
		n.Stop(t)
		refused(t, c.Layout(t, 6, map[string]string{"ringmill.data.dir": n.DataDir()}), "has run alone", "--data")
	})
	t.Run("a damaged promise of one that is a member", func(t *testing.T) {
		n := c.Nodes[2]
		n.Stop(t)
		promise := filepath.Join(n.DataDir(), "state", "bootstrap")
		if err := os.WriteFile(promise, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, n, "state/bootstrap", "remove the file")
		if err := os.Remove(promise); err != nil {
			t.Fatal(err)
		}
		n.Restart(t)
	})
	awaitAgreement(t, c.Nodes, 1, 2, 3)
}

// TestALostDisk: a node whose data directory is gone comes back under its id, as a new member, and takes the place of the voter that it was.
func TestALostDisk(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"})
	topic := createTopic(t, c.Nodes[0], 6, 1)
	lost := c.Nodes[2]
	lost.Kill(t)
	lost.Wipe(t)
	lost.Restart(t)
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	awaitTopic(t, lost, topic, noCheck)
	harness.Await(t, "three voters and no other member", func() bool {
		voters, observers := quorumOf(t, c.Nodes[0])
		return len(voters) == 3 && len(observers) == 0
	})
	c.Nodes[0].Kill(t) // it takes the new member to elect
	awaitAgreement(t, c.Nodes[1:], 2, 3)
}

// TestAForgottenQuorumLog: a node whose part of the metadata has become an older one (a copy that was put back, a device that lied) ends at the
// controller's first word. It does not come in again either under a controller that does not know what it has told, but as a new member.
func TestAForgottenQuorumLog(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"})
	controller := awaitAgreement(t, c.Nodes, 1, 2, 3)
	forgetful, other := c.Nodes[controller%3], c.Nodes[controller-1]
	quorum, older := filepath.Join(forgetful.DataDir(), "state", "quorum"), filepath.Join(t.TempDir(), "older")
	forgetful.Kill(t)
	if err := os.CopyFS(older, os.DirFS(quorum)); err != nil {
		t.Fatal(err)
	}
	forgetful.Restart(t)
	topic := createTopic(t, other, 6, 1)
	awaitTopic(t, forgetful, topic, noCheck)
	forgetful.Kill(t)
	if err := errors.Join(os.RemoveAll(quorum), os.CopyFS(quorum, os.DirFS(older))); err != nil {
		t.Fatal(err)
	}
	refused(t, forgetful, "the log has lost entries that it had acknowledged")

	other.Kill(t) // the controller, and what it remembers of the forgetful node
	other.Restart(t)
	ids := slices.DeleteFunc([]int32{1, 2, 3}, func(id int32) bool { return id == controller%3+1 })
	awaitAgreement(t, []*harness.Node{c.Nodes[ids[0]-1], c.Nodes[ids[1]-1]}, ids...)
	refused(t, forgetful, "quorum/lost", "the log has lost entries that it had acknowledged", "the node comes back as a new member")

	forgetful.Wipe(t)
	forgetful.Restart(t)
	harness.Await(t, "three voters and no other member", func() bool {
		voters, observers := quorumOf(t, other)
		return len(voters) == 3 && len(observers) == 0
	})
	awaitTopic(t, forgetful, topic, noCheck)
}

// TestGarbageForTheQuorum: what is no message of a node closes the connection and changes nothing.
func TestGarbageForTheQuorum(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	for _, n := range c.Nodes {
		for key := byte(0x10); key <= 0x16; key++ { // 10000 to 10006
			for _, body := range []string{"", "\x00", "\x00\x00\x00\x05wrong", strings.Repeat("\xff", 100), strings.Repeat("\x00", 4000)} {
				header := "\x27" + string(key) + "\x00\x00\x00\x00\x00\x01\xff\xff"
				harness.SendFrame(t, n.Address, header+body, time.Second)
			}
		}
	}
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	createTopic(t, c.Nodes[0], 3, 1)
}
