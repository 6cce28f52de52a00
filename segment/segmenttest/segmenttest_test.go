package segmenttest

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
)

func TestConformance(t *testing.T) { TestFS(t, New(1), "/") }

// outcomes counts how often each of the descriptions that outcome gives comes up over many power cuts at this moment.
func outcomes(fsys *FS, outcome func(*FS) string) map[string]int {
	seen := map[string]int{}
	for range 400 {
		seen[outcome(fsys.Remains())]++
	}
	return seen
}

func holds(name string) func(*FS) string {
	return func(left *FS) string {
		data, err := left.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return "missing"
		}
		return string(data)
	}
}

func wantOutcomes(t *testing.T, seen map[string]int, want ...string) {
	t.Helper()
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("outcome %q never came up; seen %v", w, seen)
		}
		delete(seen, w)
	}
	if len(seen) > 0 {
		t.Errorf("impossible outcomes %v", seen)
	}
}

func TestUnsyncedNameMayVanish(t *testing.T) {
	fsys := New(7)
	create(t, fsys, "a", "")
	wantOutcomes(t, outcomes(fsys, holds("a")), "missing", "")
	must(t, fsys.SyncDir("/"))
	wantOutcomes(t, outcomes(fsys, holds("a")), "")
}

func TestUnsyncedBytesMayVanish(t *testing.T) {
	fsys := New(7)
	create(t, fsys, "a", "one")
	must(t, fsys.SyncDir("/"))
	f, err := fsys.OpenFile("a", segment.ReadWrite, 0)
	must(t, err)
	wantOutcomes(t, outcomes(fsys, holds("a")), "", "\x00\x00\x00", "one")
	must(t, f.Sync())
	wantOutcomes(t, outcomes(fsys, holds("a")), "one")
	for _, s := range []string{"two", "six"} {
		_, err = f.WriteAt([]byte(s), 0)
		must(t, err)
	}
	wantOutcomes(t, outcomes(fsys, holds("a")), "one", "two", "six")
}

func TestPagesVanishOneByOne(t *testing.T) {
	fsys := New(3)
	create(t, fsys, "a", strings.Repeat("0", 3*pageBytes))
	f, err := fsys.OpenFile("a", segment.ReadWrite, 0)
	must(t, err)
	must(t, f.Sync())
	must(t, fsys.SyncDir("/"))
	_, err = f.WriteAt(bytes.Repeat([]byte("1"), 3*pageBytes), 0)
	must(t, err)
	torn := false
	seen := outcomes(fsys, func(left *FS) string {
		data := []byte(holds("a")(left))
		var pages []byte
		for off := 0; off < len(data); off += pageBytes {
			page := data[off : off+pageBytes]
			torn = torn || bytes.Count(page, []byte("1"))%pageBytes != 0
			pages = append(pages, page[0])
		}
		for off := 0; off < len(data); off += sectorBytes {
			if n := bytes.Count(data[off:off+sectorBytes], []byte("1")); n != 0 && n != sectorBytes {
				t.Fatalf("sector at %d is torn", off)
			}
		}
		return string(pages)
	})
	if !torn {
		t.Error("no page was ever torn")
	}
	wantOutcomes(t, seen, "000", "001", "010", "011", "100", "101", "110", "111")
}

func TestRenameIsAtomic(t *testing.T) {
	fsys := New(5)
	must(t, fsys.WriteFileAtomic("a", []byte("old")))
	must(t, fsys.writeSynced("a.new", []byte("new")))
	must(t, fsys.SyncDir("/"))
	must(t, fsys.Rename("a.new", "a"))
	wantOutcomes(t, outcomes(fsys, holds("a")), "old", "new")
	wantOutcomes(t, outcomes(fsys, func(left *FS) string { return holds("a")(left) + "," + holds("a.new")(left) }), "old,new", "new,missing")
}

