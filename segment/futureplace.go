package segment

import (
	"fmt"
	"path"

	"github.com/ringmill/ringmill/wire"
)

// TakePlaceError says how far TakePlace came before it failed.
type TakePlaceError struct {
	LogDir string // the log directory in which it failed: what that has is unknown from now on
	Taken  bool   // the copy has the log's name
	Err    error
}

func (e *TakePlaceError) Error() string { return fmt.Sprintf("segment: in %s: %v", e.LogDir, e.Err) }

// Unwrap gives the cause.
func (e *TakePlaceError) Unwrap() error { return e.Err }

// TakePlace gives the copy the log's name, so that a crash at any point leaves one that is called the log or a pair whose names
// tell that the copy is whole (TakesPlaceOf):
//
//	log     <topic>-<partition>                   → <topic>-<partition>.<uuid>-delete     durably first
//	copy    <topic>-<partition>.<uuid>-future     → <topic>-<partition>
//
// The uuid is the same: that of the copy. Kafka renames the copy first, and a crash in between leaves two logs of one name. current
// is the log's directory; aside is what it was renamed to. The error is a *TakePlaceError; unless Taken is set the log has its name
// still, or the log directory is past saving.
func (f *FutureLog) TakePlace(current string) (aside string, err error) {
	name := path.Base(f.dir)
	_, id, _, ok := ParseSetAside(name)
	if !ok {
		panic("BUG: the directory of a future log is called " + name)
	}
	from, to := path.Dir(current), path.Dir(f.dir)
	aside = SetAside(current, id, DeleteDirSuffix)
	if err := f.fs.Rename(current, aside); err != nil {
		return "", &TakePlaceError{LogDir: from, Err: err}
	}
	if err := f.fs.SyncDir(from); err != nil {
		return "", &TakePlaceError{LogDir: from, Err: err}
	}
	taken := to + "/" + path.Base(current)
	if err := f.fs.Rename(f.dir, taken); err != nil {
		if back := f.goBack(current, aside); back != nil {
			return "", &TakePlaceError{LogDir: from, Err: back}
		}
		return "", &TakePlaceError{LogDir: to, Err: err}
	}
	f.dir = taken
	if err := f.fs.SyncDir(to); err != nil {
		return aside, &TakePlaceError{LogDir: to, Taken: true, Err: err}
	}
	return aside, nil
}

// goBack gives the log its name back.
func (f *FutureLog) goBack(current, aside string) error {
	if err := f.fs.Rename(aside, current); err != nil {
		return err
	}
	return f.fs.SyncDir(path.Dir(current))
}

// FutureDir is the directory of a log's copy in a log directory. ok is false if its name would be longer than a file's may be
// (KAFKA-4893): such a log cannot be moved.
func FutureDir(logDir string, tp wire.TopicPartition, id wire.TopicID) (dir string, ok bool) {
	name := fmt.Sprintf("%s.%x%s", PartitionDir(tp), id[:], FutureDirSuffix)
	return logDir + "/" + name, len(name) <= fileNameMax
}

// Moved says that a FutureLog has taken the log's place as of a still plan of it: the log goes on in dir, where all that it has is
// durable. Its Segments are new ones; plans that were made before are of the old files, and must not be reported back.
func (l *Log) Moved(dir string) {
	if l.rolling || l.swapping {
		panic("BUG: a log is moved while a segment is made")
	}
	l.ReleaseMemory()
	segments := make([]*Segment, len(l.segments))
	for i, s := range l.segments {
		moved := *s
		moved.dir = dir
		segments[i] = &moved
	}
	l.dir, l.segments = dir, segments
	l.epochsDirty = false
	l.recoveryPoint = l.LogEndOffset()
}
