package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/member"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// forming is a node's part in the agreement of fresh nodes on who begins a cluster (control/member). What it has agreed to is on disk
// before anybody hears of it. It goes on after the node belongs to a cluster: others may not know yet what was decided.
type forming struct {
	cluster *cluster
	// mu guards bootstrap, which requests of other nodes and the goroutine use.
	mu        sync.Mutex
	bootstrap *member.Bootstrap
	// decided gets what the agreement comes to.
	decided chan *member.Decision
	stopped chan struct{}
}

const (
	// bootstrapName is the file in state/ that holds what the node has agreed to.
	bootstrapName = "bootstrap"
	// formingTick is how often time passes for the agreement.
	formingTick = 200 * time.Millisecond
	// formingTimeout is how long another node may take for an answer.
	formingTimeout = 2 * time.Second
)

// openForming takes up what the node has agreed to, and begins to tell the others that it is there.
func (c *cluster) openForming() error {
	n := c.node
	id, err := quorum.ReadIdentity(n.seams.fs, n.quorumDir())
	exists := !errors.Is(err, quorum.ErrNoQuorum)
	if exists && err != nil {
		return quorumError(n.quorumDir(), err)
	}
	if this := n.Config().NodeID; exists && id.NodeID != this {
		return ownedByOther(n.quorumDir(), id.NodeID, this)
	}
	cfg, dir := n.Config(), filepath.Join(n.Config().DataDir, "state", "serf")
	ring, err := member.Keys(n.seams.fs, dir, cfg.GossipKey)
	if err != nil {
		return &StartError{Path: dir, Problem: err.Error(), Cure: "see docs/cluster.md, Another gossip key"}
	}
	c.peers.keys = newProofKeys(ring)
	f := &forming{cluster: c, decided: make(chan *member.Decision, 1), stopped: make(chan struct{})}
	if err := f.open(id, exists); err != nil {
		return err
	}
	if exists {
		c.id.Store(&id.ClusterID)
	}
	c.directory = f.bootstrap.Self().DirectoryID
	c.agent, err = member.Start(member.Config{
		Info: c.info(exists), Dir: dir, Files: n.seams.fs, Listen: cfg.GossipListen, Advertise: cfg.GossipAdvertise,
		Seeds: cfg.Seeds, Key: cfg.GossipKey, Log: slog.Default(),
	})
	if err != nil {
		return gossipError(cfg.GossipListen, err)
	}
	c.forming.Store(f)
	go f.run()
	return nil
}

// gossipError is the error of a start whose gossip address cannot be had.
func gossipError(address string, err error) error {
	e := &StartError{Path: "ringmill.gossip.listen: " + address, Problem: err.Error(), Cure: "see docs/cluster.md, Starting one"}
	if errors.Is(err, member.ErrPortInUse) {
		e.Problem, e.Cure = member.ErrPortInUse.Error(), "stop what listens there, or choose another address with --set ringmill.gossip.listen=HOST:PORT"
	}
	return e
}

// info is what the node tells the others of itself.
func (c *cluster) info(bootstrapped bool) member.Info {
	cfg := c.node.Config()
	return member.Info{
		NodeID: cfg.NodeID, DirectoryID: c.directory, ClusterID: c.clusterID(), Addr: c.address(), Rack: cfg.BrokerRack, Version: Version(),
		Expect: cfg.BootstrapExpect, Bootstrapped: bootstrapped,
	}
}

