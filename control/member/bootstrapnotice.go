package member

import (
	"fmt"
	"strings"
)

// Status says in one line what the node waits for, "" if it does not.
func (b *Bootstrap) Status() string {
	switch b.state.phase {
	case fresh:
		return b.statusFresh()
	case promised:
		if b.candidate() {
			return b.statusCandidate()
		}
		return b.statusPromised()
	case joining:
		return "joins cluster " + b.joins
	}
	return ""
}

// silentAfter is how many questions a candidate leaves unanswered before the node says so: a few seconds' worth.
const silentAfter = 3

// tell puts the status into the effects where it has changed.
func (b *Bootstrap) tell(eff *Effects) {
	if s := b.Status(); s != b.notice {
		b.notice = s
		eff.Notice = s
	}
}

func (b *Bootstrap) statusFresh() string {
	switch {
	case len(b.view.mismatched) > 0:
		return b.mismatch()
	case b.cfg.Expect < 2:
		return "waits for a node of the cluster that it is to join"
	case len(b.view.fresh) == 0:
		return "looks for other nodes"
	case b.view.missing() > 0:
		return fmt.Sprintf("waits for %d more fresh nodes to begin a cluster of %d with; sees %s", b.view.missing(), b.cfg.Expect, names(b.view.fresh))
	}
	return fmt.Sprintf("waits for %s to begin a cluster", names(b.view.quorum()))
}

// mismatch is the line about nodes that expect different numbers.
func (b *Bootstrap) mismatch() string {
	var others []string
	for _, m := range b.view.mismatched {
		others = append(others, fmt.Sprintf("node %d at %s has %d", m.NodeID, m.Addr, m.Expect))
	}
	return fmt.Sprintf("no cluster begins: node %d has ringmill.bootstrap.expect=%d, %s; give all nodes the same", b.state.self.NodeID, b.cfg.Expect, strings.Join(others, ", "))
}

// statusCandidate names the first voter whose promise is missing.
func (b *Bootstrap) statusCandidate() string {
	p := b.state.proposal
	for i, v := range b.voters {
		if !v.done {
			text := fmt.Sprintf("begins cluster %s with %s; waits for node %d at %s", p.ClusterID, names(p.Voters), p.Voters[i].NodeID, p.Voters[i].Addr)
			switch {
			case v.reason != "":
				text += ": " + v.reason
			case v.unanswered > silentAfter:
				text += ", which does not answer there"
			}
			return text
		}
	}
	return ""
}

func (b *Bootstrap) statusPromised() string {
	p := b.state.proposal
	c := p.candidate()
	text := fmt.Sprintf("has promised to begin cluster %s with %s; waits for node %d at %s", p.ClusterID, names(p.Voters), c.NodeID, c.Addr)
	switch v := b.voters[0]; {
	case v.reason != "":
		text += ", which says: " + v.reason
	case v.unanswered > silentAfter:
		text += ", which does not answer"
	default:
		return text
	}
	return text + ". If that node is gone for good, with its disk, remove state/bootstrap here and start again"
}
