package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
)

// fullDisk refuses to grow any journal.
type fullDisk struct{ osfs.FS }

func (d fullDisk) OpenFile(name string, flag segment.OpenFlag, perm fs.FileMode) (segment.File, error) {
	if strings.Contains(name, "journal-") {
		return nil, unix.ENOSPC
	}
	return d.FS.OpenFile(name, flag, perm)
}

// A start that fails says what to do in one line and leaves the disk as it found it.
func TestFailedStartLeavesNothing(t *testing.T) {
	data := filepath.Join(t.TempDir(), "missing", "data")
	_, err := tryStart(t, nodeOptions{shape: shape{"epoll", 1}, dir: data, seams: func(s *seams) { s.fs = fullDisk{} }})
	var refused *StartError
	if !errors.As(err, &refused) || refused.Problem != "the disk is full" || strings.Contains(err.Error(), "\n") {
		t.Fatalf("start on a full disk: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(data)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the start left %s: %v", filepath.Dir(data), err)
	}
}

// What was there before a start that fails stays.
func TestFailedStartKeepsWhatWasThere(t *testing.T) {
	data := t.TempDir()
	kept := filepath.Join(data, "logs", "kept")
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tryStart(t, nodeOptions{shape: shape{"epoll", 1}, dir: data, seams: func(s *seams) { s.fs = fullDisk{} }}); err == nil {
		t.Fatal("started on a full disk")
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
