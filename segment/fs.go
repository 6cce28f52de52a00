package segment

import (
	"errors"
	"io"
	"io/fs"
)

// ErrWouldBlock is returned by an io.ReaderAt that refuses to wait for a disk: the bytes are not in the page cache. The
// caller plans the same read again after something else has brought them in. It is never returned by a File.
var ErrWouldBlock = errors.New("segment: the bytes are not in memory")

// An OpenFlag says how FS.OpenFile opens a file; flags are joined with |. It is a type of its own so that the os package's
// flags, which have other values, do not compile.
type OpenFlag uint8

// The flags of FS.OpenFile. Every file is opened for reading.
const (
	ReadOnly  OpenFlag = 0
	ReadWrite OpenFlag = 1 << iota // also for writing
	Create                         // make the file if it is not there; needs ReadWrite
	Exclusive                      // with Create: fs.ErrExist if it is there
	Truncate                       // drop what it holds; needs ReadWrite
)

// A DirEntry is one name in a directory.
type DirEntry struct {
	Name  string
	IsDir bool
}

// FS is the room's seam to a file system: osfs on the operating system, segmenttest for crashes and faults. Names are paths
// with "/". What is missing is an error that errors.Is calls fs.ErrNotExist, what is there already fs.ErrExist.
//
// Nothing is durable by itself: a file's bytes are after File.Sync, a name (created, renamed, removed) is after SyncDir of
// the directory that holds it. All methods may block; none is called by a loop.
type FS interface {
	OpenFile(name string, flag OpenFlag, perm fs.FileMode) (File, error)
	// ReadDir lists a directory in the order of the names.
	ReadDir(name string) ([]DirEntry, error)
	// Rename replaces newName if it is there, as rename(2) does.
	Rename(oldName, newName string) error
	Remove(name string) error
	// RemoveAll removes name and what is below it; that it is not there is no error.
	RemoveAll(name string) error
	// MkdirAll makes name and the directories above it; that they are there is no error.
	MkdirAll(name string, perm fs.FileMode) error
	// SyncDir makes the directory's names durable (fsync(2) of the directory).
	SyncDir(name string) error
	// Stat gives a file's size in bytes.
	Stat(name string) (size int64, err error)
	ReadFile(name string) ([]byte, error)
	// WriteFileAtomic puts data where name is, so that a crash leaves the old content or the new one: temporary file, fsync,
	// rename, fsync of the directory. When it returns nil the new content is durable.
	WriteFileAtomic(name string, data []byte) error
}

// File is an open file. ReadAt and WriteAt keep io's contracts: less than len(p) bytes only with an error.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Truncate sets the size in bytes; a larger one adds a hole of zeros.
	Truncate(size int64) error
	// Sync makes the bytes and the size durable (fdatasync(2)). After an error the file's state on disk is unknown and stays
	// so: a later nil does not mean that the bytes arrived. The caller stops using the log directory.
	Sync() error
	Size() (int64, error)
	Close() error
	// Fd is the descriptor for submissions to a ring, or -1 if there is none (test doubles).
	Fd() int
}

// TempSuffix ends the name of a file that WriteFileAtomic has not finished; recovery removes what a crash left.
const TempSuffix = ".tmp"
