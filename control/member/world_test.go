package member

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// world is some nodes, their disks and a network between them, all of which the test rules.
type world struct {
	t     testing.TB
	now   time.Duration
	seed  uint64
	nodes []*node // by id; a replaced one stays, dead
	air   []packet
	log   func(format string, args ...any)
	// decisions are all that were ever made, or were on a disk as committed.
	decisions []Decision
}

// node is one node, up or down.
type node struct {
	id     int
	dir    byte // which of the directories of that id: a lost disk makes another
	expect int
	disk   []byte // the bootstrap state
	b      *Bootstrap
	run    int // counts starts: an answer to an earlier one is not taken
	dead   bool
	seen   []Info
	joins  string // cluster of a join that is under way
	begins bool   // decided to be a voter; the quorum directory is not there yet
	quorum string // cluster of its quorum directory
}

// packet is a request, or the answer to one, as bytes.
type packet struct {
	from, to *node
	run      int   // of the node that asked
	asked    Voter // whom it meant
	request  []byte
	answer   []byte // nil: a request
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{t: t, seed: seed, log: func(string, ...any) {}}
}

func (w *world) add(id, expect int) *node {
	n := &node{id: id, expect: expect}
	for _, other := range w.nodes {
		if other.id == id {
			n.dir = max(n.dir, other.dir+1)
		}
	}
	w.nodes = append(w.nodes, n)
	slices.SortStableFunc(w.nodes, func(a, b *node) int { return a.id - b.id })
	return n
}

// live finds the node of an id that is not dead.
func (w *world) live(id int) *node {
	for _, n := range w.nodes {
		if n.id == id && !n.dead {
			return n
		}
	}
	return nil
}

func (n *node) voter() Voter {
	return Voter{NodeID: wire.NodeID(n.id), DirectoryID: wire.UUID{byte(n.id + 1), n.dir + 1}, Addr: fmt.Sprintf("h%d:9092", n.id)}
}

// info is what the node gossips.
func (n *node) info() Info {
	v := n.voter()
	return Info{NodeID: v.NodeID, DirectoryID: v.DirectoryID, Addr: v.Addr, Expect: n.expect, ClusterID: n.quorum, Bootstrapped: n.quorum != ""}
}

func (n *node) up() bool { return n.b != nil }

// start opens the node's state. crash says whether it falls before it saved what it had to.
func (w *world) start(n *node, crash func() bool) {
	n.run++
	cfg := BootstrapConfig{
		Self: n.voter(), Expect: n.expect, HasQuorum: n.quorum != "",
		Rand:    rand.New(rand.NewPCG(w.seed, uint64(n.id)<<32|uint64(n.dir)<<16|uint64(n.run))),
		Initial: func(cluster string, voters []Voter) []byte { return fmt.Appendf(nil, "%s/%d", cluster, len(voters)) },
	}
	b, eff, err := OpenBootstrap(w.now, cfg, slices.Clone(n.disk))
	if err != nil {
		w.t.Fatalf("node %d: %v", n.id, err)
	}
	n.b = b
	w.run(n, eff, crash)
}

func (w *world) stop(n *node) { n.b, n.seen, n.joins, n.begins = nil, nil, "", false }

func never() bool { return false }

// run does what the effects say, in their order; false if the node crashed on the way.
func (w *world) run(n *node, eff Effects, crash func() bool) bool {
	if crash() {
		w.stop(n)
		return false
	}
	if eff.Save != nil {
		n.disk = eff.Save
		w.checkDisk(n)
	}
	if eff.Notice != "" {
		w.log("%d: %s", n.id, eff.Notice)
	}
	for _, s := range eff.Send {
		if crash() {
			w.stop(n)
			return false
		}
		w.log("%d: %s to %d", n.id, s.Kind, s.To.NodeID)
		if to := w.at(s.To); to != nil {
			w.air = append(w.air, packet{from: n, to: to, run: n.run, asked: s.To, request: s.Request.AppendTo(nil)})
		}
	}
	if d := eff.Decision; d != nil {
		w.decide(n, *d)
	}
	return true
}

// at finds who listens at a voter's address: the node of that id, whatever its directory.
func (w *world) at(v Voter) *node { return w.live(int(v.NodeID)) }

