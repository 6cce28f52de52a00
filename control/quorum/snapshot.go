package quorum

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	pb "go.etcd.io/raft/v3/raftpb"
)

// SnapshotBytesMax bounds what is given to Compact and Create.
const SnapshotBytesMax = 64 << 20

// snapshot is a state that stands for all entries up to an index.
type snapshot struct {
	index, term uint64
	members     members // as of index
	data        []byte  // the owner's
}

// snapshotVersion is the version of a snapshot in a file and in a message.
const snapshotVersion = 1

// appendPayload writes what of a snapshot the raft library carries as its data: version, members, the owner's data.
func (s snapshot) appendPayload(dst []byte) []byte {
	return append(s.members.appendTo(append(dst, snapshotVersion)), s.data...)
}

func (s *snapshot) readPayload(src []byte) error {
	r := cursor{src: src}
	if v := r.uint8(); !r.failed && v != snapshotVersion {
		return fmt.Errorf("%w: a snapshot of version %d", ErrNewerFormat, v)
	}
	s.members = r.members()
	if r.failed || s.members.voters() == 0 || len(r.src) > SnapshotBytesMax || s.index == 0 || s.term == 0 || s.term > termMax {
		return fmt.Errorf("%w: a snapshot", errFormat)
	}
	s.data = r.src
	return nil
}

// readSnapshotMessage reads the snapshot of a message, and checks that the raft library's members are the snapshot's.
func readSnapshotMessage(p *pb.Snapshot) (snapshot, error) {
	s := snapshot{index: p.GetMetadata().GetIndex(), term: p.GetMetadata().GetTerm()}
	if err := s.readPayload(p.GetData()); err != nil {
		return s, err
	}
	if !s.members.matches(p.GetMetadata().GetConfState()) {
		return s, fmt.Errorf("%w: a snapshot whose members are not raft's", errFormat)
	}
	return s, nil
}

func (s snapshot) raftSnapshot() *pb.Snapshot {
	return &pb.Snapshot{
		Data:     s.appendPayload(nil),
		Metadata: &pb.SnapshotMetadata{ConfState: s.members.confState(), Index: new(s.index), Term: new(s.term)},
	}
}

const (
	snapshotMagic  = "RMQS"
	snapshotHeader = 4 + 4 + 8 + 8 // magic, checksum, index, term
	snapshotSuffix = ".checkpoint"
)

// appendFile writes the snapshot's file.
func (s snapshot) appendFile(dst []byte) []byte {
	dst = append(append(dst, snapshotMagic...), 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, s.index)
	dst = binary.BigEndian.AppendUint64(dst, s.term)
	dst = s.appendPayload(dst)
	binary.BigEndian.PutUint32(dst[4:], crc32.Checksum(dst[8:], castagnoli))
	return dst
}

// readSnapshotFile reads the snapshot's file, whose name says which one it is.
func readSnapshotFile(name snapshotName, data []byte) (s snapshot, err error) {
	if len(data) < snapshotHeader || string(data[:4]) != snapshotMagic {
		return s, errFormat
	}
	if crc32.Checksum(data[8:], castagnoli) != binary.BigEndian.Uint32(data[4:]) {
		return s, errChecksum
	}
	s.index, s.term = binary.BigEndian.Uint64(data[8:]), binary.BigEndian.Uint64(data[16:])
	if s.index != name.index || s.term != name.term {
		return s, fmt.Errorf("%w: it is the snapshot at %d of term %d", errFormat, s.index, s.term)
	}
	return s, s.readPayload(data[snapshotHeader:])
}

// snapshotName is what a snapshot's file name says, much as Kafka's checkpoints do: <index>-<term>.checkpoint.
type snapshotName struct{ index, term uint64 }

func (n snapshotName) String() string {
	return fmt.Sprintf("%020d-%010d%s", n.index, n.term, snapshotSuffix)
}

func parseSnapshotName(name string) (n snapshotName, ok bool) {
	index, term, found := strings.Cut(strings.TrimSuffix(name, snapshotSuffix), "-")
	if !found {
		return n, false
	}
	var err1, err2 error
	n.index, err1 = strconv.ParseUint(index, 10, 64)
	n.term, err2 = strconv.ParseUint(term, 10, 64)
	return n, err1 == nil && err2 == nil && n.String() == name
}
