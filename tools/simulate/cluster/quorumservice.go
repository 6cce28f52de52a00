package cluster

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
)

const (
	quorumDir = "/state/quorum"
	clusterID = "simulated-cluster-00000"
	// compactAfter is after how many applied entries a node makes a snapshot: few, so that followers are behind it now and then.
	compactAfter = 40
)

// quorumService does what a node does around the quorum: ticks, messages, and what is committed into the image.
type quorumService struct {
	node      *Node
	quorum    *quorum.Quorum
	busy      bool     // its disk is syncing: what comes meanwhile waits
	waiting   []func() // in order
	leader    uint64   // raft id of who leads, as far as is known; 0: nobody
	applied   uint64   // index of the newest entry in the node's image
	compacted uint64
}

// format makes the quorum's directories of all nodes, as the bootstrap agreement has them made.
func (c *Cluster) format() {
	var voters []quorum.Member
	for _, n := range c.nodes {
		voters = append(voters, quorum.Member{ReplicaKey: quorum.ReplicaKey{NodeID: n.id, DirectoryID: n.directory}, Voter: true})
	}
	first, err := new(image.Image).With(image.ClusterRecord{ClusterID: clusterID, NodeID: firstNode})
	if err != nil {
		panic(err)
	}
	for _, n := range c.nodes {
		err := errors.Join(n.fs.MkdirAll("/state", 0o755), n.fs.MkdirAll(logsDir, 0o755))
		if err == nil {
			err = n.fs.SyncDir("/")
		}
		if err == nil {
			err = quorum.Create(n.fs, quorumDir, n.identity(), voters, first.AppendSnapshot(nil))
		}
		if err != nil {
			panic(err)
		}
	}
}

func (n *Node) identity() quorum.Identity {
	return quorum.Identity{NodeID: n.id, DirectoryID: n.directory, ClusterID: clusterID}
}

func (n *Node) raftID() uint64 { return quorum.RaftID(n.directory) }

// startQuorum opens the quorum's directory. What a fault has left must be good enough for that.
func (n *Node) startQuorum() {
	c := n.cluster
	n.image = new(image.Image)
	n.quorum = &quorumService{node: n}
	q, err := quorum.Open(n.fs, quorumDir, quorum.Config{
		Rand: rand.New(rand.NewPCG(c.world.Protocol.Uint64(), 0)), ElectionTicks: c.opt.Quorum.ElectionTicks,
		SegmentBytes: c.opt.Quorum.SegmentBytes, CacheBytes: c.opt.Quorum.CacheBytes, TrailingEntries: c.opt.Quorum.TrailingEntries,
		Warn: func(line string) { c.world.Tracef("%s: quorum: %s", n.process.Name(), line) },
	})
	if err != nil {
		n.failed(fmt.Errorf("open the quorum: %w", err))
		return
	}
	n.quorum.quorum = q
	n.quorum.follow()
	n.every(c.opt.Quorum.Tick, func() { n.quorum.run(q.Tick) })
	if n.learner {
		n.every(joinEvery, n.join)
	}
}

// run does one thing with the quorum and what follows from it; later, if its disk is busy.
func (s *quorumService) run(step func()) {
	if s.busy {
		s.waiting = append(s.waiting, step)
		return
	}
	step()
	s.follow()
}

// propose is for the controller, which needs to know at once whether the quorum takes it.
func (s *quorumService) propose(id uint64, data []byte) error {
	err := s.quorum.Propose(id, data)
	s.node.process.After(0, func() { s.run(func() {}) })
	return err
}

// confirm is for the controller as well.
func (s *quorumService) confirm(id uint64) error {
	err := s.quorum.Confirm(id)
	s.node.process.After(0, func() { s.run(func() {}) })
	return err
}

// follow does what the quorum asks for, until it asks for nothing. Ready has synced what must be when it answers, which takes its time:
// its effects come after that.
func (s *quorumService) follow() {
	n := s.node
	for n.process.Running() && s.quorum.HasReady() {
		operations := n.fs.Ops()
		effects, err := s.quorum.Ready()
		if err != nil {
			n.failed(fmt.Errorf("the quorum: %w", err))
			return
		}
		base := s.quorum.Status().SnapshotIndex
		if n.fs.Ops() > operations {
			s.busy = true
			n.process.After(n.syncTime(), func() { s.resume(base, effects) })
			return
		}
		s.effects(base, effects)
	}
}