func (w *world) decide(n *node, d Decision) {
	if d.Join {
		w.log("%d: decides to join %s", n.id, d.ClusterID)
		n.joins = d.ClusterID
		return
	}
	w.log("%d: decides for %s with %s, %q", n.id, d.ClusterID, names(d.Voters), d.Initial)
	w.record(n, d)
	n.begins = true
}

// settle makes the quorum directory that a decision is about.
func (w *world) settle(n *node) {
	switch {
	case n.joins != "":
		w.checkJoin(n)
		n.quorum, n.joins = n.joins, ""
	case n.begins:
		s := w.state(n)
		n.quorum, n.begins = s.proposal.ClusterID, false
	default:
		return
	}
	n.b.Joined()
}

// deliver hands over a packet. Whoever is down hears nothing.
func (w *world) deliver(p packet, crash func() bool) {
	if !p.to.up() {
		return
	}
	r, err := ReadRequest(p.request)
	if err != nil {
		w.t.Fatal(err)
	}
	if p.answer == nil {
		a, eff := p.to.b.Request(w.now, r)
		w.log("%d: answers %d's %s with %s%s", p.to.id, p.from.id, r.Kind, a.Kind, strings.TrimSuffix(": "+a.Reason, ": "))
		if w.run(p.to, eff, crash) {
			w.air = append(w.air, packet{from: p.to, to: p.from, run: p.run, asked: p.asked, request: p.request, answer: a.AppendTo(nil)})
		}
		return
	}
	a, err := ReadAnswer(p.answer)
	if err != nil {
		w.t.Fatal(err)
	}
	if p.run == p.to.run {
		w.run(p.to, p.to.b.Answer(w.now, p.asked, r, a), crash)
	}
}

func (w *world) see(n *node, seen []Info, crash func() bool) {
	n.seen = seen
	w.run(n, n.b.Members(w.now, seen), crash)
}

func (w *world) state(n *node) state {
	s, err := readState(n.disk)
	if err != nil {
		w.t.Fatalf("seed %d: node %d: %v", w.seed, n.id, err)
	}
	return s
}

// checkDisk looks at what a node has just saved: at commits, and at what it had seen when it promised.
func (w *world) checkDisk(n *node) {
	s := w.state(n)
	switch s.phase {
	case committed:
		p := s.proposal
		w.record(n, Decision{ClusterID: p.ClusterID, Voters: p.Voters, Initial: p.Initial})
	case promised:
		last := s.proposal.Voters[len(s.proposal.Voters)-1].NodeID
		for _, m := range n.seen {
			isVoter := s.proposal.index(m.DirectoryID) >= 0
			if m.NodeID != s.self.NodeID && m.Expect == n.expect && !m.Bootstrapped && m.NodeID < last && !isVoter {
				w.t.Fatalf("seed %d: node %d promises %s, and sees node %d", w.seed, n.id, names(s.proposal.Voters), m.NodeID)
			}
		}
	}
}

// record holds a decision against all others: the same, or no voter in common.
func (w *world) record(n *node, d Decision) {
	p := Proposal{Voters: d.Voters}
	for _, old := range w.decisions {
		same := old.ClusterID == d.ClusterID && slices.Equal(old.Voters, d.Voters) && string(old.Initial) == string(d.Initial)
		if same {
			return
		}
		for _, v := range old.Voters {
			if p.index(v.DirectoryID) >= 0 || old.ClusterID == d.ClusterID {
				w.t.Fatalf("seed %d: node %d decides for %s with %s beside %s with %s", w.seed, n.id, d.ClusterID, names(d.Voters), old.ClusterID, names(old.Voters))
			}
		}
	}
	w.decisions = append(w.decisions, d)
}

// checkJoin: a first voter of one cluster is never a learner of another.
func (w *world) checkJoin(n *node) {
	for _, d := range w.decisions {
		p := Proposal{Voters: d.Voters}
		if p.has(n.voter()) {
			w.t.Fatalf("seed %d: node %d joins %s, and is a voter of %s", w.seed, n.id, n.joins, d.ClusterID)
		}
	}
}
