package segmenttest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/segment"
)

// TestFS runs what every segment.FS must do, in the existing directory dir, as subtests of t.
func TestFS(t *testing.T, fsys segment.FS, dir string) {
	t.Run("names", func(t *testing.T) { testNames(t, fsys, path.Join(dir, "names")) })
	t.Run("bytes", func(t *testing.T) { testBytes(t, fsys, path.Join(dir, "bytes")) })
	t.Run("atomic", func(t *testing.T) { testAtomic(t, fsys, path.Join(dir, "atomic")) })
}

func testNames(t *testing.T, fsys segment.FS, dir string) {
	must(t, fsys.MkdirAll(path.Join(dir, "b", "c"), 0o755))
	must(t, fsys.MkdirAll(path.Join(dir, "b"), 0o755))
	a := path.Join(dir, "a")
	if _, err := fsys.OpenFile(a, segment.ReadWrite, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of a missing file: %v", err)
	}
	create(t, fsys, a, "1")
	if _, err := fsys.OpenFile(a, segment.ReadWrite|segment.Create|segment.Exclusive, 0o644); !errors.Is(err, fs.ErrExist) {
		t.Errorf("exclusive open of an existing file: %v", err)
	}
	create(t, fsys, path.Join(dir, "b", "d"), "22")
	must(t, fsys.Rename(path.Join(dir, "b", "d"), a))
	if size, err := fsys.Stat(a); size != 2 || err != nil {
		t.Errorf("stat after rename over a file: %d %v", size, err)
	}
	entries, err := fsys.ReadDir(dir)
	if want := []segment.DirEntry{{Name: "a"}, {Name: "b", IsDir: true}}; err != nil || !slices.Equal(entries, want) {
		t.Errorf("readdir: %v %v, want %v", entries, err, want)
	}
	if err := fsys.Remove(path.Join(dir, "b")); err == nil {
		t.Error("remove of a directory that is not empty worked")
	}
	if err := fsys.Rename(path.Join(dir, "none"), a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rename of a missing file: %v", err)
	}
	must(t, fsys.SyncDir(dir))
	must(t, fsys.RemoveAll(path.Join(dir, "b")))
	must(t, fsys.RemoveAll(path.Join(dir, "b")))
	must(t, fsys.Remove(a))
	if err := fsys.Remove(a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove of a missing file: %v", err)
	}
	if entries, err := fsys.ReadDir(dir); len(entries) != 0 || err != nil {
		t.Errorf("readdir of an empty directory: %v %v", entries, err)
	}
}

func testBytes(t *testing.T, fsys segment.FS, dir string) {
	must(t, fsys.MkdirAll(dir, 0o755))
	name := path.Join(dir, "f")
	create(t, fsys, name, "hello")
	f, err := fsys.OpenFile(name, segment.ReadWrite, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("!"), 8)
	must(t, err)
	expect(t, fsys, name, "hello\x00\x00\x00!")
	must(t, f.Truncate(2))
	must(t, f.Truncate(4))
	expect(t, fsys, name, "he\x00\x00")
	must(t, f.Sync())
	buf := make([]byte, 3)
	if n, err := f.ReadAt(buf, 2); n != 2 || err != io.EOF {
		t.Errorf("read past the end: %d %v", n, err)
	}
	if size, err := f.Size(); size != 4 || err != nil {
		t.Errorf("size %d %v", size, err)
	}
	must(t, fsys.Remove(name))
	if n, err := f.ReadAt(buf[:2], 0); n != 2 || err != nil {
		t.Errorf("read of an open file without a name: %d %v", n, err)
	}
	must(t, f.Close())
	create(t, fsys, name, "new")
	expect(t, fsys, name, "new")
	read, err := fsys.OpenFile(name, segment.ReadOnly, 0)
	must(t, err)
	if _, err := read.WriteAt([]byte("x"), 0); err == nil {
		t.Error("write to a file opened for reading worked")
	}
	must(t, read.Close())
	if err := read.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	create(t, fsys, name, "") // Truncate
	expect(t, fsys, name, "")
}

func testAtomic(t *testing.T, fsys segment.FS, dir string) {
	must(t, fsys.MkdirAll(dir, 0o755))
	name := path.Join(dir, "f")
	for _, content := range []string{"old and long", "new"} {
		must(t, fsys.WriteFileAtomic(name, []byte(content)))
		expect(t, fsys, name, content)
	}
	if entries, err := fsys.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("readdir after atomic writes: %v %v", entries, err)
	}
}

func create(t *testing.T, fsys segment.FS, name, content string) {
	t.Helper()
	f, err := fsys.OpenFile(name, segment.ReadWrite|segment.Create|segment.Truncate, 0o644)
	must(t, err)
	_, err = f.WriteAt([]byte(content), 0)
	must(t, err)
	must(t, f.Close())
}

func expect(t *testing.T, fsys segment.FS, name, content string) {
	t.Helper()
	if got, err := fsys.ReadFile(name); err != nil || !bytes.Equal(got, []byte(content)) {
		t.Errorf("%s holds %q (%v), want %q", name, got, err, content)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
