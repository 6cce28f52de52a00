package quorum

import (
	"encoding/binary"
	"fmt"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
)

// ChangeKind is what a Change does.
type ChangeKind uint8

// The kinds of changes. Each changes at most one voter, so that the majorities before and after it have a member in common
// (Ongaro, Consensus: Bridging Theory and Practice, 4.1).
const (
	AddLearner  ChangeKind = iota + 1 // a new member that does not vote
	AddVoter                          // a learner becomes a voter
	RemoveVoter                       // a voter becomes a learner
	Remove                            // a member leaves
	Update                            // a member has other endpoints
)

var changeNames = [...]string{AddLearner: "add-learner", AddVoter: "add-voter", RemoveVoter: "remove-voter", Remove: "remove", Update: "update"}

// String gives the kind's name.
func (k ChangeKind) String() string {
	if !k.known() {
		return fmt.Sprintf("change(%d)", uint8(k))
	}
	return changeNames[k]
}

func (k ChangeKind) known() bool { return k >= AddLearner && k <= Update }

// raftTypes are the raft library's names of the kinds.
var raftTypes = [...]pb.ConfChangeType{
	AddLearner: pb.ConfChangeAddLearnerNode, AddVoter: pb.ConfChangeAddNode, RemoveVoter: pb.ConfChangeAddLearnerNode,
	Remove: pb.ConfChangeRemoveNode, Update: pb.ConfChangeUpdateNode,
}

// Change is a change of one member.
type Change struct {
	Kind   ChangeKind
	Member Member // as it is after the change, or was before it left
}

// applied gives the members after c. The error wraps ErrMember.
func (ms members) applied(c Change) (members, error) {
	at, known := ms.find(c.Member.RaftID())
	if known != (c.Kind != AddLearner) {
		return nil, fmt.Errorf("%w: %s of %s", ErrMember, c.Kind, c.Member.ReplicaKey)
	}
	if c.Kind == AddLearner {
		if len(ms) == membersMax {
			return nil, fmt.Errorf("%w: there are %d members already", ErrMember, len(ms))
		}
		return slices.Insert(slices.Clone(ms), at, c.Member), nil
	}
	was := ms[at]
	if was.ReplicaKey != c.Member.ReplicaKey {
		return nil, fmt.Errorf("%w: %s of %s, but the member is %s", ErrMember, c.Kind, c.Member.ReplicaKey, was.ReplicaKey)
	}
	if (c.Kind == RemoveVoter || c.Kind == Remove) && was.Voter && ms.voters() == 1 {
		return nil, fmt.Errorf("%w: %s is the last voter", ErrMember, was.ReplicaKey)
	}
	if (c.Kind == AddVoter && was.Voter) || (c.Kind == RemoveVoter && !was.Voter) || (c.Kind == Update && was.Voter != c.Member.Voter) {
		return nil, fmt.Errorf("%w: %s of %s changes nothing", ErrMember, c.Kind, was.ReplicaKey)
	}
	if c.Kind == Remove {
		return slices.Delete(slices.Clone(ms), at, at+1), nil
	}
	after := slices.Clone(ms)
	after[at] = c.Member
	return after, nil
}

// changeVersion is the version of a change's context in an entry.
const changeVersion = 1

// appendTo writes the change as the context of a ConfChange.
func (c Change) appendTo(dst []byte, origin, proposal uint64) []byte {
	dst = append(dst, changeVersion)
	dst = binary.BigEndian.AppendUint64(dst, origin)
	dst = binary.BigEndian.AppendUint64(dst, proposal)
	return c.Member.appendTo(append(dst, uint8(c.Kind)))
}

func readChange(src []byte) (c Change, origin, proposal uint64, err error) {
	r := cursor{src: src}
	if v := r.uint8(); !r.failed && v != changeVersion {
		return c, 0, 0, fmt.Errorf("%w: a change of members of version %d", ErrNewerFormat, v)
	}
	origin, proposal, c.Kind, c.Member = r.uint64(), r.uint64(), ChangeKind(r.uint8()), r.member()
	if !r.done() || !c.Kind.known() || (c.Kind == AddVoter) != c.Member.Voter && c.Kind <= RemoveVoter {
		return c, 0, 0, fmt.Errorf("%w: a change of members", errFormat)
	}
	return c, origin, proposal, nil
}

func (c Change) confChange(origin, proposal uint64) *pb.ConfChange {
	return &pb.ConfChange{Type: raftTypes[c.Kind].Enum(), NodeId: new(c.Member.RaftID()), Context: c.appendTo(nil, origin, proposal)}
}
