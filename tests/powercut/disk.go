package powercut

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/tests/harness"
)

// Both file systems share the request _IOR('X', 125, __u32) and the flag that leaves the log unflushed
// (include/uapi/linux/ext4.h since 6.1, fs/ext4/ext4.h before; fs/xfs/libxfs/xfs_fs.h).
const (
	ioctlShutdown   = 0x8004587d
	flagNoLogFlush  = 2
	mountpointPerms = 0o755
)

// Disk is a file system on a loop device. Its methods are called from the test's goroutine.
type Disk struct {
	Dir   string // the mount point
	kind  string // "ext4" or "xfs"
	image string
}

// New makes and mounts a file system of the kind and size, for the length of the test.
func New(tb testing.TB, kind string, bytes int64) *Disk {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("mounting needs root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		tb.Skipf("no loop devices: %v", err)
	}
	if kind == "xfs" {
		harness.Apt(tb, "mkfs.xfs", "xfsprogs")
	}
	dir := tb.TempDir()
	d := &Disk{Dir: filepath.Join(dir, "mnt"), kind: kind, image: filepath.Join(dir, "image")}
	if err := d.make(bytes); err != nil {
		tb.Fatal(err)
	}
	if err := d.mount(); err != nil {
		tb.Skipf("a loop device can't be mounted here: %v", err)
	}
	tb.Cleanup(func() {
		if err := d.unmount(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

func (d *Disk) make(bytes int64) error {
	image, err := os.Create(d.image)
	if err != nil {
		return err
	}
	if err := errors.Join(image.Truncate(bytes), image.Close(), os.Mkdir(d.Dir, mountpointPerms)); err != nil {
		return err
	}
	argv := []string{"mkfs." + d.kind, "-q", d.image}
	if d.kind == "ext4" {
		argv = []string{"mkfs.ext4", "-q", "-F", d.image}
	}
	_, stderr, err := harness.Command{Argv: argv}.Try()
	if err != nil {
		return fmt.Errorf("powercut: %v: %w: %s", argv, err, stderr)
	}
	return nil
}

// mount leaves loop device handling to mount(8), which frees the device with the unmount.
func (d *Disk) mount() error {
	_, stderr, err := harness.Command{Argv: []string{"mount", "-t", d.kind, "-o", "loop", d.image, d.Dir}}.Try()
	if err != nil {
		return fmt.Errorf("powercut: mount %s: %w: %s", d.image, err, stderr)
	}
	return nil
}

// unmount waits for the last file of a killed process to be closed.
func (d *Disk) unmount() error {
	var stderr string
	var err error
	for range 200 {
		if _, stderr, err = (harness.Command{Argv: []string{"umount", d.Dir}}).Try(); err == nil {
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	return fmt.Errorf("powercut: umount %s: %w: %s", d.Dir, err, stderr)
}

// Cut ends the file system: nothing unsynced reaches the image any more. Processes that use it go on and get EIO.
func (d *Disk) Cut(tb testing.TB) {
	tb.Helper()
	root, err := os.Open(d.Dir)
	if err != nil {
		tb.Fatal(err)
	}
	defer root.Close()
	if err := unix.IoctlSetPointerInt(int(root.Fd()), ioctlShutdown, flagNoLogFlush); err != nil {
		tb.Fatalf("shutdown ioctl on %s: %v", d.kind, err)
	}
}

// Remount brings back what survived. No process may use the old mount any more.
func (d *Disk) Remount(tb testing.TB) {
	tb.Helper()
	if err := d.unmount(); err != nil {
		tb.Fatal(err)
	}
	if err := d.mount(); err != nil {
		tb.Fatal(err)
	}
}

// Free is what an ordinary user may still write, in bytes.
func (d *Disk) Free(tb testing.TB) uint64 {
	tb.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(d.Dir, &stat); err != nil {
		tb.Fatal(err)
	}
	return stat.Bavail * uint64(stat.Bsize)
}
