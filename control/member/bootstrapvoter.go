package member

import (
	"fmt"
	"time"
)

// Request answers another node's request. The answer must not leave before the save of the effects is durable.
func (b *Bootstrap) Request(now time.Duration, r Request) (Answer, Effects) {
	var eff Effects
	b.now = now
	var a Answer
	switch {
	case !r.Proposal.has(b.state.self):
		a = refuse(fmt.Sprintf("node %d has directory %s, and is another than the one that was meant", b.state.self.NodeID, b.state.self.DirectoryID))
	case r.Kind == Promise:
		a = b.promise(&eff, r.Proposal)
	case r.Kind == Commit:
		a = b.told(&eff, r.Proposal)
	case r.Kind == Release:
		a = b.release(&eff, r.Proposal)
	default:
		a = b.outcome(r.Proposal)
	}
	b.tell(&eff)
	return a, eff
}

// heldBy reports whether the proposal is the one that holds this node.
func (b *Bootstrap) heldBy(p *Proposal) bool {
	return b.state.proposal != nil && b.state.proposal.equal(p)
}

// promise: at most one proposal holds a node, and it is one that the node would make itself of what it sees.
func (b *Bootstrap) promise(eff *Effects, p *Proposal) Answer {
	switch {
	case b.heldBy(p):
		return Answer{Kind: Granted}
	case b.state.phase == promised && !b.superseded(p):
		return refuse(fmt.Sprintf("node %d has promised to begin a cluster with %s", b.state.self.NodeID, names(b.state.proposal.Voters)))
	case b.state.phase != fresh && b.state.phase != promised:
		return refuse(fmt.Sprintf("node %d belongs to a cluster, or joins one", b.state.self.NodeID))
	}
	if reason := b.objection(p); reason != "" {
		return refuse(reason)
	}
	b.hold(eff, promised, p)
	return Answer{Kind: Granted}
}

// superseded reports whether the candidate that holds the node has given that proposal up for p: it has one at a time.
func (b *Bootstrap) superseded(p *Proposal) bool {
	old, candidate := b.state.proposal.ID(), p.ID()
	return !b.candidate() && old.Candidate == candidate.Candidate && old.Attempt < candidate.Attempt
}

// objection says why a free node does not promise, or "".
func (b *Bootstrap) objection(p *Proposal) string {
	self := b.state.self.NodeID
	switch {
	case p.candidate().same(b.state.self):
		return fmt.Sprintf("node %d has given this proposal up", self)
	case len(p.Voters) != b.cfg.Expect:
		return fmt.Sprintf("node %d has ringmill.bootstrap.expect=%d, node %d %d; give all nodes the same", self, b.cfg.Expect, p.candidate().NodeID, len(p.Voters))
	case len(b.view.mismatched) > 0:
		return b.mismatch()
	case b.view.cluster() != "":
		return fmt.Sprintf("node %d sees cluster %s", self, b.view.cluster())
	case !sameVoters(b.view.with(p.Voters), p.Voters):
		return fmt.Sprintf("node %d sees %s first", self, names(b.view.with(p.Voters)))
	}
	return ""
}

// told: the candidate has committed. A node that is not held by the proposal has not promised to it, or has lost what it
// promised: neither begins a cluster.
func (b *Bootstrap) told(eff *Effects, p *Proposal) Answer {
	switch {
	case !b.heldBy(p) || b.candidate():
		return refuse(fmt.Sprintf("node %d has not promised that", b.state.self.NodeID))
	case b.state.phase == promised:
		b.commit(eff)
	}
	return Answer{Kind: Granted}
}

// release frees a node that is held by the proposal.
func (b *Bootstrap) release(eff *Effects, p *Proposal) Answer {
	if b.state.phase == promised && b.heldBy(p) && !b.candidate() {
		b.hold(eff, fresh, nil)
	}
	return Answer{Kind: Granted}
}

// outcome is what this node knows of a proposal's end. A candidate whose proposal does not hold it has given it up, or never
// made it.
func (b *Bootstrap) outcome(p *Proposal) Answer {
	switch {
	case b.heldBy(p) && b.state.phase == committed:
		return Answer{Kind: Committed}
	case p.candidate().same(b.state.self) && !b.heldBy(p):
		return Answer{Kind: Released}
	}
	return Answer{Kind: Pending}
}

// ask asks the candidate, and the other voters, what has become of the proposal.
func (b *Bootstrap) ask(eff *Effects) {
	for i := range b.voters {
		if b.voters[i].done {
			continue // this node
		}
		if v := &b.voters[i]; !v.sent {
			v.sent, v.sentAt = true, b.now // the candidate has just spoken
			continue
		}
		b.sendTo(eff, i, Ask, askTime)
	}
}

// askTime is how long a voter waits for word of a proposal, each time: several rounds of the candidate's.
const askTime = 4 * retryTime

// learned takes the answer to Ask.
func (b *Bootstrap) learned(eff *Effects, i int, a Answer) {
	switch {
	case a.Kind == Committed:
		b.commit(eff)
	case a.Kind == Released && i == 0:
		b.hold(eff, fresh, nil)
	}
}
