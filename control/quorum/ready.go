package quorum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
)

// Effects is what the owner must do after a Ready, in the order of the fields: all that they depend on is durable. Messages
// may be sent in any order, or not at all.
type Effects struct {
	// Snapshot replaces the owner's state, before Applied; nil: none. The first Ready after Open gives the one on disk, if
	// there is one. A snapshot may be empty but is not nil then.
	Snapshot []byte
	// Applied are entries to apply, in order. Entries with a Change change nothing of the owner's state.
	Applied []Entry
	// AppliedIndex and AppliedTerm are of the last entry that this or an earlier Ready gave, or of the snapshot. The index is
	// the one for Compact after the entries above have been applied.
	AppliedIndex, AppliedTerm uint64
	Messages                  []Message
	// Confirmed is the greatest number of a Confirm that has come true with this Ready; 0: none has.
	Confirmed uint64

	// Leader is the leader's raft id, or 0; Term is this member's.
	Leader, Term uint64
	IsLeader     bool
	// LeaderReady: it leads and has given all entries of earlier leaders. From here on the state is the newest there is.
	LeaderReady bool
	// WantSnapshot asks for a Compact: the log has grown by Config.SnapshotBytes, or a member needs a snapshot that knows of
	// it. It stands until then.
	WantSnapshot bool
}

// HasReady reports whether Ready has something to give. The owner calls Ready until it has not.
func (q *Quorum) HasReady() bool {
	return q.failed != nil || q.unsaved != nil || q.install != nil || q.wantSnapshot() && !q.asked || q.node.HasReady()
}

// Ready makes what has to be durable so, and then says what is to be done. After an error, which is final but for ErrFull, nothing is.
func (q *Quorum) Ready() (eff Effects, err error) {
	err = q.guard(func() error {
		before := q.status()
		install := q.install
		if install != nil {
			eff.Snapshot = append([]byte{}, install.data...)
			q.install = nil
		}
		if q.unsaved != nil || q.node.HasReady() {
			err := q.ready(&eff)
			if errors.Is(err, ErrFull) {
				q.install = install
				return err
			}
			if err != nil {
				q.failed = err
				return err
			}
		}
		q.turned(before)
		return nil
	})
	if err != nil {
		return Effects{}, err
	}
	q.describe(&eff)
	return eff, nil
}

// ready takes one Ready of the raft library: store, apply, advance.
func (q *Quorum) ready(eff *Effects) error {
	rd := q.takeReady()
	if err := q.store.save(rd.HardState, rd.Snapshot, rd.Entries, rd.MustSync || changesMembers(rd.CommittedEntries)); err != nil {
		if errors.Is(err, ErrFull) {
			q.unsaved = &rd
		}
		return err
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		if err := q.installed(eff, rd.Snapshot); err != nil {
			return err
		}
	}
	for _, m := range rd.Messages {
		encoded, err := encodeMessage(m)
		if err != nil {
			return err
		}
		eff.Messages = append(eff.Messages, encoded)
	}
	for _, e := range rd.CommittedEntries {
		if err := q.apply(eff, e); err != nil {
			return err
		}
	}
	q.reads = append(q.reads, rd.ReadStates...)
	eff.Confirmed = q.confirmed()
	q.node.Advance(rd)
	return nil
}

// confirmed takes the reads whose state has been applied, and gives the newest one's number.
func (q *Quorum) confirmed() (number uint64) {
	for len(q.reads) > 0 && q.reads[0].Index <= q.applied.index {
		number = binary.BigEndian.Uint64(q.reads[0].RequestCtx)
		q.reads = q.reads[1:]
	}
	return number
}

// takeReady takes the library's next Ready, or the one that there was no room for.
func (q *Quorum) takeReady() raft.Ready {
	if rd := q.unsaved; rd != nil {
		q.unsaved = nil
		return *rd
	}
	return q.node.Ready()
}

// changesMembers: that a change is committed must be durable before it takes effect. A voter that has acted on the removal of
// another, and after a crash knows it as a voter again, could wait for its vote for ever.
func changesMembers(committed []*pb.Entry) bool {
	return slices.ContainsFunc(committed, func(e *pb.Entry) bool { return e.GetType() == pb.EntryConfChange })
}

