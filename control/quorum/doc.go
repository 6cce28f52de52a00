// Package quorum is a member of the metadata quorum: go.etcd.io/raft/v3 with a log, snapshots and members of its own on disk.
// FORMAT.md describes the directory.
//
// It is pure but for the disk, which it reaches through segment.FS: no goroutine, clock, lock, or randomness but what it is
// given. It knows neither what entries mean (control/image does) nor how messages travel (node's business). It is not the
// controller: it says who leads.
//
// What differs from the first agreement on this room: Create takes Members (voters with endpoints), a ReplicaKey is what was
// called a Voter, HasReady says when to call Ready, Effects has AppliedIndex and WantSnapshot, and AddVoter promotes a
// learner.
//
// # The life of an entry
//
//	Propose ─▶ raft ─▶ Ready: written, synced ─▶ Effects.Messages ─▶ Step of the others ─▶ Ready: written, synced
//	                     │                                                                          │
//	                     └──── Effects.Applied, everywhere, in one order ◀── majority ◀── Messages ◀┘
//
// # How it is driven
//
//	q, err := quorum.Open(fs, dir, cfg)     once; Create before it, once in the directory's life
//	q.Tick()                                at even intervals
//	q.Step(m), q.Propose(id, data), ...     as things happen
//	for q.HasReady() {                      after any of them
//		eff, err := q.Ready()               err: stop for good
//		install eff.Snapshot, apply eff.Applied, send eff.Messages
//		if eff.WantSnapshot { q.Compact(eff.AppliedIndex, state) }
//	}
//
// A Quorum belongs to one goroutine. Ready and Compact wait for the disk.
//
// # Invariants
//
//	Q1 synced first    what a message or an applied entry depends on is on disk before Ready returns it
//	Q2 final           after the first failed write, sync or read nothing is written, sent or applied any more
//	Q3 never empty     a damaged directory is a *CorruptionError; only one that is not there is ErrNoQuorum
//	Q4 one order       all members apply the same entries in the same order
//	Q5 one leader      of a term there is one leader at most
//	Q6 one at a time   a change of members is proposed after the one before it has taken effect, by a leader that has
//	                   applied an entry of its own term
//	Q7 one truth       the members after a change are the raft library's
//	Q8 repeatable      the same calls with the same Rand give the same effects
package quorum
