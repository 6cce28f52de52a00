package segment

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// FutureLog is a copy of a log in another log directory, which is filled until it can take the log's place (KIP-113). It has the
// log's own files, byte by byte and under their names, so that the log's bookkeeping holds for it too.
//
//	goroutine                          owner of the Log
//	     ◀──────────────────────────── PlanCopy
//	Open, SegmentCopy.Run: the first segment of which something is missing
//	   ... until little is missing. Nothing is appended, flushed, rolled or swapped from here on:
//	     ◀──────────────────────────── PlanCopy
//	Open, Run, Finish, TakePlace
//	     ────────────────────────────▶ Moved
//
// What retention and compaction do to segments that were copied is seen in the next plan, because it has other Segments. A
// FutureLog belongs to one goroutine at a time; it blocks on files and touches nothing of the Log.
type FutureLog struct {
	fs     FS
	dir    string
	copied map[wire.Offset]copiedSegment // by base offset
	// snapshots are the offsets of the producer snapshots that were copied; epochs is what leader-epoch-checkpoint holds.
	snapshots map[wire.Offset]bool
	epochs    string
	// pruned says that the directory has no file which an earlier run left and this one did not copy.
	pruned bool
	// unsynced says that names in the directory may not be durable.
	unsynced bool

	size     wire.Position // bytes of .log files that are copied
	end      wire.Offset   // of the batches that are copied
	buf, old []byte        // what is copied, and what is there already
}

// copiedSegment is what of a segment is copied, and durable.
type copiedSegment struct {
	segment *Segment // its identity: another one of that name is another file
	size    wire.Position
	whole   bool // nothing is missing: it is sealed, or was copied by a still plan
}

// FutureLogError is a failed write, sync or change of names in the directory of a FutureLog, as opposed to a failure to read the log.
type FutureLogError struct{ Err error }

func (e *FutureLogError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *FutureLogError) Unwrap() error { return e.Err }

// futureError puts what was being done to a file before its error; nil stays nil.
func futureError(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	return &FutureLogError{fmt.Errorf("segment: %s %s: %w", doing, name, err)}
}

// CopyPlan is a log as a FutureLog is to copy it. It is a value.
type CopyPlan struct {
	dir      string
	segments []copySource
	epochs   []byte
	snapshot wire.Offset // of the newest producer snapshot; NoOffset if there is none
	end      wire.Offset
	still    bool // nothing changes the log's files until the plan is carried out
}

// copySource is a segment as a CopyPlan knows it.
type copySource struct {
	segment *Segment // its identity; nothing of it is read
	base    wire.Offset
	next    wire.Offset
	size    wire.Position
	sealed  bool
}

// PlanCopy plans to copy the log as far as it is in the page cache: up to end, where the active .log has written bytes. With still
// the caller sees to it that no file of the log changes until the copy has taken its place or is given up.
func (l *Log) PlanCopy(written wire.Position, end wire.Offset, still bool) CopyPlan {
	p := CopyPlan{dir: l.dir, epochs: l.EpochCheckpoint(), snapshot: l.snapshot, end: end, still: still}
	for _, s := range l.segments {
		p.segments = append(p.segments, copySource{segment: s, base: s.baseOffset, next: s.nextOffset, size: s.size, sealed: true})
	}
	active := &p.segments[len(p.segments)-1]
	active.next, active.size, active.sealed = end, written, false
	return p
}

// Dir is the directory of the log.
func (p *CopyPlan) Dir() string { return p.dir }

// NewFutureLog makes the directory of a log's copy, or goes on with one that an earlier run began: what that holds is compared with
// the log. dir is SetAside's with FutureDirSuffix.
func NewFutureLog(fsys FS, dir string, topic wire.TopicID) (*FutureLog, error) {
	f := &FutureLog{fs: fsys, dir: dir, copied: make(map[wire.Offset]copiedSegment), snapshots: make(map[wire.Offset]bool)}
	if err := fsys.MkdirAll(dir, dirPerm); err != nil {
		return nil, futureError("create", dir, err)
	}
	if !topic.IsZero() {
		name := dir + "/" + PartitionMetadataFile
		if err := fsys.WriteFileAtomic(name, AppendPartitionMetadata(nil, topic)); err != nil {
			return nil, futureError("write", name, err)
		}
	}
	return f, futureError("sync directory", path.Dir(dir), fsys.SyncDir(path.Dir(dir)))
}

// Dir is the copy's directory.
func (f *FutureLog) Dir() string { return f.dir }

// Size is the number of bytes of .log files that are copied.
func (f *FutureLog) Size() int64 { return int64(f.size) }

// EndOffset is where the batches end that are copied.
func (f *FutureLog) EndOffset() wire.Offset { return f.end }

// Behind is how many bytes of .log files the copy lacks of a plan.
func (f *FutureLog) Behind(p *CopyPlan) (bytes int64) {
	for i := range p.segments {
		bytes += int64(p.segments[i].size - f.have(&p.segments[i]).size)
	}
	return bytes
}

// have is what is copied of a segment: nothing, if another one had its name then.
func (f *FutureLog) have(s *copySource) copiedSegment {
	if c := f.copied[s.base]; c.segment == s.segment {
		return c
	}
	return copiedSegment{segment: s.segment}
}

// Finish writes what belongs to no segment, and removes what the log has no more. All of the plan's segments are copied. When it
// returns the directory is a log, durably. It may be called for earlier plans too, so that little is left to do for the last one.
func (f *FutureLog) Finish(p *CopyPlan) error {
	if err := f.prune(p); err != nil {
		return err
	}
	if text := string(p.epochs); text != f.epochs {
		name := f.dir + "/" + LeaderEpochCheckpoint
		if err := f.fs.WriteFileAtomic(name, p.epochs); err != nil {
			return futureError("write", name, err)
		}
		f.epochs = text
	}
	f.end = p.end
	if !f.unsynced {
		return nil
	}
	f.unsynced = false
	return futureError("sync directory", f.dir, f.fs.SyncDir(f.dir))
}

// prune removes the files of segments that are not in the log any more.
func (f *FutureLog) prune(p *CopyPlan) error {
	bases := make(map[wire.Offset]bool, len(p.segments))
	for i := range p.segments {
		bases[p.segments[i].base] = true
	}
	for base, c := range f.copied {
		if !bases[base] {
			f.size -= c.size
			delete(f.copied, base)
			f.pruned = false
		}
	}
	if f.pruned {
		return nil
	}
	entries, err := f.fs.ReadDir(f.dir)
	if err != nil {
		return futureError("list", f.dir, err)
	}
	for _, e := range entries {
		base, suffix, numbered := parseFileName(e.Name)
		stays := bases[base] && slices.Contains(segmentSuffixes[:], suffix) || base == p.snapshot && suffix == snapshotSuffix
		if numbered && !stays || strings.HasSuffix(e.Name, TempSuffix) {
			if err := f.fs.Remove(f.dir + "/" + e.Name); err != nil {
				return futureError("remove", f.dir+"/"+e.Name, err)
			}
			delete(f.snapshots, base)
			f.unsynced = true
		}
	}
	f.pruned = true
	return nil
}

// Remove removes the copy.
func (f *FutureLog) Remove() error { return f.fs.RemoveAll(f.dir) }
