package quorum

import (
	"errors"
	"fmt"
)

// What Open and Create answer.
var (
	// ErrNoQuorum: there is no quorum directory. A node of which that is true has no part in a cluster yet.
	ErrNoQuorum = errors.New("quorum: there is no quorum directory")
	// ErrExists: Create found a quorum directory.
	ErrExists = errors.New("quorum: there is a quorum directory already")
	// ErrIdentity: an Identity or a member's key that cannot be one.
	ErrIdentity = errors.New("quorum: not an identity")
	// ErrNewerFormat: a newer release wrote it. A release that does not know a record must not go on without what it says.
	ErrNewerFormat = errors.New("quorum: the format is newer than this release")
)

// What a running quorum answers.
var (
	// ErrNotLeader: only the leader proposes. Effects.Leader names it, if there is one.
	ErrNotLeader = errors.New("quorum: not the leader")
	// ErrNotReady: the leader has not applied an entry of its own term yet; soon.
	ErrNotReady = errors.New("quorum: the leader has not caught up with its own log yet")
	// ErrBusy: more than Config.UncommittedBytesMax is waiting to be committed, or the leadership is being handed over.
	ErrBusy = errors.New("quorum: too much is waiting to be committed, or the leadership is being handed over")
	// ErrTooLarge: a proposal of more than EntryBytesMax.
	ErrTooLarge = errors.New("quorum: the proposal is too large")
	// ErrChangePending: an earlier change of members has not taken effect yet (there is one at a time).
	ErrChangePending = errors.New("quorum: a change of members is in progress")
	// ErrNotCaughtUp: a learner that is behind the leader's log must not be made a voter, for it could hold commits up.
	ErrNotCaughtUp = errors.New("quorum: the learner has not caught up")
	// ErrLeader: a leader does not propose that it stops to be a voter. It hands the leadership over first.
	ErrLeader = errors.New("quorum: the leader must hand the leadership over first")
	// ErrMember: a change of members that changes nothing or is not possible: an unknown member, one that is what it shall
	// become, the last voter, two directories with one raft id.
	ErrMember = errors.New("quorum: not a possible change of members")
	// ErrMessage: not a message of this version, damaged, for somebody else, or one that no member would send. It changed
	// nothing.
	ErrMessage = errors.New("quorum: not a message for this member")
	// ErrCompactIndex: Compact of an index that is not between the last snapshot's and the last applied one.
	ErrCompactIndex = errors.New("quorum: no snapshot can be made at that index")
	// ErrLostEntries: the leader knows of entries that this member has acknowledged and does not have. Its disk has lost
	// them unnoticed; the member stops for good, since it may have voted with what it lost, and Open refuses its directory from then on.
	ErrLostEntries = errors.New("quorum: the log has lost entries that it had acknowledged")
	// ErrFull: the disk has no room, of Ready and Compact. Nothing was changed; Ready goes on where it was once there is room, and
	// until then gives nothing, so that the other members do without this one.
	ErrFull = errors.New("quorum: the disk is full")
	// ErrInternal: the raft library found its state impossible. Final, as a failed write is.
	ErrInternal = errors.New("quorum: impossible state")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("quorum: closed")
)

var (
	errChecksum = errors.New("the checksum does not match")
	errFormat   = errors.New("not in its format")
	errGap      = errors.New("something is missing before it")
	errBehind   = errors.New("the log ends before what was durable once")
	errMissing  = errors.New("a file is missing")
)

// CorruptionError says what of a quorum directory cannot be read. Nothing was changed. The member must not start: it may
// have told others that it has what is now damaged. It comes back as a new member, with a new directory.
type CorruptionError struct {
	File     string
	Position int64 // byte in the file; of a batch in a .log its first one
	Err      error
}

func (e *CorruptionError) Error() string {
	if errors.Is(e.Err, ErrLostEntries) { // the file is whole: it is the note that says so
		return fmt.Sprintf("quorum: %s says that no member may start here any more, move the data directory away: %v", e.File, e.Err)
	}
	return fmt.Sprintf("quorum: %s is damaged at byte %d: %v", e.File, e.Position, e.Err)
}

func (e *CorruptionError) Unwrap() error { return e.Err }
