package member

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// BootstrapConfig is what a Bootstrap is opened with.
type BootstrapConfig struct {
	// Self is this node. Without a directory id it gets the one of the saved state, or a new one.
	Self   Voter
	Expect int // ringmill.bootstrap.expect; 1 is a node that only joins
	// HasQuorum: the node has a quorum directory. It only answers then.
	HasQuorum bool
	// Rand gives directory and cluster ids: it must be seeded with real randomness.
	Rand *rand.Rand
	// Initial gives what the metadata of a cluster begins with; nil: nothing. It is called for the candidate alone.
	Initial func(clusterID string, voters []Voter) []byte
}

// phase is how far a node is. The first three are durable.
type phase uint8

const (
	fresh     phase = iota // free to propose, to promise, to join
	promised               // held by a proposal, its own or another's
	committed              // one of the first voters
	joining                // on the way into a cluster that is there; fresh again if that fails
	settled                // has a quorum directory, and no part in a committed proposal that it knows of
)

// state is what is on disk.
type state struct {
	self     Voter
	attempts uint64 // of this directory's proposals so far
	phase    phase
	proposal *Proposal // of promised and committed; nil if fresh
}

// Bootstrap is the agreement of fresh nodes on who begins a cluster, on one of them. doc.go has the protocol. It is not safe
// for concurrent use.
type Bootstrap struct {
	cfg   BootstrapConfig
	state state // as saved, but for the phases that are not

	now  time.Duration
	view view
	// Per voter of the proposal: what it has answered, and when it was last sent something.
	voters []progress
	joins  string // cluster of the phase joining
	notice string // the last that was told
}

// progress is what a candidate, or a voter that asks, knows of one of the proposal's voters.
type progress struct {
	done       bool          // has promised; has been told of the commit, once committed
	sent       bool          // whether sentAt holds
	sentAt     time.Duration // last request
	unanswered int           // requests since its last answer
	reason     string        // of its last refusal
}

const (
	// settleTime is how long the fresh nodes that are seen must have been the same before they are proposed: several gossip
	// intervals, so that nodes that start together are seen together.
	settleTime = time.Second
	// retryTime is how long an answer is waited for. Requests can be repeated, so that short is not wrong, only busy.
	retryTime = 500 * time.Millisecond
)

// OpenBootstrap takes up the state that was saved, nil if there is none. Errors: ErrState, ErrNewer, or the state is another
// node's.
func OpenBootstrap(now time.Duration, cfg BootstrapConfig, saved []byte) (*Bootstrap, Effects, error) {
	var eff Effects
	b := &Bootstrap{cfg: cfg, now: now}
	if saved != nil {
		s, err := readState(saved)
		if err != nil {
			return nil, eff, err
		}
		if s.self.NodeID != cfg.Self.NodeID {
			return nil, eff, fmt.Errorf("%w: it is of node %d, this is node %d", ErrState, s.self.NodeID, cfg.Self.NodeID)
		}
		b.state = s
	}
	if err := b.identify(&eff); err != nil {
		return nil, eff, err
	}
	b.resetProgress()
	switch {
	case b.state.phase == committed && !cfg.HasQuorum:
		eff.Decision = b.decision()
	case b.state.phase != committed && cfg.HasQuorum:
		b.settle(&eff)
	}
	return b, eff, nil
}

// settle: the node belongs to a cluster without a committed proposal. What may have held it is given up, on disk too.
func (b *Bootstrap) settle(eff *Effects) {
	if b.state.phase == promised {
		b.hold(eff, fresh, nil)
	}
	b.state.phase = settled
}

// identify settles the directory id, and saves it if it is new: proposals go by it.
func (b *Bootstrap) identify(eff *Effects) error {
	self := b.cfg.Self
	old := b.state.self.DirectoryID
	switch {
	case self.DirectoryID.IsZero() && old.IsZero():
		self.DirectoryID = b.uuid()
	case self.DirectoryID.IsZero():
		self.DirectoryID = old
	case !old.IsZero() && old != self.DirectoryID:
		return fmt.Errorf("%w: it is of directory %s, this is %s", ErrState, old, self.DirectoryID)
	}
	if changed := b.state.self != self; changed {
		b.state.self = self
		b.save(eff)
	}
	return nil
}

// uuid draws a random UUID of version 4. Its first half is never 0 nor all ones, which raft has other uses for.
func (b *Bootstrap) uuid() (id wire.UUID) {
	for i := range id {
		id[i] = byte(b.cfg.Rand.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// Self is this node, with the directory id that it tells the others and that its quorum directory is to have.
func (b *Bootstrap) Self() Voter { return b.state.self }

// Members takes what gossip says of the nodes that are there.
func (b *Bootstrap) Members(now time.Duration, seen []Info) Effects {
	var eff Effects
	b.now = now
	b.view.update(now, b.state.self, b.cfg.Expect, seen)
	b.act(&eff)
	return eff
}

// Tick lets time pass; several times a second is often enough.
func (b *Bootstrap) Tick(now time.Duration) Effects {
	var eff Effects
	b.now = now
	b.act(&eff)
	return eff
}

// JoinFailed: the cluster of a Join decision did not take the node, and nothing of it is on disk. It is fresh again, and
// decides anew at the next Members or Tick.
func (b *Bootstrap) JoinFailed() {
	if b.state.phase != joining {
		panic("BUG: no join to fail")
	}
	b.state.phase = fresh
}

// Joined: the quorum directory that a decision was about is there, and durable.
func (b *Bootstrap) Joined() {
	switch b.state.phase {
	case joining:
		b.state.phase = settled
	case committed:
	default:
		panic("BUG: joined without a decision")
	}
}

// act does what the phase calls for by itself.
func (b *Bootstrap) act(eff *Effects) {
	switch b.state.phase {
	case fresh:
		b.actFresh(eff)
	case promised:
		if b.candidate() {
			b.actCandidate(eff)
		} else {
			b.ask(eff)
		}
	case committed:
		if b.candidate() {
			b.sendMissing(eff, Commit)
		}
	}
	b.tell(eff)
}

// actFresh joins a cluster that is there, or proposes one where it is this node's turn.
func (b *Bootstrap) actFresh(eff *Effects) {
	if cluster := b.view.cluster(); cluster != "" {
		b.state.phase, b.joins = joining, cluster
		eff.Decision = &Decision{Join: true, ClusterID: cluster}
		return
	}
	voters := b.view.quorum()
	if voters == nil || len(b.view.mismatched) > 0 || !b.view.settledAt(b.now) || !voters[0].same(b.state.self) {
		return
	}
	b.propose(eff, voters)
}

// candidate reports whether the proposal that holds the node is its own.
func (b *Bootstrap) candidate() bool { return b.state.proposal.candidate().same(b.state.self) }

func (b *Bootstrap) decision() *Decision {
	p := b.state.proposal
	return &Decision{ClusterID: p.ClusterID, Voters: slices.Clone(p.Voters), Initial: p.Initial}
}

// hold goes to a phase that a proposal goes with, and saves it.
func (b *Bootstrap) hold(eff *Effects, ph phase, p *Proposal) {
	b.state.phase, b.state.proposal = ph, p
	b.resetProgress()
	b.save(eff)
}

func (b *Bootstrap) save(eff *Effects) { eff.Save = b.state.appendTo(nil) }

func (b *Bootstrap) resetProgress() {
	b.voters = nil
	if b.state.proposal == nil {
		return
	}
	b.voters = make([]progress, len(b.state.proposal.Voters))
	for i, v := range b.state.proposal.Voters {
		b.voters[i] = progress{done: v.same(b.state.self)}
	}
}
