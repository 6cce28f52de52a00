package iouringtest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

func scratch(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestShortWriteAndErrors(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, inner iouring.Engine) {
		e := iouringtest.NewFaultEngine(inner, iouringtest.Script(
			iouringtest.Step{Kind: iouring.EventWrite, Nth: 0, Fault: iouringtest.Fault{Short: 4}},
			iouringtest.Step{Kind: iouring.EventWrite, Nth: 1, Fault: iouringtest.Fault{Errno: unix.ENOSPC}},
			iouringtest.Step{Kind: iouring.EventRead, Nth: 0, Fault: iouringtest.Fault{Short: 2}},
			iouringtest.Step{Kind: iouring.EventSync, Nth: 0, Fault: iouringtest.Fault{Errno: unix.EIO}},
		))
		f := scratch(t)
		fd := int(f.Fd())
		bufs := [][]byte{[]byte("abc"), []byte("def")}
		expect(t, e, iouring.EventWrite, 4, func() { e.WriteAt(1, fd, bufs, 0) })
		expect(t, e, iouring.EventWrite, -int32(unix.ENOSPC), func() { e.WriteAt(1, fd, bufs, 100) })
		if got, err := os.ReadFile(f.Name()); err != nil || string(got) != "abcd" {
			t.Fatalf("file %q, %v: the events told otherwise", got, err)
		}
		dst := make([]byte, 4)
		expect(t, e, iouring.EventRead, 2, func() { e.ReadAt(1, fd, dst, 0) })
		expect(t, e, iouring.EventRead, 4, func() { e.ReadAt(1, fd, dst, 0) })
		expect(t, e, iouring.EventSync, -int32(unix.EIO), func() { e.Datasync(1, fd) })
		expect(t, e, iouring.EventSync, 0, func() { e.Datasync(1, fd) })
		if e.Injected[iouring.EventWrite] != 2 || e.Injected[iouring.EventRead] != 1 || e.Injected[iouring.EventSync] != 1 {
			t.Fatalf("injected %v", e.Injected)
		}
	})
}

func expect(t *testing.T, e iouring.Engine, kind iouring.EventKind, res int32, start func()) {
	t.Helper()
	start()
	if ev := iouringtest.AwaitOne(t, e, kind, 1); ev.Res != res {
		t.Fatalf("%s: %d, want %d", kind, ev.Res, res)
	}
}

func TestShortRecvInto(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, inner iouring.Engine) {
		e := iouringtest.NewFaultEngine(inner, func(op iouringtest.Op) iouringtest.Fault {
			return iouringtest.Fault{Short: 1} // a byte at a time
		})
		ours, peer := iouringtest.SocketPair(t, inner)
		if _, err := unix.Write(peer, []byte("slowly")); err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, 6)
		for at := range dst {
			expect(t, e, iouring.EventRecvInto, 1, func() { e.RecvInto(1, ours, dst[at:]) })
		}
		if string(dst) != "slowly" {
			t.Fatalf("received %q", dst)
		}
	})
}

func TestLateEventsAreOvertaken(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, inner iouring.Engine) {
		e := iouringtest.NewFaultEngine(inner, iouringtest.Script(
			iouringtest.Step{Kind: iouring.EventRecv, Nth: 0, Fault: iouringtest.Fault{Delay: 50}},
			iouringtest.Step{Kind: iouring.EventRecv, Nth: 1, Fault: iouringtest.Fault{Errno: unix.EAGAIN, Delay: 100}},
		))
		var order []iouring.Token
		for tok := range iouring.Token(3) {
			ours, peer := iouringtest.SocketPair(t, inner)
			if _, err := unix.Write(peer, []byte{byte(tok)}); err != nil {
				t.Fatal(err)
			}
			e.Recv(tok, ours)
		}
		for _, ev := range iouringtest.Await(t, e, 3) {
			order = append(order, ev.Token)
			if ev.Buf != nil {
				e.ReleaseBuffer(ev.BufID)
			}
		}
		if !slices.Equal(order, []iouring.Token{2, 0, 1}) {
			t.Fatalf("order %v, want 2 0 1", order)
		}
		iouringtest.Quiet(t, e)
	})
}

