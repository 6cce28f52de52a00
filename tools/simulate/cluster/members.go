package cluster

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// MemberOptions say what happens to the quorum's members, to disks as a whole, and to links. They have a stream of their own.
type MemberOptions struct {
	VoterChanges bool          `json:"voterChanges"` // an administrator takes voters out of the quorum and back in
	Wipe         FaultKind     `json:"wipe"`         // WipedLogs or WipedDisk: what one node loses, once in the run; 0: nothing
	WipeAt       time.Duration `json:"wipeAt"`       //
	SlowLinks    time.Duration `json:"slowLinks"`    // mean time between slow links; 0: none
}

// slowLinkBy is what a message takes on a slow link: longer than a client is patient, and longer than a change of leaders.
const slowLinkBy = 900 * time.Millisecond

// drawMembers draws them. A disk is lost only where nothing that was acknowledged is on that disk alone: under commit, with two replicas in
// sync at least; and where the other voters are there, so not beside changes of the voters.
func drawMembers(r *rand.Rand, o *Options) (m MemberOptions) {
	m.VoterChanges = r.IntN(3) == 0
	m.SlowLinks = world.Pick(r, 0, 0, 500*time.Millisecond, 2*time.Second)
	wipe := world.Pick(r, 0, WipedLogs, WipedDisk)
	m.WipeAt = world.Between(r, time.Second, o.Safety)
	if o.FlushPolicy == "commit" && o.MinISR >= 2 && (!m.VoterChanges || wipe == WipedLogs) {
		m.Wipe = wipe
	}
	return m
}

// allFaults are those of all streams, in the order of time.
func allFaults(w *world.World, o Options) []Fault {
	all := DrawFaults(w.Faults, o)
	all = append(all, drawAimedFaults(w.Aimed, o)...)
	all = append(all, drawCoordinationFaults(w.Coordination, o)...)
	all = append(all, drawLossFaults(w.Losses, o)...)
	r := w.Members
	if o.Members.Wipe != 0 && !o.Aimed.Join {
		all = append(all, Fault{
			At: o.Members.WipeAt, Kind: o.Members.Wipe, Target: Target(r.IntN(targets)), Node: r.IntN(o.Partitions), Peer: 1,
			Length: world.Between(r, 10*time.Millisecond, o.Faults.Length),
		})
	}
	for at := o.Members.SlowLinks; at > 0 && at < o.Safety; at += time.Duration(r.ExpFloat64() * float64(o.Members.SlowLinks)) {
		all = append(all, Fault{
			At: at, Kind: SlowLink, Target: Target(r.IntN(targets)), Node: r.IntN(o.Partitions), Peer: 1 + r.IntN(o.Nodes-1),
			Length: world.Between(r, 200*time.Millisecond, 2*time.Second),
		})
	}
	slices.SortStableFunc(all, func(a, b Fault) int { return int(a.At - b.At) })
	return all
}

// wipe ends the node, and brings it back with an empty log directory, or with nothing at all, under the same id.
func (n *Node) wipe(kind FaultKind, length time.Duration) {
	c := n.cluster
	if !c.mayLose(n) {
		c.world.Tracef("%s keeps its disk: a partition has nobody else who may lead", n.process.Name())
		return
	}
	n.endBy(Kill, length)
	n.clean = false
	n.renewCatalogs(len(n.catalogs))
	clear(n.lastEnds)
	for i := range n.outSince {
		n.outSince[i] = math.MaxUint64
	}
	var err error
	if kind == WipedDisk {
		n.directory, n.learner = wire.UUID{0: 0xd1, 1: byte(n.wipes), 7: byte(n.id), 15: byte(n.id)}, true
		n.fs = segmenttest.New(c.world.Disk.Uint64())
		err = errors.Join(n.fs.MkdirAll("/state", 0o755), n.fs.MkdirAll(logsDir, 0o755), n.fs.SyncDir("/"),
			quorum.Create(n.fs, quorumDir, n.identity(), nil, nil))
	} else {
		err = errors.Join(n.fs.RemoveAll(logsDir), n.fs.MkdirAll(logsDir, 0o755), n.fs.SyncDir("/"))
	}
	if err != nil {
		panic(err)
	}
}

// mayLose says whether each partition has somebody beside a node who has all that is committed. With two in sync to take records at least,
// and those who leave a smaller in-sync set eligible, that stays so; but a topic may be made while only one node is in service.
func (c *Cluster) mayLose(n *Node) bool {
	for _, s := range c.newestStates {
		others := func(id wire.NodeID) bool { return id != n.id }
		if s == nil || !slices.ContainsFunc(s.ISR, others) && !slices.ContainsFunc(s.ELR, others) {
			return false
		}
	}
	return true
}

// counts says whether a node has to have what its being in sync in an image promises: not while it is there by what it had on a disk that
// is lost.
func (n *Node) counts(index int, m *image.Image) bool {
	out := n.outSince[index]
	if out == math.MaxUint64 {
		b := m.Broker(n.id)
		_, s := n.cluster.stateOf(m, index)
		if b == nil || !slices.Contains(b.LogDirs, n.catalogs[n.cluster.directoryOf(index)]) || s == nil || slices.Contains(s.ISR, n.id) {
			return false
		}
		n.outSince[index] = m.Version()
		return false
	}
	return out == 0 || m.Version() > out
}

