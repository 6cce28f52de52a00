// Package quorum is a member of the metadata quorum: go.etcd.io/raft/v3 with a log, snapshots and members of its own on disk.
// FORMAT.md describes the directory.
//
// It is pure but for the disk, which it reaches through segment.FS: no goroutine, clock, lock, or randomness but what it is
// given. It knows neither what entries mean (control/image does) nor how messages travel (node's business). It is not the
// controller: it says who leads.
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
//	q.Step(m), q.Propose(id, data), ...     as things happen; q.Confirm(id) before a leader says what is not in the log
//	for q.HasReady() {                      after any of them
//		eff, err := q.Ready()               err: stop for good
//		install eff.Snapshot, apply eff.Applied, send eff.Messages
//		if eff.WantSnapshot { q.Compact(eff.AppliedIndex, state) }
//	}
//
// A Quorum belongs to one goroutine. Ready and Compact wait for the disk. Entries are proposed by the leader alone, when it is
// ready; others ask it. A proposal whose leader lost its place may still be committed, or not: its number in an entry tells.
//
// # The life of a member
//
//	Create with voters ─▶ voter ◀── AddVoter ──── learner ◀── AddLearner ── Create without voters
//	                        │ ──── RemoveVoter ──▶ │
//	                        └───── Remove ─▶ gone ◀┘          it may never hear of that; its directory may be added again
//
// A member is its directory: a node whose disk is lost or damaged comes back with a new directory as a new member, and the old
// one is removed. A learner begins with a snapshot of the leader's; one that knows of it has to be made first
// (Effects.WantSnapshot).
//
// # Changes of members and elections
//
// A change takes effect at each member when it applies the entry, which is the raft library's way and not the paper's. Between
// that and the others' hearing of it they count by the old list, so three more rules keep the quorum alive: that a change is
// committed is durable before it takes effect; a leader does not propose that it stops to vote (ErrLeader); and if an
// earlier leader has, it proposes nothing of its own before, and goes on leading until it has handed over.
//
// Followers and candidates have a timer of ours, since the library's draws from a source that cannot be given (timer.go).
//
// # Invariants
//
//	Q1 synced first    what a message or an applied entry depends on is on disk before Ready returns it
//	Q2 final           after the first failed write, sync or read nothing is written, sent or applied any more. A full disk is no
//	                   such failure: the same is written again when there is room
//	Q3 never empty     a damaged directory is a *CorruptionError; only one that is not there is ErrNoQuorum. One that
//	                   was found to have lost what it had acknowledged is damaged from then on
//	Q4 one order       all members apply the same entries in the same order
//	Q5 one leader      of a term there is one leader at most
//	Q6 one at a time   a change of members is proposed after the one before it has taken effect, by a leader that has
//	                   applied an entry of its own term
//	Q7 one truth       the members after a change are the raft library's
//	Q8 repeatable      the same calls with the same Rand give the same effects
//	Q9 newest          whom Effects.Confirmed answers has all that anybody had applied when it asked
package quorum
