package node

import (
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// quorumService runs this node's member of the metadata quorum: one goroutine owns it, the newest Image that it leads to, and the
// controller while this node has it. What comes in waits in an inbox; after each batch of it everything that has to be durable
// is made so, once, then messages go out, entries are applied and requests are answered.
type quorumService struct {
	node    *Node
	cluster *cluster
	inbox   serviceInbox
	q       *quorum.Quorum
	// ticked is when the quorum last was told that time passes.
	ticked time.Time
	// image is what all entries applied so far lead to; nil before the first.
	image      *image.Image
	controller controllerService
	// view is what other goroutines see of the quorum.
	view atomic.Pointer[quorumView]
	// learned are members' addresses, by raft id, as their own messages say them: newer than what the quorum's log says.
	learned map[uint64]string
	// gone are the members whose processes are known to be gone, by raft id, until something is heard of them.
	gone map[uint64]bool
	// queued counts messages of others in the inbox.
	queued atomic.Int64
	// hastened counts how often the quorum was told to elect soon; hastenAt is when it is next.
	hastened int
	hastenAt time.Time
	// snapshotting says that a snapshot is being made.
	snapshotting bool
}

// quorumView is who leads.
type quorumView struct {
	term uint64
	// controller is the leader, NoNode if none is known; address is where it is reached.
	controller wire.NodeID
	address    string
	// here says that this node is the controller, and has caught up with its own log.
	here bool
}

const (
	// quorumTick is the unit of the quorum's timers.
	quorumTick = 100 * time.Millisecond
	// quorumQueueMax bounds the messages of others that wait: each of the other members has at most some hundred on the way.
	quorumQueueMax = 4096
)

// openQuorum opens the quorum's directory and starts the goroutine.
func (c *cluster) openQuorum() error {
	cfg := quorumConfig(c.node)
	q, err := quorum.Open(c.node.seams.fs, c.node.quorumDir(), cfg)
	if err != nil {
		return quorumError(c.node.quorumDir(), err)
	}
	id := q.Identity()
	c.directory = id.DirectoryID
	c.id.Store(&id.ClusterID)
	s := &quorumService{node: c.node, cluster: c, inbox: newServiceInbox(), q: q, ticked: time.Now(), learned: make(map[uint64]string), gone: make(map[uint64]bool)}
	s.controller.init(s)
	s.view.Store(&quorumView{controller: wire.NoNode})
	c.quorum, c.follower = s, newFollower(c.node)
	go s.run()
	c.member.Store(true)
	return nil
}

// quorumConfig turns Kafka's timeouts into ticks.
func quorumConfig(n *Node) quorum.Config {
	cfg := n.Config()
	return quorum.Config{
		Rand:          newRandom(),
		ElectionTicks: max(3, int(cfg.QuorumFetchTimeoutMS/quorumTick.Milliseconds())),
		NoRoom:        noRoom,
		Warn:          func(line string) { n.log.throttled("metadata quorum: " + line) },
	}
}

// newRandom gives a source of its own, seeded by the operating system's.
func newRandom() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// quorumError says what an operator can do about a quorum directory that cannot be opened.
func quorumError(dir string, err error) error {
	var damaged *quorum.CorruptionError
	switch {
	case errors.Is(err, quorum.ErrNewerFormat):
		return &StartError{Path: dir, Problem: err.Error(), Cure: "start the release that wrote it, or a newer one"}
	case errors.As(err, &damaged):
		return &StartError{Path: dir, Problem: err.Error(), Cure: "move the data directory away, and the node comes back as a new member: see docs/cluster.md, What happens when"}
	}
	return startError(dir, err)
}

func (s *quorumService) run() {
	s.inbox.run(s.node.quit, s.turn)
	s.controller.end()
	if err := s.q.Close(); err != nil {
		slog.Error("metadata quorum cannot be closed", "error", err)
	}
}

// turn passes the time, then does what there is to do, and says when time is due again.
func (s *quorumService) turn() time.Duration {
	s.passTime()
	s.controller.tick()
	s.controller.propose()
	s.controller.ask()
	for s.q.HasReady() {
		fx, err := s.q.Ready()
		if errors.Is(err, quorum.ErrFull) {
			s.full(err)
			return fullPause
		}
		if err != nil {
			s.node.fatal(err)
			return time.Hour
		}
		if err := s.take(fx); err != nil {
			s.node.fatal(err)
			return time.Hour
		}
		s.controller.propose()
	}
	return max(time.Millisecond, quorumTick-time.Since(s.ticked))
}

// fullPause is how long a member waits before it looks again whether its disk has room.
const fullPause = 200 * time.Millisecond

// full takes this node out of the quorum until its disk has room: it can promise nothing, and the others elect another controller if it
// was that. It goes on by itself. The controller keeps what it has proposed: that is committed later, or the reign is over then.
func (s *quorumService) full(err error) {
	s.node.log.throttled("the disk of the metadata quorum is full: this node takes no part in it", "error", err)
	if v := *s.view.Load(); v.controller != wire.NoNode {
		s.view.Store(&quorumView{term: v.term, controller: wire.NoNode})
	}
}

// passTime tells the quorum of the ticks that are due. After a pause of the whole process they are two at most: what came in
// meanwhile has been taken before, and nobody is to stand for election because this node was not looking.
func (s *quorumService) passTime() {
	due := int(time.Since(s.ticked) / quorumTick)
	if due == 0 {
		return
	}
	s.ticked = s.ticked.Add(time.Duration(due) * quorumTick)
	s.hasten()
	for range min(due, 2) {
		s.q.Tick()
	}
}

const (
	// hastenEvery leaves room for one turn of each of five voters, hastenMax for nodes that start together and not at the same time.
	hastenEvery = time.Second
	hastenMax   = 3
)

// hasten has a node that has started, and hears of no leader, not wait as long for one as a node that has lost one.
func (s *quorumService) hasten() {
	switch now := time.Now(); {
	case s.view.Load().controller != wire.NoNode:
		s.hastened = hastenMax
	case s.hastened < hastenMax && !now.Before(s.hastenAt):
		s.hastened, s.hastenAt = s.hastened+1, now.Add(hastenEvery)
		s.q.Hasten()
	}
}

// take does what the quorum asks for.
func (s *quorumService) take(fx quorum.Effects) error {
	if fx.Snapshot != nil {
		m, err := image.ReadSnapshot(fx.Snapshot)
		if err != nil {
			return err
		}
		s.image = m
	}
	for i := range fx.Messages {
		s.send(&fx.Messages[i])
	}
	for i := range fx.Applied {
		if err := s.apply(&fx.Applied[i]); err != nil {
			return err
		}
	}
	if s.image != nil { // before anybody is told that this node is the controller: see ready
		s.cluster.follower.publish(s.image)
	}
	s.lead(fx)
	s.controller.applied()
	s.controller.affirmed(fx.Confirmed)
	if fx.WantSnapshot {
		s.snapshot(fx.AppliedIndex)
	}
	return nil
}

// apply takes a committed entry into the Image. Every node applies the same entries to the same Image: one that does not fit is a
// fault of ringmill's, and going on would be to go apart.
func (s *quorumService) apply(e *quorum.Entry) error {
	if e.Change != nil {
		s.controller.changed(e)
		return nil
	}
	if m := s.controller.own(e); m != nil {
		s.image = m
		return nil
	}
	_, records, err := image.ReadRecords(e.Data)
	if err != nil {
		return err
	}
	m, err := s.image.With(records...)
	if err != nil {
		return err
	}
	s.image = m
	return nil
}

// lead tells other goroutines who leads, and the controller whether that is this node.
func (s *quorumService) lead(fx quorum.Effects) {
	v := quorumView{term: fx.Term, controller: wire.NoNode}
	if m, known := s.q.Member(fx.Leader); known && fx.Leader != 0 {
		v.controller, v.address = m.NodeID, s.addressOf(fx.Leader)
	}
	v.here = fx.LeaderReady
	if old := s.view.Load(); *old != v {
		if old.controller != v.controller || old.term != v.term {
			slog.Info("metadata quorum", "term", v.term, "controller", int(v.controller), "at", v.address)
		}
		s.view.Store(&v)
	}
	s.controller.follow(fx)
}

// addressOf is where a member is reached, "" if nobody has said so yet.
func (s *quorumService) addressOf(id uint64) string {
	if addr := s.learned[id]; addr != "" {
		return addr
	}
	if m, known := s.q.Member(id); known && len(m.Endpoints) > 0 {
		return net.JoinHostPort(m.Endpoints[0].Host, strconv.Itoa(int(m.Endpoints[0].Port)))
	}
	return ""
}

func (s *quorumService) send(m *quorum.Message) {
	addr := s.addressOf(m.To)
	body := quorumMessage{
		cluster: s.cluster.clusterID(), sender: s.node.Config().NodeID, address: s.cluster.address(), from: m.From, to: m.To, data: m.Data,
	}
	if addr != "" && s.cluster.peers.send(addr, wire.RequestHeader{Key: wire.KeyQuorumMessage}, body.appendTo(nil)) {
		return
	}
	s.q.Unreachable(m.To)
	if m.Snapshot {
		s.q.SnapshotFailed(m.To)
	}
}

// received takes a message of another member; on any goroutine.
func (s *quorumService) received(m quorumMessage) {
	if s.queued.Add(1) > quorumQueueMax {
		s.queued.Add(-1)
		return // raft sends it again
	}
	s.inbox.put(func() {
		s.queued.Add(-1)
		err := s.q.Step(quorum.Message{To: m.to, From: m.from, Data: m.data})
		switch {
		case err == nil:
			s.learn(m.from, m.address)
			delete(s.gone, m.from)
		case errors.Is(err, quorum.ErrMessage):
			s.node.log.throttled("message of another node dropped", "node", int(m.sender), "address", m.address, "error", err)
		}
	})
}

// learnedMax bounds the addresses that are learned: far more than a quorum has members.
const learnedMax = 512

// learn notes where the sender of a message is reached. It may be nobody that this member knows: the leader of an election that its log
// lacks yet, which it has to answer. Whoever makes senders up has others forgotten that are no members.
func (s *quorumService) learn(id uint64, address string) {
	if len(s.learned) >= learnedMax {
		maps.DeleteFunc(s.learned, func(id uint64, _ string) bool {
			_, member := s.q.Member(id)
			return !member
		})
	}
	s.learned[id] = address
}

// lost takes the word of a node's host that its process is gone: a follower of it stands for election soon, and the controller fences it
// without waiting for the end of its session.
func (s *quorumService) lost(addr string) {
	for _, m := range s.q.Members() {
		id := m.RaftID()
		if id == s.q.RaftID() || s.addressOf(id) != addr {
			continue
		}
		slog.Warn("the process of a node is gone", "node", int(m.NodeID), "address", addr)
		s.gone[id] = true
		s.q.Suspect(id)
		s.controller.lost(m.NodeID)
	}
}

// snapshot has the quorum's log cut behind an image of all entries up to index, which is written down elsewhere: 100,000
// partitions take a tenth of a second.
func (s *quorumService) snapshot(index uint64) {
	if s.snapshotting || s.image == nil {
		return
	}
	s.snapshotting = true
	m := s.image
	go func() {
		data := m.AppendSnapshot(nil)
		s.inbox.put(func() {
			s.snapshotting = false
			if err := s.q.Compact(index, data); err != nil {
				s.node.log.throttled("metadata snapshot cannot be taken", "index", index, "bytes", len(data), "error", err)
			}
		})
	}()
}
