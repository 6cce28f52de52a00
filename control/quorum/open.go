package quorum

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment"
)

// found is what is in a quorum directory.
type found struct {
	snapshots []snapshotName // oldest first
	bases     []int64        // of the log's segments, in order
	temps     []string       // unfinished files
	lost      bool           // lostName is there
}

// list lists a quorum directory. A file that nobody wrote is an error: it could be a newer release's, or a damaged name.
func list(fsys segment.FS, dir string) (f found, err error) {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("%w: %s", ErrNoQuorum, dir)
	}
	for _, e := range entries {
		base, isLog := logBase(e.Name)
		snap, isSnapshot := parseSnapshotName(e.Name)
		switch {
		case e.IsDir:
			return f, &CorruptionError{File: path.Join(dir, e.Name), Err: errFormat}
		case isLog:
			f.bases = append(f.bases, base)
		case isSnapshot:
			f.snapshots = append(f.snapshots, snap)
		case strings.HasSuffix(e.Name, segment.TempSuffix):
			f.temps = append(f.temps, e.Name)
		case e.Name == lostName:
			f.lost = true
		case e.Name != identityName:
			return f, &CorruptionError{File: path.Join(dir, e.Name), Err: errFormat}
		}
	}
	slices.Sort(f.bases)
	slices.SortFunc(f.snapshots, func(a, b snapshotName) int { return cmp.Compare(a.index, b.index) })
	if err == nil && len(f.bases) == 0 {
		err = &CorruptionError{File: path.Join(dir, logName(0)), Err: errMissing}
	}
	return f, err
}

// ReadIdentity reads whose directory it is. Errors: ErrNoQuorum, *CorruptionError, the file system's.
func ReadIdentity(fsys segment.FS, dir string) (Identity, error) {
	name := path.Join(dir, identityName)
	data, err := fsys.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if exists, _ := Exists(fsys, dir); !exists {
			return Identity{}, fmt.Errorf("%w: %s", ErrNoQuorum, dir)
		}
		return Identity{}, &CorruptionError{File: name, Err: errMissing}
	}
	if err != nil {
		return Identity{}, err
	}
	id, err := readIdentity(data)
	if err != nil {
		return Identity{}, &CorruptionError{File: name, Err: err}
	}
	return id, nil
}

// openStore recovers the directory. Nothing in it is changed before all of it has been found sound.
func openStore(fsys segment.FS, dir string, cfg Config) (s *store, owner []byte, err error) {
	f, err := list(fsys, dir)
	if err == nil && f.lost {
		err = lostAt(fsys, dir)
	}
	if err != nil {
		return nil, nil, err
	}
	var snap snapshot
	if n := len(f.snapshots); n > 0 {
		if snap, err = readSnapshotAt(fsys, dir, position(f.snapshots[n-1])); err != nil {
			return nil, nil, err
		}
	}
	o, err := readWal(fsys, dir, f.bases)
	if err != nil {
		return nil, nil, err
	}
	s = &store{wal: o.wal, snap: position{snap.index, snap.term}, members: snap.members}
	s.wal.bytesMax, s.cache.bytesMax = cfg.SegmentBytes, cfg.CacheBytes
	settled, err := s.load(&o.replay)
	if err != nil {
		return nil, nil, &CorruptionError{File: s.wal.path(s.wal.last().base), Position: s.wal.last().size, Err: err}
	}
	if err := o.settle(); err != nil {
		return nil, nil, fmt.Errorf("quorum: open %s: %w", dir, err)
	}
	if err := errors.Join(s.removeLeft(f), s.settle(settled)); err != nil {
		s.wal.abandon()
		return nil, nil, fmt.Errorf("quorum: open %s: %w", dir, err)
	}
	return s, snap.data, nil
}

// load takes the log's state and entries, and checks that nothing that was durable once is missing.
func (s *store) load(r *replay) (settled bool, err error) {
	if r.state.snapshot > s.snap.index {
		return false, fmt.Errorf("%w: snapshot %d", errMissing, r.state.snapshot)
	}
	kept, settled, err := r.above(s.snap)
	if err != nil {
		return false, err
	}
	s.hard = &pb.HardState{Term: new(max(r.state.term, s.snap.term)), Vote: new(r.state.vote), Commit: new(max(r.state.commit, s.snap.index))}
	if r.state.term < s.snap.term {
		s.hard.Vote = new(uint64)
	}
	s.reset()
	if settled {
		s.loadEntries(kept)
	}
	if s.hard.GetCommit() > s.lastIndex() {
		return false, fmt.Errorf("%w: entry %d is committed and the last one is %d", errBehind, s.hard.GetCommit(), s.lastIndex())
	}
	return settled, nil
}

// loadEntries takes entries from some one at or below the snapshot's on. The first of those is kept for its term alone.
func (s *store) loadEntries(kept []logEntry) {
	if len(kept) == 0 {
		return
	}
	if first := kept[0].entry; first.GetIndex() <= s.snap.index {
		s.base, kept = position{first.GetIndex(), first.GetTerm()}, kept[1:]
		s.cache.reset(s.base.index + 1)
	}
	entries, at := make([]*pb.Entry, len(kept)), make([]batchAt, len(kept))
	for i, k := range kept {
		entries[i], at[i] = k.entry, k.at
	}
	s.add(entries, at)
	s.logBytes = 0
	for i := s.snap.index + 1; i <= s.lastIndex(); i++ {
		s.logBytes += int64(s.meta(i).size)
	}
}

// removeLeft removes what a crash has left: unfinished files and older snapshots.
func (s *store) removeLeft(f found) error {
	names := f.temps
	for _, old := range f.snapshots[:max(len(f.snapshots)-1, 0)] {
		names = append(names, old.String())
	}
	for _, name := range names {
		if err := s.wal.fs.Remove(path.Join(s.wal.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// settle empties the log for a snapshot, if a crash came between the two.
func (s *store) settle(settled bool) error {
	if settled {
		return nil
	}
	if _, err := s.wal.append(s.state(), &s.snap, s.snap.index, nil); err != nil {
		return err
	}
	return s.dropOld()
}
