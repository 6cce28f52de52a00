package iouring_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

// scratch returns a new file with content.
func scratch(t testing.TB, content []byte) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "scratch"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	return f
}

// pattern returns n bytes of which no two places 251 apart or less are alike in the same way.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i/251)
	}
	return p
}

func TestReadAt(t *testing.T) {
	content := pattern(1 << 20)
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		fd := int(scratch(t, content).Fd())
		for _, c := range []struct{ off, size, want int }{
			{0, 100, 100},
			{4097, 128 << 10, 128 << 10},
			{1, 512 << 10, 512 << 10}, // large enough to be handed to a worker at once
			{1<<20 - 10, 100, 10},
			{1 << 20, 100, 0},
			{5 << 20, 100, 0},
		} {
			dst := make([]byte, c.size)
			e.ReadAt(4, fd, dst, int64(c.off))
			runtime.GC()
			ev := iouringtest.AwaitOne(t, e, iouring.EventRead, 4)
			if int(ev.Res) != c.want {
				t.Errorf("read of %d at %d: %d, want %d", c.size, c.off, ev.Res, c.want)
			} else if c.want > 0 && !bytes.Equal(dst[:c.want], content[c.off:c.off+c.want]) {
				t.Errorf("read of %d at %d: other bytes", c.size, c.off)
			}
		}
		e.ReadAt(4, -1, make([]byte, 1), 0)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventRead, 4); ev.Res != -int32(unix.EBADF) {
			t.Errorf("read of no descriptor: %+v", ev)
		}
	})
}

func TestWriteAt(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		f := scratch(t, []byte("0123456789"))
		bufs := [][]byte{[]byte("ab"), nil, []byte("cde"), []byte("f")}
		e.WriteAt(6, int(f.Fd()), bufs, 3)
		clear(bufs) // the list is the caller's again at once
		runtime.GC()
		if ev := iouringtest.AwaitOne(t, e, iouring.EventWrite, 6); ev.Res != 6 {
			t.Fatalf("event %+v, want 6 bytes", ev)
		}
		got, err := os.ReadFile(f.Name())
		if err != nil || string(got) != "012abcdef9" {
			t.Fatalf("file %q, %v", got, err)
		}
	})
}

// TestWriteAtMany gives more slices than the kernel takes at once: a short write.
func TestWriteAtMany(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		f := scratch(t, nil)
		content := pattern(3000)
		bufs := make([][]byte, len(content))
		for i := range content {
			bufs[i] = content[i : i+1]
		}
		at := 0
		for at < len(content) {
			e.WriteAt(1, int(f.Fd()), bufs[at:], int64(at))
			ev := iouringtest.AwaitOne(t, e, iouring.EventWrite, 1)
			if want := min(1024, len(content)-at); int(ev.Res) != want {
				t.Fatalf("event %+v, want %d bytes", ev, want)
			}
			at += int(ev.Res)
		}
		if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("file of %d bytes, %v", len(got), err)
		}
	})
}

func TestWriteAtReadOnly(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		f, err := os.Open(scratch(t, []byte("x")).Name())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		e.WriteAt(1, int(f.Fd()), [][]byte{[]byte("y")}, 0)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventWrite, 1); ev.Res != -int32(unix.EBADF) {
			t.Fatalf("event %+v, want -EBADF", ev)
		}
	})
}

// TestWriteFull meets ENOSPC as a full disk gives it.
func TestWriteFull(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("no /dev/full here: ", err)
		}
		defer f.Close()
		e.WriteAt(1, int(f.Fd()), [][]byte{[]byte("y")}, 0)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventWrite, 1); ev.Res != -int32(unix.ENOSPC) {
			t.Fatalf("event %+v, want -ENOSPC", ev)
		}
	})
}