func (f *forming) open(id quorum.Identity, exists bool) error {
	c := f.cluster
	cfg := member.BootstrapConfig{
		Self: member.Voter{NodeID: c.node.Config().NodeID, DirectoryID: id.DirectoryID, Addr: c.address()}, Expect: c.node.Config().BootstrapExpect,
		HasQuorum: exists, Rand: newRandom(), Initial: initialImage,
	}
	saved, err := c.node.seams.fs.ReadFile(f.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return startError(f.file(), err)
	}
	if before, err := member.ReadSelf(saved); exists && err == nil { // what cannot be read is told of below
		if err := c.checkTwin(before); err != nil {
			return err
		}
	}
	b, fx, err := member.OpenBootstrap(c.now(), cfg, saved)
	switch {
	case errors.Is(err, member.ErrNewer):
		return &StartError{Path: f.file(), Problem: err.Error(), Cure: "start the release that wrote it, or a newer one"}
	case err != nil && exists:
		return &StartError{Path: f.file(), Problem: err.Error(), Cure: "the node belongs to a cluster already: remove the file once ringmill cluster status shows all the nodes that began it"}
	case err != nil:
		return &StartError{Path: f.file(), Problem: err.Error(), Cure: "see docs/cluster.md, Files"}
	}
	f.bootstrap = b
	if err := f.do(fx); err != nil {
		return startError(f.file(), err)
	}
	return nil
}

func (f *forming) file() string {
	return filepath.Join(f.cluster.node.Config().DataDir, "state", bootstrapName)
}

// now is the agreement's clock.
func (c *cluster) now() time.Duration { return time.Since(c.node.started) }

// initialImage is what a new cluster's metadata begins with.
func initialImage(clusterID string, _ []member.Voter) []byte {
	m, err := new(image.Image).With(image.ClusterRecord{ClusterID: clusterID, NodeID: wire.NoNode})
	if err != nil {
		panic("BUG: the first metadata does not fit: " + err.Error())
	}
	return m.AppendSnapshot(nil)
}

// run is the goroutine; it ends when the node stops.
func (f *forming) run() {
	defer close(f.stopped)
	ticker := time.NewTicker(formingTick)
	defer ticker.Stop()
	c := f.cluster
	for {
		select {
		case <-ticker.C:
			f.step(func(b *member.Bootstrap) member.Effects { return b.Tick(c.now()) })
		case <-c.agent.Changed():
			f.step(func(b *member.Bootstrap) member.Effects { return b.Members(c.now(), c.agent.Members()) })
		case <-c.node.quit:
			return
		}
	}
}

// step lets the agreement go on. What cannot be saved must not be told to anybody: that ends the node.
func (f *forming) step(event func(b *member.Bootstrap) member.Effects) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.do(event(f.bootstrap)); err != nil {
		f.cluster.node.fatal(&storageError{"save", f.file(), err})
	}
}

// do does what the agreement asks for; mu is held, or nobody else has it yet.
func (f *forming) do(fx member.Effects) error {
	if fx.Save != nil {
		if err := f.cluster.node.seams.fs.WriteFileAtomic(f.file(), fx.Save); err != nil {
			return err
		}
		f.cluster.node.made = nil // a start that fails leaves what others may go by
	}
	for _, s := range fx.Send {
		go f.send(s)
	}
	if fx.Decision != nil {
		f.decided <- fx.Decision
	}
	if fx.Notice != "" {
		slog.Info("this node " + fx.Notice)
	}
	return nil
}

// send asks another node, and hands in its answer.
func (f *forming) send(s member.Send) {
	c := f.cluster
	body := appendBytes(appendBytes(nil, c.clusterID()), s.Request.AppendTo(nil))
	answer, err := c.peers.callRaw(s.To.Addr, wire.RequestHeader{Key: wire.KeyBootstrap}, body, formingTimeout)
	if err != nil {
		return // it is asked again
	}
	r := peerReader{src: answer}
	var refusal peerRefusal
	refusal.read(&r)
	message := r.bytes()
	if refusal.code != wire.None || r.bad {
		c.node.log.throttled("a node does not take part in beginning a cluster", "node", int(s.To.NodeID), "address", s.To.Addr, "why", refusal.message)
		return
	}
	a, err := member.ReadAnswer(message)
	if err != nil {
		c.node.log.throttled("answer of a node cannot be read", "address", s.To.Addr, "error", err)
		return
	}
	f.step(func(b *member.Bootstrap) member.Effects { return b.Answer(c.now(), s.To, s.Request, a) })
}

