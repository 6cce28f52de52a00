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
// fetch would take for damage.
func TestNoWaitReaderShort(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	fd := int(f.Fd())
	if _, err := f.Write(make([]byte, 2*page)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	forgotten(t, f, 0, 2*page)
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM); err != nil { // no read-ahead
		t.Fatal(err)
	}
	var b [100]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		t.Fatal(err)
	}
	if cached, _, err := iouring.Cachestat(fd, page, page); err != nil || cached != 0 {
		t.Skipf("the file system reads ahead: %v", err)
	}
	n, err := noWaitReader{fd}.ReadAt(b[:], page-10)
	if n != 10 && n != 0 || !errors.Is(err, segment.ErrWouldBlock) {
		t.Fatalf("%d bytes, %v, want 10 and %v", n, err, segment.ErrWouldBlock)
	}
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
