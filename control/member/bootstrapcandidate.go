package member

import "time"

// propose makes a proposal and holds this node to it first: on disk before anybody hears of it.
func (b *Bootstrap) propose(eff *Effects, voters []Voter) {
	b.state.attempts++
	p := &Proposal{Attempt: b.state.attempts, ClusterID: b.uuid().String(), Voters: voters}
	if b.cfg.Initial != nil {
		p.Initial = b.cfg.Initial(p.ClusterID, voters)
	}
	if problem := p.problem(); problem != "" {
		panic("BUG: a proposal of " + problem)
	}
	b.hold(eff, promised, p)
	b.sendMissing(eff, Promise)
}

// actCandidate goes on asking for promises, or gives up where other nodes would be proposed now.
func (b *Bootstrap) actCandidate(eff *Effects) {
	if b.outdated() {
		b.giveUp(eff)
		return
	}
	b.sendMissing(eff, Promise)
}

// outdated reports whether the candidate would not make its proposal again. Too few nodes in sight is no reason: those that
// are away may come back, and have promised.
func (b *Bootstrap) outdated() bool {
	p := b.state.proposal
	if len(p.Voters) != b.cfg.Expect || b.view.cluster() != "" {
		return true
	}
	voters := b.view.quorum()
	return voters != nil && b.view.settledAt(b.now) && !sameVoters(voters, p.Voters)
}

// giveUp releases the proposal: on disk before anybody is told. From then on it cannot be committed any more, for it is
// never the candidate's again.
func (b *Bootstrap) giveUp(eff *Effects) {
	p := b.state.proposal
	b.hold(eff, fresh, nil)
	for _, v := range p.Voters[1:] {
		eff.Send = append(eff.Send, Send{To: v, Request: Request{Kind: Release, Proposal: p}})
	}
}

// commit decides: everyone has promised. On disk first, as all else.
func (b *Bootstrap) commit(eff *Effects) {
	b.hold(eff, committed, b.state.proposal)
	eff.Decision = b.decision()
	if b.candidate() {
		b.sendMissing(eff, Commit)
	}
}

// sendMissing sends a request to the voters that have not granted it, again after a while.
func (b *Bootstrap) sendMissing(eff *Effects, kind RequestKind) {
	for i := range b.voters {
		if v := &b.voters[i]; !v.done {
			b.sendTo(eff, i, kind, retryTime<<min(v.unanswered, backoffs[kind]))
		}
	}
}

// backoffs are how often the wait for a voter that does not answer is doubled: up to four seconds for a promise, which others
// wait for, and half a minute for a commit, which a voter that comes back asks for itself.
var backoffs = map[RequestKind]int{Promise: 3, Commit: 6}

func (b *Bootstrap) sendTo(eff *Effects, i int, kind RequestKind, every time.Duration) {
	v := &b.voters[i]
	if v.sent && b.now-v.sentAt < every {
		return
	}
	v.sent, v.sentAt = true, b.now
	v.unanswered++
	p := b.state.proposal
	eff.Send = append(eff.Send, Send{To: b.view.located(p.Voters[i]), Request: Request{Kind: kind, Proposal: p}})
}

// Answer takes the answer to a request that Effects.Send had, to whom it went there. One that does not fit any more says
// nothing. An answer to a request of an earlier start must not be given.
func (b *Bootstrap) Answer(now time.Duration, to Voter, r Request, a Answer) Effects {
	var eff Effects
	b.now = now
	p := b.state.proposal
	if p == nil || p.ID() != r.Proposal.ID() {
		return eff
	}
	i := p.index(to.DirectoryID)
	if i < 0 {
		return eff
	}
	b.voters[i].unanswered, b.voters[i].reason = 0, ""
	switch {
	case b.state.phase == committed && r.Kind == Commit && (a.Kind == Granted || a.Kind == Refused):
		b.voters[i].done = true // refused: what had promised is gone, with its disk
	case a.Kind == Refused:
		b.voters[i].reason = a.Reason
	case b.state.phase == promised && b.candidate():
		b.answered(&eff, i, r, a)
	case b.state.phase == promised:
		b.learned(&eff, i, a)
	}
	b.tell(&eff)
	return eff
}

// answered counts a promise.
func (b *Bootstrap) answered(eff *Effects, i int, r Request, a Answer) {
	if r.Kind != Promise || a.Kind != Granted {
		return
	}
	b.voters[i].done = true
	for _, v := range b.voters {
		if !v.done {
			return
		}
	}
	b.commit(eff)
}