// TestGateHoldsEventsBack: for as many Polls as it stays closed, and not those of others.
func TestGateHoldsEventsBack(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, inner iouring.Engine) {
		var gate iouringtest.Gate
		e := iouringtest.NewFaultEngine(inner, iouringtest.Script(
			iouringtest.Step{Kind: iouring.EventRecv, Nth: 0, Fault: iouringtest.Fault{Gate: &gate}},
		))
		for tok := range iouring.Token(2) {
			ours, peer := iouringtest.SocketPair(t, inner)
			if _, err := unix.Write(peer, []byte{byte(tok)}); err != nil {
				t.Fatal(err)
			}
			e.Recv(tok, ours)
		}
		e.ReleaseBuffer(iouringtest.AwaitOne(t, e, iouring.EventRecv, 1).BufID)
		iouringtest.Quiet(t, e)
		gate.Open()
		e.ReleaseBuffer(iouringtest.AwaitOne(t, e, iouring.EventRecv, 0).BufID)
		iouringtest.Quiet(t, e)
	})
}

// TestSeededWriter is a writer that must survive everything the seeds throw at it.
func TestSeededWriter(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, inner iouring.Engine) {
		injected := 0
		for seed := range uint64(20) {
			e := iouringtest.NewFaultEngine(inner, iouringtest.Seeded(seed, iouringtest.Rates{
				Short: 0.3, EIO: 0.1, ENOSPC: 0.1, Late: 0.3, LateMax: 5,
			}))
			e.Reorder(seed)
			writeBlocks(t, e, seed)
			injected += e.Injected[iouring.EventWrite]
		}
		if injected == 0 {
			t.Fatal("no fault was injected")
		}
	})
}

func writeBlocks(t *testing.T, e iouring.Engine, seed uint64) {
	const blocks, block = 16, 512
	f := scratch(t)
	content := make([]byte, blocks*block)
	for i := range content {
		content[i] = byte(uint64(i)*31 + seed)
	}
	var at [blocks]int // what of each block is written
	start := func(i int) {
		e.WriteAt(iouring.Token(i), int(f.Fd()), [][]byte{content[i*block+at[i] : (i+1)*block]}, int64(i*block+at[i]))
	}
	for i := range blocks {
		start(i)
	}
	for left := blocks; left > 0; {
		ev := iouringtest.Await(t, e, 1)[0]
		i := int(ev.Token)
		at[i] += int(max(ev.Res, 0))
		if at[i] == block {
			left--
		} else {
			start(i)
		}
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("seed %d: file of %d bytes, %v", seed, len(got), err)
	}
}

func TestSeededRepeats(t *testing.T) {
	rates := iouringtest.Rates{Short: 0.5, EAGAIN: 0.2, EIO: 0.2, ENOSPC: 0.2, Late: 0.5, LateMax: 3}
	draw := func(seed uint64) (faults []iouringtest.Fault) {
		plan := iouringtest.Seeded(seed, rates)
		for i := range 200 {
			kind := iouring.EventRecv + iouring.EventKind(i%6)
			faults = append(faults, plan(iouringtest.Op{Kind: kind, Len: 100, Seq: i}))
		}
		return faults
	}
	if !slices.Equal(draw(1), draw(1)) {
		t.Fatal("one seed, two plans")
	}
	if slices.Equal(draw(1), draw(2)) {
		t.Fatal("two seeds, one plan")
	}
}

func TestFaultyAcceptIsDisarmed(t *testing.T) {
	iouringtest.Each(t, iouring.Config{}, func(t *testing.T, inner iouring.Engine) {
		e := iouringtest.NewFaultEngine(inner, iouringtest.Script(
			iouringtest.Step{Kind: iouring.EventAccept, Fault: iouringtest.Fault{Errno: unix.EMFILE}},
		))
		ours, _ := iouringtest.SocketPair(t, inner)
		e.Accept(1, ours)
		if ev := iouringtest.AwaitOne(t, e, iouring.EventAccept, 1); ev.Res != -int32(unix.EMFILE) || ev.More {
			t.Fatalf("event %+v", ev)
		}
	})
}