func TestDatasync(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		f := scratch(t, []byte("precious"))
		e.Datasync(8, int(f.Fd()))
		if ev := iouringtest.AwaitOne(t, e, iouring.EventSync, 8); ev.Res != 0 {
			t.Fatalf("event %+v", ev)
		}
		ours, _ := iouringtest.SocketPair(t, e)
		e.Datasync(8, ours)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventSync, 8); ev.Res != -int32(unix.EINVAL) {
			t.Fatalf("event %+v of a socket, want -EINVAL", ev)
		}
	})
}

// TestFileOperationsOverlap keeps many in flight at once, more than the pool has workers.
func TestFileOperationsOverlap(t *testing.T) {
	const blocks, block = 64, 4096
	iouringtest.Each(t, iouring.Config{FilePool: 2}, func(t *testing.T, e iouring.Engine) {
		f := scratch(t, nil)
		content := pattern(blocks * block)
		for i := range blocks {
			e.WriteAt(iouring.Token(i), int(f.Fd()), [][]byte{content[i*block : (i+1)*block]}, int64(i*block))
		}
		seen := map[iouring.Token]bool{}
		for _, ev := range iouringtest.Await(t, e, blocks) {
			if ev.Kind != iouring.EventWrite || ev.Res != block || seen[ev.Token] {
				t.Fatalf("event %+v", ev)
			}
			seen[ev.Token] = true
		}
		if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("file of %d bytes, %v", len(got), err)
		}
	})
}

// TestCancelFiles closes a file with operations queued: each still has its event, and none reaches the file that
// takes the number.
func TestCancelFiles(t *testing.T) {
	const writes = 32
	iouringtest.Each(t, iouring.Config{FilePool: 1}, func(t *testing.T, e iouring.Engine) {
		f := scratch(t, nil)
		fd, err := unix.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		for i := range writes {
			e.WriteAt(iouring.Token(i), fd, [][]byte{make([]byte, 64<<10)}, int64(i)<<16)
		}
		e.CancelFD(fd)
		unix.Close(fd)
		other := scratch(t, []byte("untouched"))
		for _, ev := range iouringtest.Await(t, e, writes) {
			if ev.Kind != iouring.EventWrite || (ev.Res != 64<<10 && ev.Res != -int32(unix.ECANCELED)) {
				t.Fatalf("event %+v", ev)
			}
		}
		if got, err := os.ReadFile(other.Name()); err != nil || string(got) != "untouched" {
			t.Fatalf("successor %q, %v", got, err)
		}
	})
}

func TestSendfile(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, e iouring.Engine) {
		content := pattern(2 << 20)
		f := scratch(t, content)
		ours, peer := iouringtest.SocketPair(t, e)
		var off int64
		n, err := iouring.Sendfile(ours, int(f.Fd()), &off, 100)
		if n != 100 || err != nil || off != 100 {
			t.Fatalf("Sendfile = %d, %v, off %d", n, err, off)
		}
		for err == nil {
			_, err = iouring.Sendfile(ours, int(f.Fd()), &off, 1<<20)
		}
		if err != unix.EAGAIN || off >= 2<<20 {
			t.Fatalf("Sendfile to a full socket: %v, off %d", err, off)
		}
		got := make([]byte, off)
		for at := 0; at < len(got); {
			k, err := unix.Read(peer, got[at:])
			if err != nil {
				t.Fatal(err)
			}
			at += k
		}
		if !bytes.Equal(got, content[:off]) {
			t.Fatal("other bytes arrived than the file has")
		}
	})
}

func TestSendNoWaitBrokenPipe(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	unix.Close(pair[1])
	if n, err := iouring.SendNoWait(pair[0], []byte("x"), true); n != 0 || err != unix.EPIPE {
		t.Fatalf("SendNoWait = %d, %v, want EPIPE", n, err)
	}
}

