package quorum

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// peer is what a leader notes of another member, in ticks.
type peer struct {
	heard    uint64 // its last answer
	caughtUp uint64 // when it last had all that the leader had
	known    bool   // caughtUp says something
	lastEnd  uint64 // the end of the leader's log at the answer before the last
	snapshot uint64 // since when a snapshot is on its way; 0: none is
}

// heardPeer notes an answer. As Kafka's leader counts a replica's fetches, one is caught up that has what the leader had now,
// or at its last answer.
func (q *Quorum) heardPeer(id uint64) {
	if _, member := q.Member(id); !member {
		return
	}
	p := q.peer(id)
	last := q.lastIndex()
	q.node.WithProgress(func(of uint64, _ raft.ProgressType, pr tracker.Progress) {
		switch {
		case of != id:
		case pr.Match >= last:
			p.caughtUp, p.known = q.ticks, true
		case p.lastEnd > 0 && pr.Match >= p.lastEnd:
			p.caughtUp, p.known = p.heard, true
		}
	})
	p.heard, p.lastEnd = q.ticks, last
}

func (q *Quorum) peer(id uint64) *peer {
	if q.peers[id] == nil {
		q.peers[id] = new(peer)
	}
	return q.peers[id]
}

// caughtUp reports whether a member had the whole log within the last ElectionTicks.
func (q *Quorum) caughtUp(id uint64) bool {
	p := q.peers[id]
	return p != nil && p.known && q.ticks-p.caughtUp <= uint64(q.cfg.ElectionTicks)
}

// retrySnapshots gives a snapshot up that was not answered in time: the message may be lost.
func (q *Quorum) retrySnapshots() {
	var lost []uint64
	q.node.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		if id == q.self {
			return
		}
		switch p := q.peer(id); {
		case pr.State != tracker.StateSnapshot:
			p.snapshot = 0
		case p.snapshot == 0:
			p.snapshot = q.ticks
		case q.ticks-p.snapshot >= uint64(q.cfg.SnapshotTicks):
			p.snapshot = 0
			lost = append(lost, id)
		}
	})
	for _, id := range lost {
		q.node.ReportSnapshot(id, raft.SnapshotFailure)
	}
}

// Status is a member's view of the quorum; DescribeQuorum is made of it.
type Status struct {
	Self            ReplicaKey
	Leader          Member // zero if none is known
	Term            uint64 // Kafka's leader epoch
	IsLeader        bool
	Commit, Applied uint64 // Kafka's high watermark is Commit+1
	LastIndex       uint64
	SnapshotIndex   uint64
	Members         []MemberStatus // in the order of the raft ids
}

// MemberStatus is what is known of a member. Where the member that is asked does not lead, only Member is.
type MemberStatus struct {
	Member
	Match         uint64 // the last entry that it is known to have durably; Kafka's log end offset is one more
	Active        bool   // it has answered within the last ElectionTicks
	SinceFetch    int    // ticks since its last answer, 0 for the leader itself; -1: none yet
	SinceCaughtUp int    // ticks since it last had the whole log, 0 for the leader itself; -1: never
}

// Status describes the quorum as this member sees it.
func (q *Quorum) Status() Status {
	status := q.status()
	s := Status{Self: ReplicaKey{q.id.NodeID, q.id.DirectoryID}, Term: status.GetTerm(), IsLeader: status.RaftState == raft.StateLeader,
		Commit: status.GetCommit(), Applied: q.applied.index, LastIndex: q.lastIndex(), SnapshotIndex: q.store.snap.index}
	s.Leader, _ = q.Member(status.Lead)
	for _, m := range q.members {
		s.Members = append(s.Members, MemberStatus{Member: m, SinceFetch: -1, SinceCaughtUp: -1})
	}
	if s.IsLeader {
		q.addProgress(s.Members)
	}
	return s
}

// addProgress adds what the leader alone knows.
func (q *Quorum) addProgress(list []MemberStatus) {
	q.node.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		at, known := q.members.find(id)
		if !known {
			return
		}
		m, p := &list[at], q.peers[id]
		m.Match = pr.Match
		switch {
		case id == q.self:
			m.Active, m.SinceFetch, m.SinceCaughtUp = true, 0, 0
		case p != nil && p.lastEnd > 0:
			m.SinceFetch = int(q.ticks - p.heard)
			m.Active = m.SinceFetch <= q.cfg.ElectionTicks
			if p.known {
				m.SinceCaughtUp = int(q.ticks - p.caughtUp)
			}
		}
	})
}
