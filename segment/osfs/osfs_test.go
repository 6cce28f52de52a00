package osfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
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

func TestWriteFileAtomicIsForTheOwnerAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	if err := (osfs.FS{}).WriteFileAtomic(name, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode(); mode != 0o600 {
		t.Errorf("mode %v", mode)
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

// Two who write the same file at once: it has what one of them wrote, and no part of the other's; nothing else is left. A roll and a truncation
// once left leader epochs with the number of the one and the lines of the other.
func TestWriteFileAtomicAtOnce(t *testing.T) {
	var fsys osfs.FS
	dir := t.TempDir()
	name := filepath.Join(dir, "epochs")
	texts := [][]byte{[]byte("3\na\nb\nc\n"), bytes.Repeat([]byte("4444\n"), 2000), []byte("1\n")}
	var writers sync.WaitGroup
	for _, text := range texts {
		writers.Go(func() {
			for range 100 {
				if err := fsys.WriteFileAtomic(name, text); err != nil {
					t.Error(err)
				}
				got, err := fsys.ReadFile(name)
				if err != nil || !slices.ContainsFunc(texts, func(whole []byte) bool { return bytes.Equal(got, whole) }) {
					t.Errorf("%d bytes, %.20q: %v", len(got), got, err)
				}
			}
		})
	}
	writers.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
