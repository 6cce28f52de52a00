package cluster

import (
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
	t.Run("a directory of another cluster", func(t *testing.T) {
		other := harness.StartCluster(t, 2, nil)
		for _, n := range other.Nodes {
			n.Kill(t)
		}
		n := c.Layout(t, 2, map[string]string{"ringmill.data.dir": other.Nodes[1].DataDir()})
		n.Begin(t) // it looks for its own cluster, which is not there
		harness.Await(t, "a line about the other cluster", func() bool { return strings.Contains(n.Log(), "belongs to cluster") })
	})
	t.Run("a directory of a node that has run alone", func(t *testing.T) {
		n := harness.StartRingmill(t, harness.Options{})
		n.Stop(t)
		refused(t, c.Layout(t, 6, map[string]string{"ringmill.data.dir": n.DataDir()}), "has run alone", "--data")
	})
	awaitAgreement(t, c.Nodes, 1, 2, 3)
}

// TestALostDisk: a node whose data directory is gone comes back under its id, as a member that does not vote.
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
	voters, observers := quorumOf(t, c.Nodes[0])
	if len(voters) != 3 || len(observers) != 1 || observers[0] != 3 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
}

// TestGarbageForTheQuorum: what is no message of a node closes the connection and changes nothing.
func TestGarbageForTheQuorum(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	for _, n := range c.Nodes {
		for key := byte(0x10); key <= 0x13; key++ { // 10000 to 10003
			for _, body := range []string{"", "\x00", "\x00\x00\x00\x05wrong", strings.Repeat("\xff", 100), strings.Repeat("\x00", 4000)} {
				header := "\x27" + string(key) + "\x00\x00\x00\x00\x00\x01\xff\xff"
				harness.SendFrame(t, n.Address, header+body, time.Second)
			}
		}
	}
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	createTopic(t, c.Nodes[0], 3, 1)
}
