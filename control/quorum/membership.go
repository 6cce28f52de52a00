package quorum

import (
	"fmt"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// AddLearner proposes a new member that does not vote; AddVoter makes it a voter later. This and the other changes are
// proposed by the leader alone, one at a time; each is in Effects.Applied with the number proposal when it has taken effect.
// Errors of all of them: ErrNotLeader, ErrNotReady, ErrChangePending, ErrMember, ErrBusy.
func (q *Quorum) AddLearner(proposal uint64, m Member) error {
	m.Voter = false
	return q.propose(proposal, Change{Kind: AddLearner, Member: m})
}

// AddVoter proposes that a learner becomes a voter (KIP-853's AddRaftVoter). ErrNotCaughtUp: it has not reached the log's end
// within the last ElectionTicks.
func (q *Quorum) AddVoter(proposal uint64, key ReplicaKey) error {
	m := q.memberOr(key)
	m.Voter = true
	return q.propose(proposal, Change{Kind: AddVoter, Member: m})
}

// RemoveVoter proposes that a voter becomes a learner (KIP-853's RemoveRaftVoter). ErrLeader: not the leader itself.
func (q *Quorum) RemoveVoter(proposal uint64, key ReplicaKey) error {
	m := q.memberOr(key)
	m.Voter = false
	return q.propose(proposal, Change{Kind: RemoveVoter, Member: m})
}

// Remove proposes that a member leaves. It may never hear of that itself. ErrLeader: not the leader itself.
func (q *Quorum) Remove(proposal uint64, key ReplicaKey) error {
	return q.propose(proposal, Change{Kind: Remove, Member: q.memberOr(key)})
}

// Update proposes a member's new endpoints.
func (q *Quorum) Update(proposal uint64, key ReplicaKey, endpoints []Endpoint) error {
	m := q.memberOr(key)
	m.Endpoints = endpoints
	return q.propose(proposal, Change{Kind: Update, Member: m})
}

// memberOr gives the member that has key, or one that no change applies to.
func (q *Quorum) memberOr(key ReplicaKey) Member {
	if m, known := q.Member(key.RaftID()); known && m.ReplicaKey == key {
		return m
	}
	return Member{ReplicaKey: key}
}

// propose proposes a change. That the leader is ready means that all changes of earlier leaders have taken effect
// (Ongaro's correction of single-server changes), so the members are the log's own.
func (q *Quorum) propose(proposal uint64, c Change) error {
	return q.guard(func() error {
		if err := q.leads(); err != nil {
			return err
		}
		if q.change != 0 {
			return ErrChangePending
		}
		if err := c.Member.check(); err != nil {
			return fmt.Errorf("%w: %w", ErrMember, err)
		}
		if _, err := q.members.applied(c); err != nil {
			return err
		}
		if (c.Kind == RemoveVoter || c.Kind == Remove) && c.Member.RaftID() == q.self {
			return ErrLeader
		}
		if c.Kind == AddVoter && !q.caughtUp(c.Member.RaftID()) {
			return fmt.Errorf("%w: %s", ErrNotCaughtUp, c.Member.ReplicaKey)
		}
		if err := q.node.ProposeConfChange(c.confChange(q.self, proposal)); err != nil {
			return proposed(err)
		}
		q.change = q.status().GetTerm()
		return nil
	})
}

// applyChange makes a committed change of members take effect.
func (q *Quorum) applyChange(entry Entry, e *pb.Entry) error {
	after, err := q.members.applied(*entry.Change)
	if err != nil {
		return fmt.Errorf("%w: entry %d: %w", ErrInternal, entry.Index, err)
	}
	q.change = 0
	q.members = after
	q.configs = append(q.configs, configAt{entry.Index, after})
	q.store.lastConf = entry.Index
	cs := q.node.ApplyConfChange(&pb.ConfChange{Type: raftTypes[entry.Change.Kind].Enum(), NodeId: new(entry.Change.Member.RaftID())})
	if !after.matches(cs) {
		return fmt.Errorf("%w: after entry %d the members are %v, to raft %v", ErrInternal, entry.Index, after, cs)
	}
	return nil
}

// handOver lets a leader that is no voter any more give the leadership to one. Only an earlier leader can have proposed that
// (ErrLeader). It goes on leading until then, for the others may not know yet that the change is committed, and count it as
// one whose vote they need. Since it proposes nothing (leads), one of them has all that it has and can have its vote.
func (q *Quorum) handOver() {
	if q.votes() || q.status().RaftState != raft.StateLeader {
		return
	}
	to, best := uint64(0), uint64(0)
	q.node.WithProgress(func(id uint64, typ raft.ProgressType, pr tracker.Progress) {
		if typ == raft.ProgressTypePeer && pr.RecentActive && pr.Match > best {
			to, best = id, pr.Match
		}
	})
	if to != 0 {
		q.node.TransferLeader(to)
	}
}