func TestTruncateUnsynced(t *testing.T) {
	fsys := New(5)
	must(t, fsys.WriteFileAtomic("a", []byte("abcd")))
	f, err := fsys.OpenFile("a", segment.ReadWrite, 0)
	must(t, err)
	must(t, f.Truncate(2))
	seen := outcomes(fsys, holds("a"))
	if seen["abcd"] == 0 || seen["ab"] == 0 || seen["missing"] > 0 {
		t.Errorf("outcomes %v", seen)
	}
	must(t, f.Sync())
	wantOutcomes(t, outcomes(fsys, holds("a")), "ab")
}

func TestWriteFileAtomicCutEverywhere(t *testing.T) {
	run := func(fsys segment.FS) error {
		if err := fsys.WriteFileAtomic("f", []byte("old")); err != nil {
			return err
		}
		return fsys.WriteFileAtomic("f", []byte("new"))
	}
	// Operations 0 to 4 are create, write, sync, rename and SyncDir of the first call, 5 to 9 those of the second.
	allowed := func(cut int) string {
		switch {
		case cut == -1:
			return "new"
		case cut < 4:
			return "missing"
		case cut == 4:
			return "missing old"
		case cut == 9:
			return "old new"
		}
		return "old"
	}
	CutEverywhere(t, 20, run, func(t *testing.T, fsys *FS, cut int) {
		if got := holds("f")(fsys); !strings.Contains(allowed(cut), got) {
			t.Fatalf("cut at %d left %q, want one of %s", cut, got, allowed(cut))
		}
	})
}

// TestFailedSyncLies is fsyncgate: the bytes can be read, the next sync says yes, and the power cut takes them.
func TestFailedSyncLies(t *testing.T) {
	fsys := New(9)
	must(t, fsys.WriteFileAtomic("a", []byte("old")))
	f, err := fsys.OpenFile("a", segment.ReadWrite, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("new"), 0)
	must(t, err)
	fsys.Inject(FailNth(OpSync, "a", 0, false, syscall.EIO))
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("sync: %v", err)
	}
	must(t, f.Sync())
	expect(t, fsys, "a", "new")
	wantOutcomes(t, outcomes(fsys, holds("a")), "old")
}

func TestShortWriteAndFullDisk(t *testing.T) {
	fsys := New(9)
	f, err := fsys.OpenFile("a", segment.ReadWrite|segment.Create, 0o644)
	must(t, err)
	fsys.Inject(ShortNth("a", 1, 2, syscall.EIO))
	_, err = f.WriteAt([]byte("abc"), 0)
	must(t, err)
	if n, err := f.WriteAt([]byte("def"), 3); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Fatalf("short write: %d %v", n, err)
	}
	fsys.Inject(nil)
	fsys.SetCapacity(8)
	if n, err := f.WriteAt([]byte("fghijk"), 5); n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("write to a full disk: %d %v", n, err)
	}
	expect(t, fsys, "a", "abcdefgh")
}

func TestKillKeepsWhatWasWritten(t *testing.T) {
	fsys := New(9)
	f, err := fsys.OpenFile("a", segment.ReadWrite|segment.Create, 0o644)
	must(t, err)
	_, err = f.WriteAt([]byte("abc"), 0)
	must(t, err)
	fsys.Kill()
	if _, err := f.WriteAt([]byte("d"), 3); !errors.Is(err, fs.ErrClosed) {
		t.Fatalf("write by a dead process: %v", err)
	}
	expect(t, fsys, "a", "abc")
	wantOutcomes(t, outcomes(fsys, holds("a")), "missing", "", "\x00\x00\x00", "abc")
}

func TestSameSeedSameOutcome(t *testing.T) {
	play := func() string {
		fsys := New(42)
		must(t, fsys.MkdirAll("d", 0o755))
		for i := range 20 {
			create(t, fsys, path.Join("d", string(rune('a'+i))), strings.Repeat("x", i*1000))
		}
		left := fsys.Crash()
		var got strings.Builder
		entries, _ := left.ReadDir("d")
		for _, e := range entries {
			got.WriteString(e.Name + holds("d/"+e.Name)(left))
		}
		return got.String()
	}
	if a, b := play(), play(); a != b {
		t.Fatal("two plays of one seed differ")
	}
}
