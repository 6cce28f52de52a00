package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/tests/harness"
)

// TestLogsAreMadeLater: a node whose log directory takes no new log for a while makes it as soon as it can, without a restart. An immutable
// directory (chattr(1)) stands for one without inodes or room, since the quorum's log lies beside it.
func TestLogsAreMadeLater(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	immutable(t, c.Nodes[2].LogDir, true)
	topic := createAssigned(t, c.Nodes[0], 1, 3)
	harness.Await(t, "node 3 says that it cannot make the log", func() bool { return strings.Contains(c.Nodes[2].Log(), "partitions cannot be made") })
	immutable(t, c.Nodes[2].LogDir, false)
	awaitInSync(t, c.Nodes[0], topic)
	if left, err := filepath.Glob(filepath.Join(c.Nodes[2].LogDir, "*-stray*")); err != nil || len(left) > 0 {
		t.Errorf("%v, and left behind: %v", err, left)
	}
}

// immutableFlag is FS_IMMUTABLE_FL of linux/fs.h.
const immutableFlag = 0x10

// immutable sets or clears that flag of a directory (ioctl_iflags(2)).
func immutable(t *testing.T, dir string, on bool) {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		flags &^= immutableFlag
		if on {
			flags |= immutableFlag
			t.Cleanup(func() { immutable(t, dir, false) })
		}
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags))
	}
	if err != nil {
		t.Skipf("the file system of %s has no immutable directories: %v", dir, err)
	}
}
