package node

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
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

// refusedRings refuses the first rings as a kernel does whose memory they may not have, and gives epoll in their place.
func refusedRings(count int, errno unix.Errno) func(s *seams) {
	return func(s *seams) {
		var asked atomic.Int64
		s.newEngine = func(_ string, _ iouring.Config, _ int) (iouring.Engine, iouring.Probe, error) {
			engine, probe, err := iouring.New("epoll", iouring.Config{})
			if asked.Add(1) <= int64(count) {
				probe.Cause, probe.Reason, probe.Err = map[unix.Errno]string{unix.ENOMEM: "enomem", unix.EAGAIN: "eagain", unix.EPERM: "eperm"}[errno], "refused: "+errno.Error(), errno
			} else {
				probe.Engine, probe.Cause, probe.Reason = "uring", "", "made in the end"
			}
			return engine, probe, err
		}
	}
}

// TestRingsAreWaitedFor: what passes is waited for, what does not is taken as it is, and the start says why there is no ring.
func TestRingsAreWaitedFor(t *testing.T) {
	for _, row := range []struct {
		name    string
		refused int
		errno   unix.Errno
		wait    time.Duration
		says    string
	}{
		{"memory that comes back", 5, unix.ENOMEM, patience, "engine    uring on Linux"},
		{"workers that come back", 5, unix.EAGAIN, patience, "engine    uring on Linux"},
		{"memory that stays away", math.MaxInt, unix.ENOMEM, 30 * time.Millisecond, "refused: cannot allocate memory"},
		{"a filter", 1, unix.EPERM, patience, "refused: operation not permitted"},
	} {
		t.Run(row.name, func(t *testing.T) {
			refuse := refusedRings(row.refused, row.errno)
			tn := startNode(t, nodeOptions{shape: shape{"auto", 1}, seams: func(s *seams) { refuse(s); s.engineWait = row.wait }})
			var said bytes.Buffer
			tn.report(&said, nil, 0)
			if !strings.Contains(said.String(), row.says) {
				t.Errorf("the start says\n%s\nwant %q", &said, row.says)
			}
			tn.createTopic("a", 1)
			tn.dial().mustProduce("a", 0, batch("served"))
		})
	}
}
