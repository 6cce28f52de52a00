package iouring

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below are made inline by a loop, whichever engine it runs. They allocate nothing. Errors are plain
// unix.Errno values; EINTR is retried here, EAGAIN means what the man page says.

// rwfNoWait is RWF_NOWAIT of preadv2(2).
const rwfNoWait = 0x8

// Sendfile sends up to n bytes of file in, from *off on, to socket out, and moves *off by what was sent. The socket
// must be non-blocking; EAGAIN then means that it is full. Pages that are not cached are read from disk while the
// loop stands still: ask [Cachestat] first.
func Sendfile(out, in int, off *int64, n int) (int, error) {
	for {
		sent, _, errno := unix.Syscall6(unix.SYS_SENDFILE, uintptr(out), uintptr(in), uintptr(unsafe.Pointer(off)), uintptr(n), 0, 0)
		if errno != unix.EINTR {
			return result(sent, errno)
		}
	}
}

// SendNoWait sends p to a socket, or as much as fits; EAGAIN if nothing does. more holds a last, short segment back
// for bytes that follow at once. A peer that went away is EPIPE, never a signal.
func SendNoWait(fd int, p []byte, more bool) (int, error) {
	flags := uintptr(unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL)
	if more {
		flags |= unix.MSG_MORE
	}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), flags, 0, 0)
		if errno != unix.EINTR {
			return result(n, errno)
		}
	}
}

// Pwritev writes bufs one after the other at off, as one call; the count may be short. It takes the first 1024.
func Pwritev(fd int, bufs [][]byte, off int64) (int, error) {
	var few [16]unix.Iovec
	return pwritev(fd, appendIovecs(few[:0], bufs), off, 0)
}

// pwritev is pwritev2(2), which on 64-bit machines takes the whole offset in its low half.
func pwritev(fd int, iov []unix.Iovec, off int64, flags uintptr) (int, error) {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_PWRITEV2, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(iov))), uintptr(len(iov)), uintptr(off), 0, flags)
		if errno != unix.EINTR {
			return result(n, errno)
		}
	}
}

// PreadNoWait reads what the page cache has at off without waiting for the disk (RWF_NOWAIT); EAGAIN if the first
// page is not there. The call starts readahead of what is missing. ErrUnsupported where the file system can't.
func PreadNoWait(fd int, dst []byte, off int64) (int, error) {
	iov := unix.Iovec{Base: unsafe.SliceData(dst), Len: uint64(len(dst))}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&iov)), 1, uintptr(off), 0, rwfNoWait)
		switch errno {
		case unix.EINTR:
		case unix.EOPNOTSUPP, unix.ENOSYS:
			return 0, ErrUnsupported
		default:
			return result(n, errno)
		}
	}
}

// recvNoWait is recv(2) without blocking, whatever the socket's mode.
func recvNoWait(fd int, dst []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(len(dst)), unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func result(n uintptr, errno unix.Errno) (int, error) {
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
