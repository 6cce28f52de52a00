package quorum

import (
	"encoding/binary"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Entry is a committed entry. Every member gets the same ones in the same order.
type Entry struct {
	Index, Term uint64
	Origin      uint64  // raft id of the member that proposed it
	Proposal    uint64  // the number that it gave to Propose or to the change's method
	Data        []byte  // what was proposed; read-only
	Change      *Change // a change of members that took effect; Data is nil then
}

// entryVersion begins the data of an entry in the log and in messages.
const entryVersion = 1

// entryOverhead is the version, the origin and the proposal's number before an entry's data.
const entryOverhead = 1 + 8 + 8

func appendProposal(dst []byte, origin, proposal uint64, data []byte) []byte {
	dst = append(dst, entryVersion)
	dst = binary.BigEndian.AppendUint64(dst, origin)
	dst = binary.BigEndian.AppendUint64(dst, proposal)
	return append(dst, data...)
}

// readEntry gives the Entry that a raft entry carries. ok is false for the entry without data with which a leader begins.
func readEntry(e *pb.Entry) (entry Entry, ok bool, err error) {
	entry = Entry{Index: e.GetIndex(), Term: e.GetTerm()}
	switch data := e.GetData(); {
	case e.GetType() == pb.EntryConfChange:
		var c Change
		c, entry.Origin, entry.Proposal, err = readConfChange(data)
		entry.Change = &c
		return entry, err == nil, err
	case e.GetType() != pb.EntryNormal:
		return entry, false, fmt.Errorf("%w: an entry of type %d", ErrNewerFormat, e.GetType())
	case len(data) == 0:
		return entry, false, nil
	case data[0] != entryVersion:
		return entry, false, fmt.Errorf("%w: an entry of version %d", ErrNewerFormat, data[0])
	case len(data) < entryOverhead:
		return entry, false, fmt.Errorf("%w: an entry of %d bytes", errFormat, len(data))
	default:
		entry.Origin, entry.Proposal = binary.BigEndian.Uint64(data[1:]), binary.BigEndian.Uint64(data[9:])
		entry.Data = data[entryOverhead:len(data):len(data)]
		return entry, true, nil
	}
}

// readConfChange reads an entry of a change of members and checks that the raft library makes of it what Change says.
func readConfChange(data []byte) (Change, uint64, uint64, error) {
	var cc pb.ConfChange
	if err := proto.Unmarshal(data, &cc); err != nil {
		return Change{}, 0, 0, fmt.Errorf("%w: a change of members: %v", errFormat, err)
	}
	c, origin, proposal, err := readChange(cc.GetContext())
	if err == nil && (cc.GetType() != raftTypes[c.Kind] || cc.GetNodeId() != c.Member.RaftID()) {
		err = fmt.Errorf("%w: %s of %s is %s of %x to raft", errFormat, c.Kind, c.Member.ReplicaKey, cc.GetType(), cc.GetNodeId())
	}
	return c, origin, proposal, err
}
