package faultfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func write(t *testing.T, f *os.File, text string) {
	t.Helper()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func want(t *testing.T, path, text string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte(text)) {
		t.Errorf("%s: %q, %v, want %q", filepath.Base(path), got, err, text)
	}
}

// TestLieBites: what was synced during a lie is gone after a cut, a file that came then too, one that went is there again; what the lie was
// not about is kept.
func TestLieBites(t *testing.T) {
	d := New(t)
	kept, honest, gone, late := filepath.Join(d.Dir, "a.log"), filepath.Join(d.Dir, "honest"), filepath.Join(d.Dir, "b.log"), filepath.Join(d.Dir, "c.log")
	log, other := create(t, kept), create(t, honest)
	write(t, log, "before")
	old := create(t, gone)
	write(t, old, "was there")
	d.Lie(t, func(path string) bool { return strings.HasSuffix(path, ".log") })
	write(t, log, " and after")
	write(t, other, "kept")
	young := create(t, late)
	write(t, young, "new")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	want(t, kept, "before and after")
	for _, f := range []*os.File{log, other, young, old} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if lost := d.Cut(t); lost != 3 {
		t.Errorf("%d files lost something, want 3", lost)
	}
	want(t, kept, "before")
	want(t, honest, "kept")
	want(t, gone, "was there")
	if _, err := os.Stat(late); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that came during the lie: %v", err)
	}
}

// TestErrorsBite: writes and syncs fail where they are told to, and nowhere else, until the disk is healed.
func TestErrorsBite(t *testing.T) {
	d := New(t)
	bad, good := create(t, filepath.Join(d.Dir, "bad")), create(t, filepath.Join(d.Dir, "good"))
	isBad := func(path string) bool { return path == "bad" }
	d.FailWrites(isBad)
	if _, err := bad.WriteString("x"); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write: %v", err)
	}
	if err := bad.Truncate(10); !errors.Is(err, syscall.EIO) {
		t.Errorf("a change of size: %v", err)
	}
	if err := syscall.Fallocate(int(bad.Fd()), 0, 0, 10); !errors.Is(err, syscall.EIO) {
		t.Errorf("an allocation: %v", err)
	}
	write(t, good, "x")
	d.Heal()
	d.FailSyncs(t, isBad)
	if _, err := bad.WriteString("x"); err != nil {
		t.Error(err)
	}
	if err := bad.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a sync: %v", err)
	}
	write(t, good, "x")
	if d.Failed() != 4 {
		t.Errorf("%d requests were failed, want 4", d.Failed())
	}
	d.Heal()
	write(t, bad, "y")
	d.Slow(time.Millisecond, 2*time.Millisecond)
	write(t, bad, "z")
	if d.Slowed() != 1 {
		t.Errorf("%d slow syncs, want 1", d.Slowed())
	}
}
