package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
)

// TestNoWaitReaderShort: bytes of which only the first page is in the page cache are such as would block, not the end of the file, which a
// fetch would take for damage. The kernel begins to read what it refuses to wait for, so a fast disk may give many of them after all.
func TestNoWaitReaderShort(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	fd, size := int(f.Fd()), 4<<20+page
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4<<20)
	if n, err := (noWaitReader{fd}).ReadAt(b, size-10); n != 10 || !errors.Is(err, segment.ErrWouldBlock) {
		t.Fatalf("at the end: %d bytes, %v, want 10 and %v", n, err, segment.ErrWouldBlock)
	}
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil { // no read-ahead
		t.Fatal(err)
	}
	for range 20 {
		forgotten(t, f, 0, size)
		if _, err := f.ReadAt(b[:1], 0); err != nil {
			t.Fatal(err)
		}
		if cached, _, err := iouring.Cachestat(fd, page, size-page); err != nil || cached != 0 {
			t.Skipf("the file system reads ahead: %v", err)
		}
		switch n, err := (noWaitReader{fd}).ReadAt(b, page-10); {
		case n == len(b) && err == nil: // it was read meanwhile
		case n == len(b) || !errors.Is(err, segment.ErrWouldBlock):
			t.Fatalf("%d bytes, %v, want %v", n, err, segment.ErrWouldBlock)
		default:
			return
		}
	}
	t.Skip("the disk gives a page before a read without waiting is back")
}

// forgotten takes bytes of a file, which are on disk, out of the page cache. It skips the test where that cannot be done.
func forgotten(t testing.TB, f *os.File, at, n int64) {
	t.Helper()
	if err := unix.Fadvise(int(f.Fd()), at, n, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	cached, _, err := iouring.Cachestat(int(f.Fd()), at, n)
	if err != nil || cached > 0 {
		t.Skipf("%d pages stay in the page cache (%v)", cached, err)
	}
}