// installed takes a snapshot that the leader has sent.
func (q *Quorum) installed(eff *Effects, p *pb.Snapshot) error {
	snap, err := readSnapshotMessage(p)
	if err != nil {
		return err
	}
	eff.Snapshot = append([]byte{}, snap.data...)
	q.members, q.applied = snap.members, position{snap.index, snap.term}
	q.configs = []configAt{{snap.index, snap.members}}
	q.store.lastConf = 0
	return nil
}

// apply takes a committed entry.
func (q *Quorum) apply(eff *Effects, e *pb.Entry) error {
	if e.GetIndex() != q.applied.index+1 {
		return fmt.Errorf("%w: entry %d is applied after %d", ErrInternal, e.GetIndex(), q.applied.index)
	}
	q.applied = position{e.GetIndex(), e.GetTerm()}
	entry, ok, err := readEntry(e)
	if err != nil {
		return fmt.Errorf("quorum: entry %d: %w", e.GetIndex(), err)
	}
	if !ok {
		return nil
	}
	if entry.Change != nil {
		if err := q.applyChange(entry, e); err != nil {
			return err
		}
	}
	eff.Applied = append(eff.Applied, entry)
	return nil
}

// describe fills in what the effects say of this member's place. A term that began in this very Ready is told of by the next
// one, when it is durable; in the old one there is no leader any more that this member would follow.
func (q *Quorum) describe(eff *Effects) {
	status := q.status()
	eff.Term = q.store.hard.GetTerm()
	if eff.Term == status.GetTerm() {
		eff.Leader, eff.IsLeader = status.Lead, status.RaftState == raft.StateLeader
	}
	eff.AppliedIndex, eff.AppliedTerm = q.applied.index, q.applied.term
	eff.LeaderReady = q.leaderReady(status)
	eff.WantSnapshot = q.wantSnapshot()
	q.asked = eff.WantSnapshot
}

// leaderReady: entries of a term are its leader's, and the first of them comes after all that earlier leaders have left. One
// of those may have been that this member is no voter any more.
func (q *Quorum) leaderReady(status raft.BasicStatus) bool {
	return status.RaftState == raft.StateLeader && q.applied.term == status.GetTerm() && q.votes()
}

// wantSnapshot: there must be something new to make one of.
func (q *Quorum) wantSnapshot() bool {
	return (q.store.wanted || q.store.logBytes >= q.cfg.SnapshotBytes) && q.applied.index > q.store.snap.index
}

// Compact makes data, the owner's state after the entry at index, the snapshot, and drops the log below it but for
// Config.TrailingEntries. index is an Effects.AppliedIndex or that of an Entry since the last snapshot; entries may have been
// applied meanwhile. Errors: ErrCompactIndex, ErrTooLarge, ErrFull, which change nothing; any other is final.
func (q *Quorum) Compact(index uint64, data []byte) error {
	return q.guard(func() error {
		if index <= q.store.snap.index || index > q.applied.index || q.install != nil {
			return fmt.Errorf("%w: %d, with a snapshot at %d and applied up to %d", ErrCompactIndex, index, q.store.snap.index, q.applied.index)
		}
		if len(data) > SnapshotBytesMax {
			return fmt.Errorf("%w: a snapshot of %d bytes", ErrTooLarge, len(data))
		}
		term, err := q.store.Term(index)
		if err != nil {
			return err
		}
		snap := snapshot{index: index, term: term, members: q.membersAt(index), data: data}
		through := index - min(index, uint64(q.cfg.TrailingEntries))
		err = q.store.compact(snap, through)
		q.asked = errors.Is(err, ErrFull) // then it is asked for with a later Ready
		return err
	})
}

// membersAt gives the members after the entry at index, and forgets what they were before.
func (q *Quorum) membersAt(index uint64) members {
	at := 0
	for at+1 < len(q.configs) && q.configs[at+1].index <= index {
		at++
	}
	q.configs = q.configs[at:]
	return q.configs[0].members
}
