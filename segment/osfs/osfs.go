// Package osfs is segment.FS on the operating system (Linux): what recovery, rolls, flushes and tools do to real disks. It
// blocks, so loops never call it; the loop's own appends and syncs go through its ring with File.Fd.
package osfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ringmill/ringmill/segment"
)

// FS is the operating system's file system. Its zero value is ready; it holds no state and may be shared.
type FS struct{}

var _ segment.FS = FS{}

// OpenFile opens name with O_CLOEXEC, so that no child process keeps a segment alive. The descriptor stays out of the Go
// runtime's poller, which files cannot use: os.OpenFile asks it all the same, with four fcntl(2) and an epoll_ctl(2) that fails,
// and those were half of the system calls of opening 10,000 logs (PERFORMANCE.md).
func (FS) OpenFile(name string, flag segment.OpenFlag, perm fs.FileMode) (segment.File, error) {
	f, err := open(name, openBits(flag), perm)
	if err != nil {
		return nil, err // not f, which would be a File that is not nil
	}
	return f, nil
}

func openBits(flag segment.OpenFlag) int {
	bits := syscall.O_RDONLY
	if flag&segment.ReadWrite != 0 {
		bits = syscall.O_RDWR
	}
	if flag&segment.Create != 0 {
		bits |= syscall.O_CREAT
	}
	if flag&segment.Exclusive != 0 {
		bits |= syscall.O_EXCL
	}
	if flag&segment.Truncate != 0 {
		bits |= syscall.O_TRUNC
	}
	return bits
}

func (FS) ReadDir(name string) ([]segment.DirEntry, error) {
	list, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	entries := make([]segment.DirEntry, len(list))
	for i, e := range list {
		entries[i] = segment.DirEntry{Name: e.Name(), IsDir: e.IsDir()}
	}
	return entries, nil
}

func (FS) Rename(oldName, newName string) error             { return os.Rename(oldName, newName) }
func (FS) Remove(name string) error                         { return os.Remove(name) }
func (FS) RemoveAll(name string) error                      { return os.RemoveAll(name) }
func (FS) MkdirAll(name string, perm fs.FileMode) error     { return os.MkdirAll(name, perm) }
func (f FS) WriteFileAtomic(name string, data []byte) error { return writeFileAtomic(f, name, data) }

// ReadFile reads to the end of the file, however long it has become since its size was asked.
func (FS) ReadFile(name string) ([]byte, error) {
	f, err := open(name, syscall.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, size+1) // room to see the end without growing
	for {
		n, err := f.ReadAt(data[len(data):cap(data)], int64(len(data)))
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		data = slices.Grow(data, 1)
	}
}

// SyncDir is fsync(2) of the directory: file systems promise a durable name after that alone (ext4 often gives more).
func (FS) SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (FS) Stat(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// writeFileAtomic makes files for their owner alone, for the metadata holds credentials. It leaves no temporary file behind when it fails; what a crash leaves is for recovery to remove.
// Two may write the same name at once, a roll and a truncation for one: each has the temporary file for itself until it is renamed.
func writeFileAtomic(fsys FS, name string, data []byte) error {
	temp := name + segment.TempSuffix
	f, err := openAlone(temp)
	if err == nil {
		err = errors.Join(replace(f, temp, name, data), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// openAlone opens or makes a file that nobody else has open so (flock(2)) and that is still called that.
func openAlone(name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		}
		if err != nil {
			return nil, errors.Join(&fs.PathError{Op: "flock", Path: name, Err: err}, f.Close())
		}
		held, err := f.Stat()
		called, calledErr := os.Stat(name)
		if err == nil && calledErr == nil && os.SameFile(held, called) {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil { // else who had it before has renamed or removed it
			return nil, err
		}
	}
}

// replace writes temp and renames it. If that fails it is removed.
func replace(f *os.File, temp, name string, data []byte) error {
	err := f.Truncate(0)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}
