package quorum

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment"
)

// DirName is the quorum's directory below a node's state directory.
const DirName = "quorum"

// Exists reports whether there is a quorum directory, sound or not.
func Exists(fsys segment.FS, dir string) (bool, error) {
	_, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Create makes a quorum directory, whole or not at all: what a crash leaves goes by another name and is replaced by the next
// Create. The directory above dir must be there and durable. With voters it is a bootstrap voter's: every one of them must be
// given the same voters and the same snapshot, the state from which the cluster begins, at index 1 and term 1. Without voters
// it is a learner's, which gets everything from the leader that adds it. Errors: ErrExists, ErrIdentity, ErrMember,
// ErrTooLarge, or the file system's.
func Create(fsys segment.FS, dir string, id Identity, voters []Member, initial []byte) error {
	first, err := bootstrapSnapshot(id, voters, initial)
	if err != nil {
		return err
	}
	if exists, err := Exists(fsys, dir); err != nil || exists {
		return errors.Join(err, errIf(exists, fmt.Errorf("%w: %s", ErrExists, dir)))
	}
	if err := create(fsys, dir+segment.TempSuffix, id, first); err != nil {
		return fmt.Errorf("quorum: make %s: %w", dir, err)
	}
	if err := errors.Join(fsys.Rename(dir+segment.TempSuffix, dir), fsys.SyncDir(path.Dir(dir))); err != nil {
		return fmt.Errorf("quorum: make %s: %w", dir, err)
	}
	return nil
}

func errIf(when bool, err error) error {
	if when {
		return err
	}
	return nil
}

// bootstrapSnapshot is the snapshot with which all bootstrap voters begin, or the zero one for a learner.
func bootstrapSnapshot(id Identity, voters []Member, initial []byte) (snapshot, error) {
	if err := id.check(); err != nil {
		return snapshot{}, err
	}
	if len(initial) > SnapshotBytesMax {
		return snapshot{}, fmt.Errorf("%w: a snapshot of %d bytes", ErrTooLarge, len(initial))
	}
	if len(voters) == 0 {
		return snapshot{}, errIf(len(initial) > 0, fmt.Errorf("%w: a learner with a snapshot", ErrMember))
	}
	ms, err := sortedMembers(voters)
	if err != nil {
		return snapshot{}, err
	}
	for i := range ms {
		ms[i].Voter = true
	}
	if at, found := ms.find(RaftID(id.DirectoryID)); !found || ms[at].ReplicaKey != (ReplicaKey{id.NodeID, id.DirectoryID}) {
		return snapshot{}, fmt.Errorf("%w: node %d is none of the voters", ErrMember, id.NodeID)
	}
	return snapshot{index: 1, term: 1, members: ms, data: initial}, nil
}

// create makes the directory under its temporary name, all of it durable but that name.
func create(fsys segment.FS, dir string, id Identity, first snapshot) error {
	if err := errors.Join(fsys.RemoveAll(dir), fsys.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	s := &store{wal: &wal{fs: fsys, dir: dir, bytesMax: math.MaxInt64}, hard: &pb.HardState{}}
	if first.index > 0 {
		if err := s.writeSnapshot(first); err != nil {
			return err
		}
		s.hard = &pb.HardState{Term: new(first.term), Vote: new(uint64), Commit: new(first.index)}
	}
	if err := s.wal.begin(0); err != nil {
		return err
	}
	s.reset()
	defer s.wal.abandon()
	if _, err := s.wal.append(s.state(), &s.snap, s.snap.index, nil); err != nil {
		return err
	}
	return fsys.WriteFileAtomic(path.Join(dir, identityName), id.appendTo(nil))
}
