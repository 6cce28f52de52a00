package quorum

import (
	"errors"
	"fmt"
	"path"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment"
)

// store is what the raft library reads (raft.Storage) and what Ready makes durable: the newest snapshot, and the log from
// some entry on, which may lie below the snapshot for the sake of members that are behind. The first error that it meets
// is its last (failed).
type store struct {
	wal      *wal
	hard     *pb.HardState
	snap     position  // of the newest snapshot; 0: there is none
	members  members   // of that snapshot
	base     position  // of the entry before the first
	log      []logMeta // entry base.index+1 and those after it
	cache    entryCache
	logBytes int64  // of entries above the snapshot
	lastConf uint64 // index of the last change of members that was applied
	wanted   bool   // a member needs a snapshot that is newer than ours
	failed   error
}

// logMeta is what is in memory of every entry.
type logMeta struct {
	term uint64
	size int32 // bytes of data
	at   batchAt
}

func (s *store) lastIndex() uint64 { return s.base.index + uint64(len(s.log)) }

// fail makes err, unless it is nil or ErrFull, the store's last.
func (s *store) fail(err error) error {
	if errors.Is(err, ErrFull) {
		return err
	}
	if err != nil && s.failed == nil {
		s.failed = err
	}
	return s.failed
}

// state is the state record of the next batch.
func (s *store) state() walState {
	return walState{term: s.hard.GetTerm(), vote: s.hard.GetVote(), commit: s.hard.GetCommit(), snapshot: s.snap.index}
}

// InitialState implements raft.Storage.
func (s *store) InitialState() (*pb.HardState, *pb.ConfState, error) {
	return s.hard, s.members.confState(), nil
}

// FirstIndex implements raft.Storage.
func (s *store) FirstIndex() (uint64, error) { return s.base.index + 1, s.failed }

// LastIndex implements raft.Storage.
func (s *store) LastIndex() (uint64, error) { return s.lastIndex(), s.failed }

// Term implements raft.Storage.
func (s *store) Term(i uint64) (uint64, error) {
	switch {
	case s.failed != nil:
		return 0, s.failed
	case i < s.base.index:
		return 0, raft.ErrCompacted
	case i == s.base.index:
		return s.base.term, nil
	case i > s.lastIndex():
		return 0, raft.ErrUnavailable
	}
	return s.meta(i).term, nil
}

func (s *store) meta(i uint64) *logMeta { return &s.log[i-s.base.index-1] }

// Entries implements raft.Storage: entries of the cache, or of the disk if they are older.
func (s *store) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	switch {
	case s.failed != nil:
		return nil, s.failed
	case lo <= s.base.index:
		return nil, raft.ErrCompacted
	case hi > s.lastIndex()+1:
		return nil, raft.ErrUnavailable
	}
	hi = s.limit(lo, hi, maxSize)
	var entries []*pb.Entry
	for lo < hi && lo < s.cache.first {
		part, err := s.readEntries(lo, min(hi, s.cache.first))
		if err != nil {
			return nil, s.fail(err)
		}
		entries, lo = append(entries, part...), lo+uint64(len(part))
	}
	return append(entries, s.cache.slice(lo, hi)...), nil
}

// limit gives the end of the entries from lo on that fit into maxSize bytes, one at least.
func (s *store) limit(lo, hi, maxSize uint64) uint64 {
	size := uint64(0)
	for i := lo; i < hi; i++ {
		size += uint64(s.meta(i).size) + entryOverheadMax
		if size > maxSize && i > lo {
			return i
		}
	}
	return hi
}

// entryOverheadMax is about what an entry takes in a message beside its data.
const entryOverheadMax = 32

