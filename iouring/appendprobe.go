package iouring

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ProbeAppend finds out how the file system of dir takes buffered writes that must not wait (RWF_NOWAIT), with a
// scratch file that it removes. nowaitWrites means that a ring's WRITEV runs inline when it can (XFS, btrfs); without,
// as on ext4 and tmpfs, every ring write is handed to a worker thread, and an inline [Pwritev] is cheaper up to some
// 256 KiB. fsType is statfs(2)'s name for the file system, or its magic number in hexadecimal.
func ProbeAppend(dir string) (nowaitWrites bool, fsType string, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false, "", fmt.Errorf("iouring: statfs %s: %w", dir, err)
	}
	fsType = fileSystemName(int64(st.Type))
	f, err := os.CreateTemp(dir, ".append-probe-*")
	if err != nil {
		return false, fsType, fmt.Errorf("iouring: probe appends: %w", err)
	}
	defer f.Close()
	defer os.Remove(f.Name())
	nowaitWrites, err = writesWithoutWaiting(int(f.Fd()))
	if err != nil {
		return false, fsType, fmt.Errorf("iouring: probe appends in %s: %w", dir, err)
	}
	return nowaitWrites, fsType, nil
}

// writesWithoutWaiting overwrites a page that is already in the cache, the case that a file system with support never
// refuses. EAGAIN too is the answer of one that knows the flag.
func writesWithoutWaiting(fd int) (bool, error) {
	page := make([]byte, pageSize)
	if _, err := Pwritev(fd, [][]byte{page}, 0); err != nil {
		return false, err
	}
	_, err := pwritev(fd, appendIovecs(nil, [][]byte{page}), 0, rwfNoWait)
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN):
		return true, nil
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		return false, nil
	}
	return false, err
}

func fileSystemName(magic int64) string {
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4" // ext2 and ext3 share the number
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.F2FS_SUPER_MAGIC:
		return "f2fs"
	case 0x2fc12fc1:
		return "zfs"
	}
	return fmt.Sprintf("%#x", uint32(magic))
}
