package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

const testDir = "state/quorum"

// testKey is node n's key; its raft id is n.
func testKey(n int) ReplicaKey {
	var dir wire.UUID
	binary.BigEndian.PutUint64(dir[:], uint64(n))
	dir[15] = 0xd1
	return ReplicaKey{NodeID: wire.NodeID(n), DirectoryID: dir}
}

func testMember(n int) Member {
	return Member{ReplicaKey: testKey(n), Endpoints: []Endpoint{{Listener: "PLAINTEXT", Host: fmt.Sprintf("host-%d", n), Port: 9092}}}
}

func testIdentity(n int) Identity {
	k := testKey(n)
	return Identity{NodeID: k.NodeID, DirectoryID: k.DirectoryID, ClusterID: "test-cluster"}
}

// machine is a member's state: all that was applied, one line each.
type machine struct {
	lines []string
	index uint64
}

func (m *machine) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, m.index)
	for _, l := range m.lines {
		b = appendString(b, l)
	}
	return b
}

func decodeMachine(data []byte) machine {
	c := cursor{src: data}
	m := machine{}
	if len(data) > 0 {
		m.index = c.uint64()
	}
	for len(c.src) > 0 && !c.failed {
		m.lines = append(m.lines, c.string())
	}
	return m
}

// member is a node of the test's cluster.
type member struct {
	n       int
	fs      *segmenttest.FS
	q       *Quorum // nil while it is down
	machine machine
	last    Effects
}

// cluster is members in one thread, with a network that loses what the test wants lost.
type cluster struct {
	tb      testing.TB
	rng     *rand.Rand
	cfg     Config
	members []*member
	wire    []Message
	lose    func(m Message) bool         // nil: nothing
	applied func(m *member, e Entry)     // nil: nobody looks
	ready   func(m *member, eff Effects) // nil: nobody looks
	failed  func(m *member, err error)   // nil: the test fails
}

func newCluster(tb testing.TB, seed uint64, voters int, cfg Config) *cluster {
	c := &cluster{tb: tb, rng: rand.New(rand.NewPCG(seed, 1)), cfg: cfg}
	var all []Member
	for n := 1; n <= voters; n++ {
		all = append(all, testMember(n))
	}
	for n := 1; n <= voters; n++ {
		c.add(n, all)
	}
	return c
}

// add makes a node: a voter of a new cluster, or a learner.
func (c *cluster) add(n int, voters []Member) *member {
	m := &member{n: n, fs: segmenttest.New(c.rng.Uint64())}
	must(c.tb, m.fs.MkdirAll(path.Dir(testDir), 0o755))
	must(c.tb, m.fs.SyncDir("/"))
	must(c.tb, m.fs.SyncDir("state"))
	must(c.tb, Create(m.fs, testDir, testIdentity(n), voters, nil))
	c.members = append(c.members, m)
	c.open(m)
	return m
}

func (c *cluster) open(m *member) {
	c.tb.Helper()
	must(c.tb, c.tryOpen(m))
}

func (c *cluster) tryOpen(m *member) (err error) {
	cfg := c.cfg
	cfg.Rand = rand.New(rand.NewPCG(c.rng.Uint64(), 2))
	m.machine, m.last = machine{}, Effects{}
	m.q, err = Open(m.fs, testDir, cfg)
	return err
}

// tick passes one tick everywhere, and all that follows from it.
func (c *cluster) tick() {
	for _, m := range c.members {
		if m.q != nil {
			m.q.Tick()
		}
	}
	c.settle()
}

// settle drains all members and delivers messages until there are none.
func (c *cluster) settle() {
	for busy := true; busy; {
		busy = false
		for _, m := range c.members {
			busy = c.drain(m) || busy
		}
		batch := c.wire
		c.wire = nil
		for _, msg := range batch {
			if c.lose == nil || !c.lose(msg) {
				c.deliver(msg)
				busy = true
			}
		}
	}
}