func TestPwritevPreadNoWait(t *testing.T) {
	f := scratch(t, nil)
	fd := int(f.Fd())
	if n, err := iouring.Pwritev(fd, [][]byte{[]byte("one"), {}, []byte("two")}, 5); n != 6 || err != nil {
		t.Fatalf("Pwritev = %d, %v", n, err)
	}
	dst := make([]byte, 20)
	n, err := iouring.PreadNoWait(fd, dst, 5)
	if errors.Is(err, iouring.ErrUnsupported) {
		t.Skip("RWF_NOWAIT reads are not supported here")
	}
	if err != nil || string(dst[:n]) != "onetwo" {
		t.Fatalf("PreadNoWait = %q, %v", dst[:n], err)
	}
	if n, err := iouring.PreadNoWait(fd, dst, 11); n != 0 || err != nil {
		t.Fatalf("PreadNoWait at the end = %d, %v", n, err)
	}
}

func TestCachestat(t *testing.T) {
	f := scratch(t, make([]byte, 64<<10))
	fd := int(f.Fd())
	page := os.Getpagesize()
	cached, total, err := iouring.Cachestat(fd, 0, 64<<10)
	if errors.Is(err, iouring.ErrUnsupported) {
		t.Skip("no cachestat here")
	}
	if want := 64 << 10 / page; err != nil || cached != want || total != want {
		t.Fatalf("Cachestat = %d of %d, %v, want all %d", cached, total, err, want)
	}
	if cached, total, err := iouring.Cachestat(fd, int64(page)-1, 2); cached != 2 || total != 2 || err != nil {
		t.Fatalf("Cachestat over a page's edge = %d of %d, %v", cached, total, err)
	}
	if _, fsType, err := iouring.ProbeAppend(t.TempDir()); err != nil || fsType != "ext4" {
		t.Skipf("dropping pages is not tried on %s (%v)", fsType, err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	if cached, total, err := iouring.Cachestat(fd, 0, 64<<10); err != nil || cached != 0 || total != 64<<10/page {
		t.Fatalf("Cachestat after DONTNEED = %d of %d, %v, want none", cached, total, err)
	}
}

func TestProbeAppend(t *testing.T) {
	dir := t.TempDir()
	nowait, fsType, err := iouring.ProbeAppend(dir)
	if err != nil || fsType == "" {
		t.Fatalf("ProbeAppend = %v, %q, %v", nowait, fsType, err)
	}
	if fsType == "ext4" && nowait {
		t.Log("ext4 has learnt to write without waiting: the append strategy should be measured again")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
	if _, _, err := iouring.ProbeAppend(filepath.Join(dir, "absent")); !errors.Is(err, unix.ENOENT) {
		t.Fatalf("ProbeAppend of no directory: %v", err)
	}
}

func TestMap(t *testing.T) {
	mem, err := iouring.Map(4<<20, iouring.NotInCores)
	if err != nil {
		t.Fatal(err)
	}
	if mem[0] != 0 || mem[len(mem)-1] != 0 {
		t.Fatal("fresh memory is not zero")
	}
	mem[0], mem[len(mem)-1] = 1, 2
	if err := iouring.Unmap(mem); err != nil {
		t.Fatal(err)
	}
}

func TestPinThread(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test and its binding with it
	cpus, err := iouring.ThreadCPUs()
	if err != nil || len(cpus) == 0 {
		t.Fatalf("ThreadCPUs = %v, %v", cpus, err)
	}
	last := cpus[len(cpus)-1]
	if err := iouring.PinThread(last); err != nil {
		t.Fatal(err)
	}
	if got, err := iouring.ThreadCPUs(); err != nil || len(got) != 1 || got[0] != last {
		t.Fatalf("ThreadCPUs after PinThread(%d) = %v, %v", last, got, err)
	}
}

func TestInlineCallsDoNotAllocate(t *testing.T) {
	f := scratch(t, []byte("0123456789"))
	fd := int(f.Fd())
	bufs := [][]byte{[]byte("ab"), []byte("cd")}
	dst := make([]byte, 4)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = iouring.Pwritev(fd, bufs, 0)
		_, _ = iouring.PreadNoWait(fd, dst, 0)
		_, _, _ = iouring.Cachestat(fd, 0, 10)
		_, _ = iouring.SendNoWait(fd, dst, false) // ENOTSOCK
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