// noteWiped notes which nodes that have lost their disks an image has out of its in-sync sets.
func (c *Cluster) noteWiped(m *image.Image) {
	for _, n := range c.nodes {
		for i := range n.outSince {
			n.counts(i, m)
		}
	}
}

const (
	joinEvery    = 100 * time.Millisecond // a node asks to be taken in
	membersEvery = 300 * time.Millisecond // an administrator looks at the voters
)

// join asks to be taken into the quorum until its log has come (node/join.go).
func (n *Node) join() {
	if n.quorum.applied > 0 {
		return
	}
	c := n.cluster
	to := c.nodes[c.world.Members.IntN(len(c.nodes))]
	me := quorum.Member{ReplicaKey: quorum.ReplicaKey{NodeID: n.id, DirectoryID: n.directory}}
	c.ask(n.process, to, "join", controllerPatience, func(reply func(func())) {
		to.admit(me)
		reply(func() {})
	}, func() {})
}

// admit makes a node a learner, if this one is the controller and does not know it as alive under another directory. What it was before, with
// a disk that is lost, goes, unless it voted.
func (n *Node) admit(member quorum.Member) {
	if !n.control.leading {
		return
	}
	if b := n.image.Broker(member.NodeID); b != nil && b.DirectoryID != member.DirectoryID && !b.Fenced {
		return
	}
	for _, m := range n.quorum.quorum.Members() {
		switch {
		case m.DirectoryID == member.DirectoryID:
			return
		case m.NodeID == member.NodeID && !m.Voter:
			n.change("remove", m.ReplicaKey, (*quorum.Quorum).Remove)
			return
		}
	}
	n.change("add", member.ReplicaKey, func(q *quorum.Quorum, number uint64, _ quorum.ReplicaKey) error { return q.AddLearner(number, member) })
}

// change proposes a change of the quorum's members. One that cannot be made now is asked for again.
func (n *Node) change(what string, key quorum.ReplicaKey, propose func(*quorum.Quorum, uint64, quorum.ReplicaKey) error) {
	s := n.control
	s.next++
	err := propose(n.quorum.quorum, s.next, key)
	n.cluster.world.Tracef("%s: %s member %v: %v", n.process.Name(), what, key, err)
	n.process.After(0, func() { n.quorum.run(func() {}) })
}

// startMembers starts the administrator who changes the quorum's voters, if there is anything for one to do.
func (c *Cluster) startMembers() {
	if !c.opt.Members.VoterChanges && c.opt.Members.Wipe != WipedDisk {
		return
	}
	p := c.world.NewProcess("administrator of voters", c.clientPlace())
	p.Start()
	p.Every(membersEvery, membersEvery, func() {
		node := c.nodes[c.world.Members.IntN(len(c.nodes))]
		c.ask(p, node, "voters", clientPatience, func(reply func(func())) {
			if node.control.leading && !node.mendVoters() && c.opt.Members.VoterChanges && !c.calm {
				node.changeVoters()
			}
			reply(func() {})
		}, func() {})
	})
}

// mendVoters does the next thing towards a quorum without the directories of disks that are lost; false if there is none.
func (n *Node) mendVoters() bool {
	c := n.cluster
	for _, m := range n.quorum.quorum.Members() {
		gone := c.node(m.NodeID).directory != m.DirectoryID
		switch {
		case gone && m.Voter:
			n.change("remove voter", m.ReplicaKey, (*quorum.Quorum).RemoveVoter)
		case gone:
			n.change("remove", m.ReplicaKey, (*quorum.Quorum).Remove)
		case !m.Voter && c.node(m.NodeID).learner:
			n.change("add voter", m.ReplicaKey, (*quorum.Quorum).AddVoter)
		default:
			continue
		}
		return true
	}
	return false
}

// changeVoters takes a voter out, or in; two stay at least.
func (n *Node) changeVoters() {
	r := n.cluster.world.Members
	members := n.quorum.quorum.Members()
	voters := 0
	for _, m := range members {
		if m.Voter {
			voters++
		}
	}
	m := members[r.IntN(len(members))]
	switch {
	case !m.Voter:
		n.change("add voter", m.ReplicaKey, (*quorum.Quorum).AddVoter)
	case voters > 2 && m.NodeID != n.id:
		n.change("remove voter", m.ReplicaKey, (*quorum.Quorum).RemoveVoter)
	}
}

// membersLack says what the quorum's members lack in a healed cluster; "" if nothing.
func (c *Cluster) membersLack(leader *Node) string {
	if c.opt.Members.Wipe != WipedDisk {
		return ""
	}
	for _, m := range leader.quorum.quorum.Members() {
		if n := c.node(m.NodeID); n.directory != m.DirectoryID || n.learner && !m.Voter {
			return fmt.Sprintf("the quorum has %v as a member, voter %t", m.ReplicaKey, m.Voter)
		}
	}
	return ""
}