// readEntries reads what one batch has of [lo, hi).
func (s *store) readEntries(lo, hi uint64) ([]*pb.Entry, error) {
	at := s.meta(lo).at
	b, err := s.wal.read(at)
	if err != nil {
		return nil, err
	}
	var found []*pb.Entry
	for _, e := range b.entries {
		if i := e.GetIndex(); i == lo+uint64(len(found)) && i < hi && s.meta(i).at == at && s.meta(i).term == e.GetTerm() {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return nil, &CorruptionError{File: s.wal.path(at.segment), Position: at.pos, Err: fmt.Errorf("%w: no entry %d", errFormat, lo)}
	}
	return found, nil
}

// Snapshot implements raft.Storage. A snapshot that does not know of all members is of no use to those that it does not know,
// so it is not given; the owner is asked for a newer one (Effects.WantSnapshot).
func (s *store) Snapshot() (*pb.Snapshot, error) {
	if s.failed != nil {
		return nil, s.failed
	}
	if s.snap.index < s.lastConf || s.snap.index == 0 {
		s.wanted = true
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	snap, err := readSnapshotAt(s.wal.fs, s.wal.dir, s.snap)
	if err != nil {
		return nil, s.fail(err)
	}
	return snap.raftSnapshot(), nil
}

func readSnapshotAt(fsys segment.FS, dir string, at position) (snapshot, error) {
	name := snapshotName(at)
	file := path.Join(dir, name.String())
	data, err := fsys.ReadFile(file)
	if err != nil {
		return snapshot{}, err
	}
	snap, err := readSnapshotFile(name, data)
	if err != nil {
		return snapshot{}, &CorruptionError{File: file, Err: err}
	}
	return snap, nil
}

// save makes a Ready's state, snapshot and entries durable, in that order where it matters: a snapshot is on disk before
// the log is emptied for it.
func (s *store) save(hard *pb.HardState, snap *pb.Snapshot, entries []*pb.Entry, mustSync bool) error {
	if s.failed != nil {
		return s.failed
	}
	if !raft.IsEmptyHardState(hard) {
		s.hard = hard
	}
	var reset *position
	if !raft.IsEmptySnap(snap) {
		read, err := readSnapshotMessage(snap)
		if err == nil {
			err = s.writeSnapshot(read)
		}
		if err != nil {
			return s.fail(err)
		}
		s.reset()
		reset = &s.snap
	}
	if reset == nil && !mustSync {
		return nil // only the commit index rose: it is written with what comes next
	}
	last := s.lastIndex()
	if len(entries) > 0 {
		last = entries[0].GetIndex() - 1
	}
	at, err := s.wal.append(s.state(), reset, last, entries)
	if err != nil {
		return s.fail(err)
	}
	s.add(entries, at)
	if reset != nil {
		return s.fail(s.dropOld())
	}
	return nil
}

// reset empties the log: it goes on after the snapshot.
func (s *store) reset() {
	s.base, s.log, s.logBytes = s.snap, nil, 0
	s.cache.reset(s.snap.index + 1)
}

// add takes entries into the log, in place of those that they conflict with.
func (s *store) add(entries []*pb.Entry, at []batchAt) {
	if len(entries) == 0 {
		return
	}
	first := entries[0].GetIndex()
	for i := first; i <= s.lastIndex(); i++ {
		s.logBytes -= int64(s.meta(i).size)
	}
	s.log = s.log[:first-s.base.index-1]
	for i, e := range entries {
		size := int32(len(e.GetData()))
		s.log = append(s.log, logMeta{term: e.GetTerm(), size: size, at: at[i]})
		s.logBytes += int64(size)
	}
	s.cache.add(entries)
}

// writeSnapshot makes a snapshot the newest one.
func (s *store) writeSnapshot(snap snapshot) error {
	file := path.Join(s.wal.dir, snapshotName{snap.index, snap.term}.String())
	if err := s.wal.fs.WriteFileAtomic(file, snap.appendFile(nil)); err != nil {
		return s.wal.full(err)
	}
	old := s.snap
	s.snap, s.members, s.wanted = position{snap.index, snap.term}, snap.members, false
	if old.index == 0 || old == s.snap {
		return nil
	}
	return s.wal.fs.Remove(path.Join(s.wal.dir, snapshotName(old).String()))
}

// dropOld removes the segments of which no entry is needed any more.
func (s *store) dropOld() error {
	if len(s.log) > 0 {
		return s.wal.dropBefore(s.log[0].at.segment)
	}
	return s.wal.dropBefore(s.wal.last().base)
}

// compact makes snap, of an entry in the log, the newest snapshot and drops the log up to an entry that is not above it.
func (s *store) compact(snap snapshot, through uint64) error {
	if err := s.writeSnapshot(snap); err != nil {
		return s.fail(err)
	}
	s.wal.witnessed = -1 // the next state record names the snapshot
	s.logBytes = 0
	for i := snap.index + 1; i <= s.lastIndex(); i++ {
		s.logBytes += int64(s.meta(i).size)
	}
	if through > s.base.index {
		base := position{through, s.meta(through).term}
		s.log = append([]logMeta(nil), s.log[through-s.base.index:]...)
		s.base = base
		s.cache.dropThrough(through)
	}
	return s.fail(s.dropOld())
}

// witness lets the log say that all of it is durable.
func (s *store) witness() error {
	if s.failed != nil {
		return s.failed
	}
	return s.fail(s.wal.witness(s.state(), s.lastIndex()))
}

func (s *store) close() error {
	if errors.Is(s.failed, ErrClosed) {
		return nil
	}
	if s.failed != nil {
		s.wal.abandon()
		return s.failed
	}
	err := s.wal.close(s.state(), s.lastIndex())
	s.failed = ErrClosed
	return err
}
