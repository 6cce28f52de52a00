package quorum

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Message is a message between members. It may be lost, doubled, delayed or overtaken.
type Message struct {
	To, From uint64 // raft ids
	Data     []byte // a version, a checksum and a raftpb.Message
	Snapshot bool   // it carries a snapshot: large, and better not queued before others; not part of Data
}

// MessageBytesMax bounds the data of a message: a snapshot and what is around it.
const MessageBytesMax = SnapshotBytesMax + 1<<20

// messageVersion begins a message's data. A member drops what it does not know: raft sends it again, and releases that
// speak two versions speak the older one to members that know no other.
const messageVersion = 1

const messageOverhead = 1 + 4 // version, checksum

// termMax keeps terms within Kafka's leader epochs. Nothing but damage leads there.
const termMax = math.MaxInt32

func encodeMessage(m *pb.Message) (Message, error) {
	data := make([]byte, messageOverhead, messageOverhead+proto.Size(m))
	data, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(data, m)
	if err != nil {
		return Message{}, fmt.Errorf("%w: encode %s: %v", ErrInternal, m.GetType(), err)
	}
	data[0] = messageVersion
	binary.BigEndian.PutUint32(data[1:], crc32.Checksum(data[messageOverhead:], castagnoli))
	return Message{To: m.GetTo(), From: m.GetFrom(), Data: data, Snapshot: m.GetType() == pb.MsgSnap}, nil
}

// decodeMessage reads a message to self and checks all that can be checked without knowing this member's state.
func decodeMessage(self uint64, msg Message) (*pb.Message, error) {
	data := msg.Data
	if len(data) < messageOverhead || len(data) > MessageBytesMax || data[0] != messageVersion {
		return nil, fmt.Errorf("%w: %d bytes of no known version", ErrMessage, len(data))
	}
	if crc32.Checksum(data[messageOverhead:], castagnoli) != binary.BigEndian.Uint32(data[1:]) {
		return nil, fmt.Errorf("%w: %w", ErrMessage, errChecksum)
	}
	m := new(pb.Message)
	if err := proto.Unmarshal(data[messageOverhead:], m); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrMessage, err)
	}
	if m.GetTo() != self || m.GetTo() != msg.To || m.GetFrom() != msg.From || m.GetFrom() == self || !validRaftID(m.GetFrom()) {
		return nil, fmt.Errorf("%w: from %x to %x, by its envelope from %x to %x, and this is %x", ErrMessage, m.GetFrom(), m.GetTo(), msg.From, msg.To, self)
	}
	if problem := messageProblem(m); problem != "" {
		return nil, fmt.Errorf("%w: a %s from %x with %s", ErrMessage, m.GetType(), m.GetFrom(), problem)
	}
	return m, nil
}

// messageProblem says what no member would send.
func messageProblem(m *pb.Message) string {
	if m.GetTerm() < 1 || m.GetTerm() > termMax {
		return fmt.Sprintf("term %d", m.GetTerm())
	}
	if len(m.GetResponses()) > 0 || (m.GetType() != pb.MsgApp && len(m.GetEntries()) > 0) {
		return "something that belongs to other messages"
	}
	switch m.GetType() {
	case pb.MsgApp:
		return entriesProblem(m)
	case pb.MsgSnap:
		return snapshotProblem(m)
	case pb.MsgAppResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgHeartbeat, pb.MsgHeartbeatResp, pb.MsgPreVote, pb.MsgPreVoteResp, pb.MsgTimeoutNow:
		return ""
	}
	return "a type that members do not send"
}

// entriesProblem checks that entries follow each other and the one before them, and that this release can apply them.
func entriesProblem(m *pb.Message) string {
	index, term := m.GetIndex(), m.GetLogTerm()
	for _, e := range m.GetEntries() {
		if e.GetIndex() != index+1 || e.GetTerm() < term || e.GetTerm() > m.GetTerm() || e.GetTerm() == 0 {
			return fmt.Sprintf("entry %d of term %d after %d of term %d", e.GetIndex(), e.GetTerm(), index, term)
		}
		if _, _, err := readEntry(e); err != nil {
			return err.Error()
		}
		index, term = e.GetIndex(), e.GetTerm()
	}
	return ""
}

func snapshotProblem(m *pb.Message) string {
	s, err := readSnapshotMessage(m.GetSnapshot())
	switch {
	case err != nil:
		return err.Error()
	case s.term > m.GetTerm():
		return fmt.Sprintf("a snapshot of term %d in term %d", s.term, m.GetTerm())
	}
	return ""
}
