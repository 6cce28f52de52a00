package quorum

import (
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// electionTimer decides when a member that does not lead seeks election. The raft library has such a timer, but draws its
// timeouts from crypto/rand, so that no run could be repeated; its Tick is therefore called on leaders only, whose timers
// are not random. The rules are its own.
type electionTimer struct {
	elapsed int // ticks since the leader was heard, or since the last restart
	timeout int // ElectionTicks to 2*ElectionTicks-1
}

// restart begins a new wait.
func (t *electionTimer) restart(q *Quorum) {
	t.elapsed, t.timeout = 0, q.cfg.ElectionTicks+q.cfg.Rand.IntN(q.cfg.ElectionTicks)
}

// tick passes a tick. A leader that was not heard for ElectionTicks is forgotten: from then on this member grants votes
// (the library's lease of CheckQuorum, which counts in its own ticks, would hold for ever).
func (t *electionTimer) tick(q *Quorum, status raft.BasicStatus) {
	t.elapsed++
	if t.elapsed >= q.cfg.ElectionTicks && status.Lead != raft.None {
		_ = q.node.ForgetLeader() // a follower's cannot fail
	}
	if t.elapsed < t.timeout && !q.alone() {
		return
	}
	t.restart(q)
	if q.votes() {
		_ = q.node.Campaign() // refused while a change of members waits to be applied: the next timeout tries again
	}
}

// Hasten has a voter that knows of no leader seek election at its turn among the voters, as when a cluster begins, or all its nodes were
// started again. Where a majority hears a leader no election succeeds (pre-vote), and nothing changes.
func (q *Quorum) Hasten() {
	if q.status().Lead == raft.None && q.votes() {
		q.timer.elapsed = max(q.timer.elapsed, q.timer.timeout-1-suspectTicks*q.turnAfter(raft.None))
	}
}

// Suspect says that the leader's process is known to be gone, from elsewhere than its silence: its host answers that nobody listens where
// it did. This member forgets it, so that it grants votes, and seeks election at its turn among the voters: all hear of it at about the
// same time, and would split their votes. A leader that lives is followed again at its next message; where a majority still hears it no
// election succeeds (pre-vote).
func (q *Quorum) Suspect(leader uint64) {
	_ = q.guard(func() error {
		if status := q.status(); status.Lead != leader || leader == raft.None || status.RaftState == raft.StateLeader {
			return nil
		}
		_ = q.node.ForgetLeader() // a follower's cannot fail
		q.timer.elapsed = max(q.timer.elapsed, q.timer.timeout-1-suspectTicks*q.turnAfter(leader))
		return nil
	})
}

// suspectTicks is how far the turns of two voters are apart: an election's two rounds of messages.
const suspectTicks = 2

// turnAfter is how many voters come before this one when a leader is gone.
func (q *Quorum) turnAfter(leader uint64) (turn int) {
	for _, m := range q.members {
		if id := m.RaftID(); m.Voter && id < q.self && id != leader {
			turn++
		}
	}
	return turn
}

// alone reports whether no other vote is needed: there is nothing to wait for.
func (q *Quorum) alone() bool { return q.votes() && q.members.voters() == 1 }

// votes reports whether this member is a voter.
func (q *Quorum) votes() bool {
	m, known := q.Member(q.self)
	return known && m.Voter
}

// turned restarts the timer where the library does: at a new term or role, and at a vote that was granted. It also forgets
// what only the leader of a term knows.
func (q *Quorum) turned(before raft.BasicStatus) {
	after := q.status()
	if after.GetTerm() != before.GetTerm() || after.RaftState != before.RaftState || after.GetVote() != before.GetVote() {
		q.timer.restart(q)
	}
	if after.RaftState != raft.StateLeader || after.GetTerm() != before.GetTerm() {
		q.change, q.reads = 0, nil
		clear(q.peers)
	}
}

// heard notes what a message says of its sender: a leader is alive, or a member that follows.
func (q *Quorum) heard(m *pb.Message) {
	status := q.status()
	switch m.GetType() {
	case pb.MsgApp, pb.MsgHeartbeat, pb.MsgSnap:
		if status.Lead == m.GetFrom() && m.GetTerm() == status.GetTerm() {
			q.timer.elapsed = 0
		}
	case pb.MsgAppResp, pb.MsgHeartbeatResp:
		if status.RaftState == raft.StateLeader && m.GetTerm() == status.GetTerm() {
			q.heardPeer(m.GetFrom())
		}
	}
}