// bootstrapAsked answers another node's question about the beginning of a cluster.
func (c *cluster) bootstrapAsked(body []byte) (peerRefusal, []byte) {
	r := peerReader{src: body}
	r.text()
	req, err := member.ReadRequest(r.bytes())
	f := c.forming.Load()
	switch {
	case err != nil || r.bad:
		return peerRefusal{wire.InvalidRequest, "malformed"}, nil
	case f == nil:
		return peerRefusal{wire.InvalidRequest, "the node is only starting"}, nil
	}
	var a member.Answer
	f.step(func(b *member.Bootstrap) (fx member.Effects) {
		a, fx = b.Request(c.now(), req)
		return fx
	})
	if c.node.hasFailed() {
		return peerRefusal{wire.KafkaStorageError, "the node stops"}, nil
	}
	return peerRefusal{}, a.AppendTo(nil)
}

// enter waits until the agreement has come to something, and makes the node a member of the cluster. It ends early with errInterrupted.
func (c *cluster) enter() error {
	f := c.forming.Load()
	for {
		select {
		case d := <-f.decided:
			done, err := c.take(f, d)
			if done || err != nil {
				return err
			}
		case <-c.node.interrupt:
			return errInterrupted
		case <-c.node.failed:
			return c.node.failure
		}
	}
}

// errInterrupted ends a start that an operator has ended.
var errInterrupted = errors.New("node: interrupted while it waited for other nodes")

// take makes the quorum directory that a decision asks for; false if the cluster did not take the node yet.
func (c *cluster) take(f *forming, d *member.Decision) (bool, error) {
	self, n := f.bootstrap.Self(), c.node
	id := quorum.Identity{NodeID: self.NodeID, DirectoryID: self.DirectoryID, ClusterID: d.ClusterID}
	if d.Join {
		joined, err := c.join(d.ClusterID)
		if err != nil {
			return false, &StartError{Path: "cluster " + d.ClusterID, Problem: err.Error(), Cure: "nothing was changed here; start again when that is mended"}
		}
		if !joined {
			f.mu.Lock()
			f.bootstrap.JoinFailed()
			f.mu.Unlock()
			return false, nil
		}
	}
	n.made = nil
	var voters []quorum.Member
	for _, v := range d.Voters {
		m, err := c.voter(v)
		if err != nil {
			return false, err
		}
		voters = append(voters, m)
	}
	if err := quorum.Create(n.seams.fs, n.quorumDir(), id, voters, d.Initial); err != nil {
		return false, startError(n.quorumDir(), err)
	}
	f.mu.Lock()
	f.bootstrap.Joined()
	f.mu.Unlock()
	slog.Info("this node belongs to a cluster", "cluster", d.ClusterID, "node", int(self.NodeID), "voters", len(voters), "learner", d.Join)
	return true, nil
}

// voter is one of the first voters as the quorum knows it.
func (c *cluster) voter(v member.Voter) (quorum.Member, error) {
	host, port, err := splitHostPort(v.Addr)
	if err != nil {
		return quorum.Member{}, err
	}
	return quorum.Member{
		ReplicaKey: quorum.ReplicaKey{NodeID: v.NodeID, DirectoryID: v.DirectoryID}, Voter: true,
		Endpoints: []quorum.Endpoint{{Listener: c.node.interBroker().name, Host: host, Port: port}},
	}, nil
}

func splitHostPort(addr string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return host, uint16(n), err
}

// join asks the members of a cluster that gossip tells of, one after the other; false if none could answer now.
func (c *cluster) join(id string) (bool, error) {
	for _, m := range c.agent.Members() {
		if m.ClusterID != id || m.NodeID == c.node.Config().NodeID {
			continue
		}
		got, retry, err := c.askToJoin(m.Addr)
		switch {
		case err == nil && got == id:
			return true, nil
		case err == nil:
			return false, errors.New("the node at " + m.Addr + " belongs to cluster " + got)
		case !retry:
			return false, err
		}
		c.node.log.throttled("a node cannot take this one into the cluster now", "address", m.Addr, "error", err)
	}
	return false, nil
}
