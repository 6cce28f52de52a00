package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// logDir is one of log.dirs: Kafka's files and nothing else.
type logDir struct {
	path string
	// absolute is the path that clients are told and name it by, as in Kafka, wherever log.dirs begins.
	absolute string
	fs       segment.FS
	lock     *os.File
	// inlineAppends says that the file system hands ring writes to worker threads, so that small appends are made by
	// the loop itself; kind is its name.
	inlineAppends bool
	kind          string
	// clean says that the last stop was clean. recovery, watermarks, starts and cleaned are what the checkpoint files say; whoever
	// writes those holds checkpointMu.
	clean                                 bool
	checkpointMu                          sync.Mutex
	recovery, watermarks, starts, cleaned map[wire.TopicPartition]wire.Offset
	offline                               atomic.Bool
	// partitions counts what lies here, so that new ones go where the fewest are.
	partitions atomic.Int64
	removals   removals
}

// lockName is Apache Kafka's lock file at the root of a log directory.
const lockName = ".lock"

// openLogDir opens a log directory, which is there, and takes its lock.
func openLogDir(path string, fsys segment.FS, appendPath string) (*logDir, error) {
	d := &logDir{path: path, fs: fsys}
	var err error
	if d.absolute, err = filepath.Abs(path); err != nil {
		return nil, startError(path, err)
	}
	if d.lock, err = lockDir(path); err != nil {
		return nil, err
	}
	if err := d.look(appendPath); err != nil {
		_ = d.lock.Close()
		return nil, err
	}
	return d, nil
}

// look finds out how the directory is written to and what an earlier run has left.
func (d *logDir) look(appendPath string) (err error) {
	if err := d.probe(appendPath); err != nil {
		return startError(d.path, err)
	}
	for name, offsets := range map[string]*map[wire.TopicPartition]wire.Offset{
		segment.RecoveryPointCheckpoint: &d.recovery, segment.LogStartCheckpoint: &d.starts, segment.CleanerCheckpoint: &d.cleaned,
		segment.HighWatermarkCheckpoint: &d.watermarks,
	} {
		if *offsets, err = d.readCheckpoint(name); err != nil {
			return err
		}
	}
	_, err = d.fs.Stat(filepath.Join(d.path, segment.CleanShutdownFile))
	d.clean = err == nil
	return nil
}

// probe decides how appends are written: by the loop where the ring would hand them to a worker thread.
func (d *logDir) probe(appendPath string) error {
	nowait, kind, err := iouring.ProbeAppend(d.path)
	if err != nil {
		return err
	}
	d.kind = kind
	switch appendPath {
	case "inline":
		d.inlineAppends = true
	case "ring":
	default:
		d.inlineAppends = !nowait
	}
	return nil
}

// readCheckpoint reads a checkpoint file; a missing one is empty, a damaged one an error that says what to do.
func (d *logDir) readCheckpoint(name string) (map[wire.TopicPartition]wire.Offset, error) {
	path := filepath.Join(d.path, name)
	text, err := d.fs.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, startError(path, err)
	}
	offsets, err := segment.ReadOffsetCheckpoint(text)
	if err != nil {
		return nil, &StartError{Path: path, Problem: err.Error(), Cure: "remove it: the next start recovers what it says from the logs"}
	}
	return offsets, nil
}

// lockDir takes a directory's lock as Apache Kafka does, so that neither opens what the other has open.
func lockDir(path string) (*os.File, error) {
	name := filepath.Join(path, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, startError(path, err)
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, &StartError{Path: path, Problem: "another node has this directory open", Cure: "stop that node, or give this one a directory of its own with --data or log.dirs"}
		}
		return nil, startError(name, err)
	}
	return f, nil
}

// StartError is why a node does not start: one line that names the path or key and says what to do.
type StartError struct {
	Path, Problem, Cure string
}

func (e *StartError) Error() string { return fmt.Sprintf("%s: %s; %s", e.Path, e.Problem, e.Cure) }

// startError puts an operating system's refusal into words.
func startError(path string, err error) *StartError {
	e := &StartError{Path: path, Problem: err.Error(), Cure: "check the path and its permissions"}
	switch {
	case noRoom(err):
		e.Problem, e.Cure = "the disk is full", "free some space, or move the directory with --data or log.dirs"
	case errors.Is(err, unix.EROFS):
		e.Problem, e.Cure = "the file system is read-only", "remount it writable, or move the directory with --data or log.dirs"
	case errors.Is(err, fs.ErrPermission):
		e.Problem, e.Cure = "permission denied", "give the node's user the right to write there"
	}
	return e
}