// resume goes on after the disk's sync, with what came meanwhile.
func (s *quorumService) resume(base uint64, e quorum.Effects) {
	s.busy = false
	s.effects(base, e)
	if s.node.process.Running() {
		s.follow()
	}
	waiting := s.waiting
	s.waiting = nil
	for _, step := range waiting {
		if s.node.process.Running() {
			s.run(step)
		}
	}
}

// effects does what a Ready says; base is the index of the snapshot, if it has one.
func (s *quorumService) effects(base uint64, e quorum.Effects) {
	n, c := s.node, s.node.cluster
	if e.Snapshot != nil {
		s.install(base, e.Snapshot)
	}
	for _, entry := range e.Applied {
		s.apply(entry)
	}
	s.pass(e.AppliedIndex)
	for _, m := range e.Messages {
		c.carry(n, m)
	}
	s.leader = e.Leader
	if e.IsLeader && c.quorum.lead(n.id, e.Term) {
		c.stats.elections++
		c.world.Tracef("%s leads the quorum in term %d", n.process.Name(), e.Term)
	}
	n.control.lead(e.LeaderReady, e.Term)
	n.control.confirmed(e.Confirmed)
	if len(e.Applied) > 0 || e.Snapshot != nil {
		n.applyImage()
	}
	if n.process.Running() && (e.WantSnapshot || s.applied >= s.compacted+compactAfter) {
		s.compact()
	}
}

// carry sends a message of the quorum's.
func (c *Cluster) carry(from *Node, m quorum.Message) {
	for _, to := range c.nodes {
		if to.raftID() == m.To {
			c.network.Send(from.process, to.process, "quorum message", func() {
				to.quorum.run(func() { to.quorum.step(m) })
			})
		}
	}
}

// step takes a message. One that is refused changed nothing.
func (s *quorumService) step(m quorum.Message) {
	err := s.quorum.Step(m)
	if err != nil && !errors.Is(err, quorum.ErrMessage) {
		s.node.failed(fmt.Errorf("the quorum: %w", err))
	}
}

// install puts a snapshot in the place of the image; base is its index.
func (s *quorumService) install(base uint64, snapshot []byte) {
	m, err := image.ReadSnapshot(snapshot)
	if err != nil {
		s.node.cluster.world.Fail("R3", "%s cannot read a snapshot: %v", s.node.process.Name(), err)
		return
	}
	s.node.image = m
	s.applied, s.compacted = base, base
	s.noteImage()
}

// apply puts a committed entry into the image.
func (s *quorumService) apply(e quorum.Entry) {
	n, ledger := s.node, s.node.cluster.quorum
	s.pass(e.Index - 1)
	ledger.apply(n.process.Name(), e)
	s.applied = e.Index
	if e.Change != nil {
		return
	}
	base, records, err := image.ReadRecords(e.Data)
	if err == nil && base != n.image.Version() {
		err = fmt.Errorf("it is for version %d, the image has %d", base, n.image.Version())
	}
	if err == nil {
		n.image, err = n.image.With(records...)
	}
	if err != nil {
		n.cluster.world.Fail("R3", "%s cannot apply %s: %v", n.process.Name(), entryName(e), err)
		return
	}
	s.noteImage()
	n.cluster.checkImage(n.image)
	n.control.applied(proposalKey{e.Origin, e.Proposal})
}

// noteImage shows the image to the ledger.
func (s *quorumService) noteImage() {
	h := fnv.New64a()
	h.Write(s.node.image.AppendSnapshot(nil))
	s.node.cluster.quorum.imageAfter(s.node.process.Name(), s.applied, h.Sum64())
}

// pass goes on to an index behind entries that hold nothing for the image.
func (s *quorumService) pass(index uint64) {
	s.node.cluster.quorum.skipped(s.node.process.Name(), s.applied, index+1)
	s.applied = max(s.applied, index)
}

// compact makes a snapshot.
func (s *quorumService) compact() {
	if s.applied == s.compacted {
		return
	}
	s.compacted = s.applied
	if err := s.quorum.Compact(s.applied, s.node.image.AppendSnapshot(nil)); err != nil {
		s.node.failed(fmt.Errorf("compact the quorum: %w", err))
	}
}

func (s *quorumService) close() {
	if s.busy {
		return // it dies in the middle of a sync
	}
	if err := s.quorum.Close(); err != nil {
		s.node.failed(fmt.Errorf("close the quorum: %w", err))
	}
}
