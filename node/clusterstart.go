package node

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// inCluster says whether the node is one of several: by its configuration, or because it was at its last start.
func (n *Node) inCluster() (bool, error) {
	if n.Config().Cluster() {
		return true, nil
	}
	exists, err := quorum.Exists(n.seams.fs, n.quorumDir())
	if err != nil {
		return false, startError(n.quorumDir(), err)
	}
	return exists, nil
}

// openCluster does what can fail in the start of a node of a cluster. Its loops run, and answer other nodes, before it belongs to the
// cluster: that is how it comes to belong to it. Clients are served when it has caught up.
func (n *Node) openCluster() error {
	n.cluster = newCluster(n)
	n.restrict()
	n.image.Store(new(image.Image))
	for _, step := range []func() error{
		n.checkNodesMayAsk,
		n.bind,
		func() error { return n.openDirs(n.seams.fs) },
		n.cluster.takeAlone,
		n.cluster.openForming,
		n.startLoops,
		func() error { n.loops[0].on((*Loop).startAccepting); return nil },
		n.cluster.belong,
		func() error { return n.identify(n.cluster.clusterID()) },
		n.cluster.register,
		n.followFirst,
		n.checkLogDirs,
		n.loadQuotas,
		n.loadTopics,
		n.writeKnownDirs,
		n.removeCleanMarks,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// belong makes the node a member of the cluster, if it is none yet, and starts its part of the quorum.
func (c *cluster) belong() error {
	if c.clusterID() == "" {
		if err := c.enter(); err != nil {
			return err
		}
	}
	if err := c.openQuorum(); err != nil {
		return err
	}
	go c.callOn()
	if err := c.agent.SetInfo(c.info(true)); err != nil {
		c.node.log.throttled("the others are told late that this node belongs to the cluster", "error", err)
	}
	return nil
}

// callOn tells the others where this node is, as long as it has heard of no controller. One that votes makes itself heard by standing for election;
// one that only follows, at another address than before, waits for a controller that does not find it.
func (c *cluster) callOn() {
	for c.node.sleep(callOnPause) && c.quorum.view.Load().controller == wire.NoNode {
		if _, err := c.join(c.clusterID()); err != nil {
			c.node.log.throttled("another node does not take note of this one's address", "error", err)
		}
	}
}

// callOnPause is how long a controller may take to be heard of, and the pause between two calls.
const callOnPause = time.Second

// register makes the node known to the controller, and waits until it has followed the metadata to its own registration: then it knows all
// that was decided before it came.
func (c *cluster) register() error {
	c.broker = newBrokerLifecycle(c)
	go c.broker.run()
	if err := c.await(c.broker.registered); err != nil {
		return err
	}
	for {
		if m := c.follower.latest(); m != nil && m.Version() > uint64(c.broker.epoch.Load()) {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-c.node.interrupt:
			return errInterrupted
		case <-c.node.failed:
			return c.node.failure
		}
	}
}

// await waits for something that other nodes have to do.
func (c *cluster) await(done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		case <-c.node.interrupt:
			return errInterrupted
		case <-c.node.failed:
			return c.node.failure
		case why := <-c.broker.refused:
			return &StartError{Path: "cluster " + c.clusterID(), Problem: why.Error(), Cure: "install the release that the other nodes run; ringmill cluster upgrade status shows the levels"}
		case <-time.After(waitingLine):
			slog.Info("this node waits for the controller", "cluster", c.clusterID(), "controller", int(c.quorum.view.Load().controller))
		}
	}
}

// waitingLine is how often a node that waits for others says so.
const waitingLine = 10 * time.Second

// followFirst takes up the metadata that the node has caught up with.
func (n *Node) followFirst() error {
	m := n.cluster.follower.latest()
	n.publish(m)
	return n.applyDynamicConfig(m)
}

// serve has clients served: the controller lets the node serve once it has caught up.
func (c *cluster) serve() error {
	c.follower.begin(c.node.Image())
	c.broker.serve()
	return c.await(c.broker.unfenced)
}

// interrupted says that an operator ended the start.
func interrupted(err error) bool { return errors.Is(err, errInterrupted) }