func (c *cluster) deliver(msg Message) {
	for _, m := range c.members {
		if m.q != nil && m.q.RaftID() == msg.To {
			if err := m.q.Step(msg); err != nil && !errors.Is(err, ErrMessage) {
				c.fail(m, err)
			}
		}
	}
}

// drain does what a member's Readys say.
func (c *cluster) drain(m *member) (did bool) {
	for m.q != nil && m.q.HasReady() {
		did = true
		eff, err := m.q.Ready()
		if err != nil {
			c.fail(m, err)
			return true
		}
		if c.ready != nil {
			c.ready(m, eff)
		}
		m.last = eff
		c.apply(m, eff)
		c.wire = append(c.wire, eff.Messages...)
		if eff.WantSnapshot {
			if err := m.q.Compact(m.machine.index, m.machine.encode()); err != nil {
				c.fail(m, err)
				return true
			}
		}
	}
	return did
}

func (c *cluster) apply(m *member, eff Effects) {
	if eff.Snapshot != nil {
		m.machine = decodeMachine(eff.Snapshot)
	}
	for _, e := range eff.Applied {
		if e.Index <= m.machine.index {
			c.tb.Fatalf("member %d applies %d after %d", m.n, e.Index, m.machine.index)
		}
		m.machine.index = e.Index
		if e.Change == nil {
			m.machine.lines = append(m.machine.lines, string(e.Data))
		}
		if c.applied != nil {
			c.applied(m, e)
		}
	}
	m.machine.index = eff.AppliedIndex
}

func (c *cluster) fail(m *member, err error) {
	if c.failed == nil {
		c.tb.Fatalf("member %d: %v", m.n, err)
	}
	c.failed(m, err)
}

// leader gives the leader that is ready, of the greatest term.
func (c *cluster) leader() *member {
	var best *member
	for _, m := range c.members {
		if m.q != nil && m.last.LeaderReady && (best == nil || m.last.Term > best.last.Term) {
			best = m
		}
	}
	return best
}

// elect ticks until there is a leader.
func (c *cluster) elect() *member {
	c.tb.Helper()
	for range 500 {
		if m := c.leader(); m != nil {
			return m
		}
		c.tick()
	}
	c.tb.Fatal("no leader after 500 ticks")
	return nil
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (c *cluster) wantLines(want ...string) {
	c.tb.Helper()
	for _, m := range c.members {
		if m.q == nil {
			continue
		}
		if fmt.Sprint(m.machine.lines) != fmt.Sprint(want) {
			c.tb.Errorf("member %d has %q, want %q", m.n, m.machine.lines, want)
		}
	}
}

func TestThreeMembers(t *testing.T) {
	c := newCluster(t, 1, 3, Config{})
	leader := c.elect()
	must(t, leader.q.Propose(1, []byte("a")))
	must(t, leader.q.Propose(2, []byte("b")))
	c.settle()
	c.tick()
	c.wantLines("a", "b")
	for _, m := range c.members {
		if m != leader {
			if err := m.q.Propose(3, []byte("c")); !errors.Is(err, ErrNotLeader) {
				t.Errorf("member %d takes a proposal: %v", m.n, err)
			}
		}
	}
	for _, m := range c.members { // one after the other
		must(t, m.q.Close())
		m.fs = m.fs.Crash()
		c.open(m)
		c.settle()
	}
	leader = c.elect()
	must(t, leader.q.Propose(1, []byte("c")))
	c.settle()
	c.tick()
	c.wantLines("a", "b", "c")
}

func TestOneMember(t *testing.T) {
	c := newCluster(t, 1, 1, Config{})
	c.tick()
	m := c.leader()
	if m == nil {
		t.Fatal("a single voter does not lead after one tick")
	}
	must(t, m.q.Propose(1, []byte("a")))
	c.settle()
	c.wantLines("a")
}
