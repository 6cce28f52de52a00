package osfs

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/ringmill/ringmill/segment"
)

// file is an open file as a bare descriptor. It may be used by several goroutines at once, as pread(2) and pwrite(2) may; who
// closes it sees to it that nobody uses it any more.
type file struct {
	name string
	// fd is -1 once it is closed: the number may be another file's by then.
	fd atomic.Int32
}

var _ segment.File = (*file)(nil)

func open(name string, bits int, perm fs.FileMode) (*file, error) {
	f := &file{name: name}
	err := f.retried("open", func() error {
		fd, err := syscall.Open(name, bits|syscall.O_CLOEXEC|syscall.O_LARGEFILE, uint32(perm.Perm()))
		f.fd.Store(int32(fd))
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// retried runs a system call until no signal interrupts it: Go's scheduler sends its threads some to preempt them.
func (f *file) retried(op string, call func() error) error {
	for {
		err := call()
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return &fs.PathError{Op: op, Path: f.name, Err: err}
		}
	}
}

func (f *file) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) {
		var n int
		err := f.retried("read", func() (err error) {
			n, err = syscall.Pread(f.Fd(), p[done:], off+int64(done))
			return err
		})
		if err != nil {
			return done, err
		}
		if n == 0 {
			return done, io.EOF
		}
		done += n
	}
	return done, nil
}

func (f *file) WriteAt(p []byte, off int64) (done int, err error) {
	for done < len(p) {
		var n int
		err := f.retried("write", func() (err error) {
			n, err = syscall.Pwrite(f.Fd(), p[done:], off+int64(done))
			return err
		})
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

func (f *file) Truncate(size int64) error {
	return f.retried("truncate", func() error { return syscall.Ftruncate(f.Fd(), size) })
}

// Sync is fdatasync(2), which flushes the size too when it changed; times of modification are worth no journal commit.
func (f *file) Sync() error {
	return f.retried("fdatasync", func() error { return syscall.Fdatasync(f.Fd()) })
}

func (f *file) Size() (int64, error) {
	var stat syscall.Stat_t
	err := f.retried("stat", func() error { return syscall.Fstat(f.Fd(), &stat) })
	return stat.Size, err
}

// Close is not repeated after a signal: Linux has freed the descriptor by then (close(2)).
func (f *file) Close() error {
	fd := f.fd.Swap(-1)
	if fd < 0 {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	if err := syscall.Close(int(fd)); err != nil && !errors.Is(err, syscall.EINTR) {
		return &fs.PathError{Op: "close", Path: f.name, Err: err}
	}
	return nil
}

func (f *file) Fd() int { return int(f.fd.Load()) }
