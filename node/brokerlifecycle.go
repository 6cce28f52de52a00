package node

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/wire"
)

// brokerLifecycle keeps this node known to the controller, as Kafka's BrokerLifecycleManager does: it registers, says with every
// heartbeat that it lives and how far it has followed the metadata, and asks for its partitions to be led elsewhere before it
// stops.
//
//	registering ─▶ fenced ─ caught up ─▶ serving ─ stop ─▶ shutting down: leaders move ─▶ gone
//	     ▲            │ the controller knows it no more         │
//	     └────────────┴─────────────────────────────────────────┘
type brokerLifecycle struct {
	cluster *cluster
	// epoch is that of the registration, NoBrokerEpoch before the first.
	epoch atomic.Int64
	// caughtUp says that the node does what the metadata says, and may serve; leaving that it wants to stop.
	caughtUp, leaving atomic.Bool
	// registered, unfenced and released are closed when the controller has registered the node, lets it serve, and lets it go.
	registered, unfenced, released chan struct{}
	fenced                         atomic.Bool
	// refused gets why the controller will never register the node.
	refused chan error
	wake    chan struct{}
	stopped chan struct{}
}

// brokerRetry is the pause before a controller that did not answer is asked again.
const brokerRetry = 100 * time.Millisecond

func newBrokerLifecycle(c *cluster) *brokerLifecycle {
	b := &brokerLifecycle{
		cluster: c, registered: make(chan struct{}), unfenced: make(chan struct{}), released: make(chan struct{}), refused: make(chan error, 1),
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	b.epoch.Store(int64(wire.NoBrokerEpoch))
	b.fenced.Store(true)
	return b
}

// run is the goroutine; it ends when the node stops.
func (b *brokerLifecycle) run() {
	defer close(b.stopped)
	answered := time.Now()
	for {
		pause, err := b.step()
		if err == nil {
			answered = time.Now()
		} else if pause = brokerRetry; time.Since(answered) > silenceWorthALine {
			b.cluster.node.log.throttled("the controller does not answer", "error", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-b.wake:
		case <-b.cluster.node.quit:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// silenceWorthALine is how long the controller may not answer before an operator is told: elections take less.
const silenceWorthALine = 5 * time.Second

// step registers, or sends one heartbeat, and says how long until the next.
func (b *brokerLifecycle) step() (time.Duration, error) {
	if wire.BrokerEpoch(b.epoch.Load()) == wire.NoBrokerEpoch {
		return 0, b.register()
	}
	return b.heartbeat()
}

// register makes the node known; where the controller still believes in an earlier run of this node, that has to be silent for
// broker.session.timeout.ms first (KIP-631).
func (b *brokerLifecycle) register() error {
	c := b.cluster
	req, err := c.registration()
	if err != nil {
		return err
	}
	resp, err := c.askController(req)
	if err != nil {
		return err
	}
	r := resp.(*kmsg.BrokerRegistrationResponse)
	switch wire.ErrorCode(r.ErrorCode) {
	case wire.None:
	case wire.UnsupportedVersion: // no later try ends otherwise
		b.refuse(errTooOld)
		fallthrough
	default:
		return fmt.Errorf("node: registration: %w", kafkaError(r.ErrorCode))
	}
	b.epoch.Store(r.BrokerEpoch)
	slog.Info("registered with the controller", "node", req.BrokerID, "brokerEpoch", r.BrokerEpoch)
	closeOnce(b.registered)
	return nil
}

// errTooOld: the cluster has a feature at a level that this release does not know.
var errTooOld = errors.New("the cluster has a feature, ringmill.format for one, finalized at a level that this release does not know")

// refuse ends the node's start. A node that runs, and was unregistered before it asks so, stays fenced and says why.
func (b *brokerLifecycle) refuse(why error) {
	select {
	case b.refused <- why:
	default:
	}
}

// heartbeat says that the node lives, and takes what the controller says of it.
func (b *brokerLifecycle) heartbeat() (time.Duration, error) {
	c := b.cluster
	req, some, all := b.nextHeartbeat()
	resp, err := c.askController(req)
	if err != nil {
		return 0, err
	}
	r := resp.(*kmsg.BrokerHeartbeatResponse)
	switch wire.ErrorCode(r.ErrorCode) {
	case wire.None:
	case wire.StaleBrokerEpoch, wire.BrokerIDNotRegistered: // unregistered, or another run of this node came in between
		b.epoch.Store(int64(wire.NoBrokerEpoch))
		fallthrough
	default:
		return 0, fmt.Errorf("node: heartbeat: %w", kafkaError(r.ErrorCode))
	}
	c.node.lacking.told(some)
	c.node.compareClocks(r, time.Now())
	if was := b.fenced.Swap(r.IsFenced); was && !r.IsFenced {
		slog.Info("the controller lets this node serve", "brokerEpoch", req.BrokerEpoch)
		closeOnce(b.unfenced)
	}
	if r.ShouldShutdown {
		closeOnce(b.released)
	}
	switch {
	case !all:
		return 0, nil
	case b.leaving.Load() && !r.ShouldShutdown:
		return leavingPause, nil
	case r.IsFenced && b.caughtUp.Load():
		return brokerRetry, nil
	}
	return time.Duration(c.node.Config().BrokerHeartbeatMS) * time.Millisecond, nil
}

// nextHeartbeat makes a heartbeat, which names some lacking replicas; all says that the controller has been told of each when it answers. Before
// that the node is not to be let into service: it could be elected for what it has lost.
func (b *brokerLifecycle) nextHeartbeat() (req *kmsg.BrokerHeartbeatRequest, some []controller.LackingReplica, all bool) {
	n := b.cluster.node
	req = kmsg.NewPtrBrokerHeartbeatRequest()
	req.Version = brokerHeartbeatVersion
	req.BrokerID, req.BrokerEpoch = int32(n.Config().NodeID), b.epoch.Load()
	req.CurrentMetadataOffset = int64(n.Image().Version()) - 1
	caughtUp := b.caughtUp.Load() // before the list is read, which has all that the start has found by then
	some, all = n.lacking.tell()
	req.WantFence, req.WantShutdown = !caughtUp || b.fenced.Load() && !all, b.leaving.Load()
	tellLacking(req, some)
	return req, some, all
}

// leavingPause is the pause between the heartbeats of a node that waits to be let go: a few syncs of the metadata's log.
const leavingPause = 20 * time.Millisecond

// brokerHeartbeatVersion is the newest that is sent.
const brokerHeartbeatVersion = 1

// closeOnce closes a channel that one goroutine alone closes.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// serve tells the controller that the node has caught up.
func (b *brokerLifecycle) serve() {
	b.caughtUp.Store(true)
	b.nudge()
}

// leave asks the controller to lead this node's partitions elsewhere, and waits until it has, or for patience; not nearly so long
// where there is no controller to ask, and not at all where there will be none, as when all nodes of a cluster stop.
func (b *brokerLifecycle) leave(patience time.Duration) {
	b.leaving.Store(true)
	b.nudge()
	ticker := time.NewTicker(brokerRetry)
	defer ticker.Stop()
	began, heard, many := time.Now(), time.Now(), time.Now()
	for {
		select {
		case <-b.released:
			return
		case <-b.stopped:
			return
		case <-ticker.C:
		}
		if b.cluster.quorum.view.Load().controller != wire.NoNode {
			heard = time.Now()
		}
		if !b.cluster.fewVoters() {
			many = time.Now()
		}
		switch {
		case time.Since(many) > fewVotersPatience:
			slog.Info("too few voters are left for a controller to move this node's leaders away")
			return
		case time.Since(heard) > leaderlessPatience:
			slog.Warn("there is no controller to move this node's leaders away")
			return
		case time.Since(began) > patience:
			slog.Warn("the controller did not move all leaders away in time")
			return
		}
	}
}

// fewVotersPatience is how long a node that stops believes that the voters that gossip misses come back.
const fewVotersPatience = 300 * time.Millisecond

// leaderlessPatience is how long a node that stops waits for a new controller: two elections.
const leaderlessPatience = 8 * time.Second

// nudge has the next heartbeat sent at once.
func (b *brokerLifecycle) nudge() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// errNoController is of a request that there was no controller for.
var errNoController = errors.New("node: there is no controller at the moment")

// askController has the controller answer a request of this node's own: this node, if it is that, or the one that leads the quorum.
func (c *cluster) askController(req kmsg.Request) (kmsg.Response, error) {
	v := c.quorum.view.Load()
	switch {
	case v.here:
		return c.control(req), nil
	case v.address == "":
		return nil, errNoController
	}
	return c.peers.call(v.address, req, controllerTimeout)
}

// controllerTimeout is how long a node waits for the controller's answer (Kafka's controller.socket.timeout.ms is 30 seconds; a
// heartbeat must fail in time for another before the session ends).
const controllerTimeout = 3 * time.Second

// kafkaError makes a Go error of an error code.
func kafkaError(code int16) error { return codeError(code) }

// codeError is an error code of the protocol as a Go error.
type codeError int16

func (e codeError) Error() string { return wire.ErrorCode(e).String() }
