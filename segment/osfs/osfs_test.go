package osfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/segment/segmenttest"
)

// TestSameAsDouble runs the conformance list that the in-memory double runs too, so that neither drifts from the other.
func TestSameAsDouble(t *testing.T) {
	dir := t.TempDir()
	segmenttest.TestFS(t, osfs.FS{}, dir)
}

func TestDescriptorIsClosedOnExec(t *testing.T) {
	f, err := osfs.FS{}.OpenFile(filepath.Join(t.TempDir(), "a"), segment.ReadWrite|segment.Create, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(f.Fd()), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Fatalf("flags %#x, errno %v: FD_CLOEXEC is not set", flags, errno)
	}
}

func TestWriteFileAtomicLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "checkpoint")
	for _, content := range []string{"first", "second, longer", "3"} {
		if err := (osfs.FS{}).WriteFileAtomic(name, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(name); string(got) != content {
			t.Fatalf("holds %q, want %q", got, content)
		}
	}
	if err := (osfs.FS{}).WriteFileAtomic(filepath.Join(dir, "no", "such"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("write below a missing directory: %v", err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Fatalf("directory holds %v, want the one file", list)
	}
}

func TestReadPastEnd(t *testing.T) {
	f, err := osfs.FS{}.OpenFile(filepath.Join(t.TempDir(), "a"), segment.ReadWrite|segment.Create, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("abc"), 0); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if n, err := f.ReadAt(buf, 1); n != 2 || err != io.EOF || !bytes.Equal(buf[:2], []byte("bc")) {
		t.Fatalf("read %d %v", n, err)
	}
}
