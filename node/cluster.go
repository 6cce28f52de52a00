package node

import (
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/control/member"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// cluster is what a node has that is one of several: its part of the metadata quorum, the controller while it leads that, the
// connections to the others, and the way in which what the node does follows the metadata. A node of its own has none of it.
//
//	gossip: who is there ─▶ bootstrap, or join ─▶ state/quorum
//	                                                  │
//	messages ─▶ quorum goroutine ◀─ proposals ── controller ◀─ requests of nodes, and of clients by way of their nodes
//	                 │ committed entries
//	                 ▼
//	               Image ─▶ follower goroutine: partitions, configurations, quotas, coordinators ─▶ what clients see
type cluster struct {
	node  *Node
	peers *peers
	// directory is the quorum directory's id, incarnation that of this run of the process (KIP-631).
	directory, incarnation wire.UUID
	// id is the cluster's, nil before the node belongs to one.
	id    atomic.Pointer[string]
	agent *member.Agent
	// left is closed when the others were told that this node stops, nil before it tells them.
	left chan struct{}
	// quorum and follower are there once the node belongs to the cluster, and member says so to other goroutines than the start's.
	quorum   *quorumService
	follower *follower
	broker   *brokerLifecycle
	// twinSince is since when a living node of this one's id keeps it out; the start's.
	twinSince time.Time
	member    atomic.Bool
	// forming is the node's part in the agreement on who begins the cluster, nil until that begins. It goes on while the node runs: see there.
	forming atomic.Pointer[forming]
}

func newCluster(n *Node) *cluster {
	c := &cluster{node: n, incarnation: newUUID()}
	c.peers = newPeers(n, c.gone)
	return c
}

// gone is told that the process at an address is gone.
func (c *cluster) gone(addr string) {
	if s := c.quorum; s != nil {
		s.inbox.put(func() { s.lost(addr) })
	}
}

// quorumDir is the directory of the node's part of the metadata quorum.
func (n *Node) quorumDir() string { return filepath.Join(n.Config().DataDir, "state", quorum.DirName) }

// clusterID is "" as long as the node belongs to no cluster.
func (c *cluster) clusterID() string {
	if id := c.id.Load(); id != nil {
		return *id
	}
	return ""
}

// interBroker is the listener that other nodes connect to.
func (n *Node) interBroker() *listener { return n.listeners[n.Config().InterBroker()] }

// address is where other nodes reach this one.
func (c *cluster) address() string {
	host, port := c.node.Advertised(c.node.interBroker().name)
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// endpoints are the node's listeners, the one for other nodes first.
func (c *cluster) endpoints() (all []quorum.Endpoint) {
	first := c.node.interBroker().name
	for _, ln := range c.node.listeners {
		host, port := c.node.Advertised(ln.name)
		e := quorum.Endpoint{Listener: ln.name, Host: host, Port: uint16(port)}
		if ln.name == first {
			all = append([]quorum.Endpoint{e}, all...)
			continue
		}
		all = append(all, e)
	}
	return all
}

// leave has the controller lead this node's partitions elsewhere, while it still serves, and then another node be the controller.
func (c *cluster) leave() {
	if c.broker == nil || !c.node.Config().ControlledShutdown || c.broker.fenced.Load() {
		return
	}
	c.broker.leave(leavePatience)
	c.handOver()
	c.tellLeave()
}

// tellLeave tells the others by gossip that this node stops, which takes some tenths of a second, while it goes on stopping.
func (c *cluster) tellLeave() {
	if c.agent == nil || c.left != nil {
		return
	}
	c.left = make(chan struct{})
	go func() {
		defer close(c.left)
		_ = c.agent.Leave()
	}()
}

// fewVoters says that too few voters are there, as gossip has it, to elect a controller.
func (c *cluster) fewVoters() bool {
	there := make(map[wire.NodeID]bool)
	for _, m := range c.agent.Members() {
		there[m.NodeID] = true
	}
	few := false
	c.quorum.inbox.do(func() {
		voters, present := 0, 0
		for _, m := range c.quorum.q.Members() {
			if m.Voter {
				voters++
				if there[m.NodeID] || m.NodeID == c.node.Config().NodeID {
					present++
				}
			}
		}
		few = present <= voters/2
	})
	return few
}

// leavePatience is how long a node waits for its leaders to be moved away before it stops all the same.
const leavePatience = 30 * time.Second

// close ends what the cluster runs in the background; the loops still run.
func (c *cluster) close() {
	if c.quorum != nil {
		<-c.quorum.inbox.stopped
	}
	if c.follower != nil && c.follower.began {
		<-c.follower.stopped
	}
	if c.broker != nil {
		<-c.broker.stopped
	}
	if f := c.forming.Load(); f != nil {
		<-f.stopped
	}
	c.peers.close()
	c.tellLeave()
	if c.left != nil {
		<-c.left
	}
}
