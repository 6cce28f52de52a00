package iouring_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	abi "github.com/iceber/iouring-go/syscall"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

// childVariable tells a re-executed test binary which call its seccomp filter is to answer with which errno.
const childVariable = "RINGMILL_TEST_SECCOMP"

// refuse installs, for all threads, a seccomp filter that answers call with errno and lets everything else pass, as
// containers' default profiles do.
func refuse(call uint32, errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if failed != 0 {
		return fmt.Errorf("seccomp: %w", failed)
	}
	return nil
}

// runRefused runs a test of this binary in a process of its own, since a filter can't be taken off again, and returns
// what it printed.
func runRefused(t *testing.T, test string, call uint32, errno unix.Errno) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d", childVariable, call, errno))
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "no seccomp here") {
		t.Skip(string(out))
	}
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return string(out)
}

// refuseAsTold is the child's side of runRefused. It locks the thread.
func refuseAsTold(t *testing.T) unix.Errno {
	t.Helper()
	var call, errno int
	if _, err := fmt.Sscan(os.Getenv(childVariable), &call, &errno); err != nil {
		t.Skip("runs only as the child of another test")
	}
	runtime.LockOSThread()
	if err := refuse(uint32(call), unix.Errno(errno)); err != nil {
		t.Skip("no seccomp here: ", err)
	}
	return unix.Errno(errno)
}

func TestFallbackUnderSeccomp(t *testing.T) {
	for _, c := range []struct {
		name  string
		call  uint32
		errno unix.Errno
		cause string
		says  []string
	}{
		{"setup EPERM", abi.SYS_IO_URING_SETUP, unix.EPERM, "eperm", []string{"seccomp filter refuses io_uring", "seccomp profile"}},
		{"setup ENOSYS", abi.SYS_IO_URING_SETUP, unix.ENOSYS, "enosys", []string{"ENOSYS", "seccomp profile"}},
		{"setup ENOMEM", abi.SYS_IO_URING_SETUP, unix.ENOMEM, "enomem", []string{"ENOMEM", "memory limit"}},
		{"setup EINVAL", abi.SYS_IO_URING_SETUP, unix.EINVAL, "einval", []string{"set-up flags", "Linux 6.1"}},
		{"setup EMFILE", abi.SYS_IO_URING_SETUP, unix.EMFILE, "other", []string{"too many open files"}},
		{"register EPERM", abi.SYS_IO_URING_REGISTER, unix.EPERM, "eperm", []string{"io_uring_register"}},
		{"enter EPERM", abi.SYS_IO_URING_ENTER, unix.EPERM, "eperm", []string{"io_uring_enter"}},
		{"enter EIO", abi.SYS_IO_URING_ENTER, unix.EIO, "smoke", []string{"live test: receive from a socket pair"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := runRefused(t, "TestFallbackChild", c.call, c.errno)
			for _, want := range append(c.says, "cause="+c.cause) {
				if !strings.Contains(out, want) {
					t.Errorf("the probe does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestFallbackChild is the body of TestFallbackUnderSeccomp.
func TestFallbackChild(t *testing.T) {
	errno := refuseAsTold(t)
	e, probe, err := iouring.New("auto", iouring.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	t.Logf("cause=%s %s", probe.Cause, probe)
	if e.Name() != "epoll" || probe.Engine != "epoll" || !errors.Is(probe.Err, errno) {
		t.Errorf("engine %s, probe %+v", e.Name(), probe)
	}
	_, _, err = iouring.New("uring", iouring.Config{})
	var unavailable *iouring.UnavailableError
	if !errors.As(err, &unavailable) || !errors.Is(err, errno) {
		t.Errorf(`New("uring"): %v`, err)
	}
}

// TestCoarseWait runs the epoll engine without epoll_pwait2, as before Linux 5.11.
func TestCoarseWait(t *testing.T) {
	runRefused(t, "TestCoarseWaitChild", unix.SYS_EPOLL_PWAIT2, unix.EPERM)
}

// TestCoarseWaitChild is the body of TestCoarseWait.
func TestCoarseWaitChild(t *testing.T) {
	refuseAsTold(t)
	e, _, err := iouring.New("epoll", iouring.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Features().FineWait {
		t.Error("claims to wait to the nanosecond")
	}
	iouringtest.Quiet(t, e)
	woken := make(chan struct{})
	go func() {
		for range 100 {
			e.Wake()
			<-woken
		}
	}()
	for range 100 {
		untilWake(t, e)
		woken <- struct{}{}
	}
}

func TestSocketsNotWatched(t *testing.T) {
	runRefused(t, "TestSocketsNotWatchedChild", unix.SYS_EPOLL_CTL, unix.ENOSPC)
}

// TestSocketsNotWatchedChild meets the limit on watches (epoll(7), max_user_watches) after the engine was made.
func TestSocketsNotWatchedChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		refuseAsTold(t)
	}
	e := iouringtest.Open(t, "epoll", iouring.Config{})
	errno := refuseAsTold(t)
	ours, peer := iouringtest.SocketPair(t, e)
	write(t, peer, []byte("x"))
	e.Recv(1, ours)
	if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1); string(ev.Buf) != "x" {
		t.Errorf("event %+v, want what needed no watching", ev)
	}
	e.Recv(1, ours)
	if ev := iouringtest.AwaitOne(t, e, iouring.EventRecv, 1); ev.Res != -int32(errno) {
		t.Errorf("event %+v, want -ENOSPC", ev)
	}
	fill(t, ours)
	e.PollOut(2, ours)
	if ev := iouringtest.AwaitOne(t, e, iouring.EventPollOut, 2); ev.Res != -int32(errno) {
		t.Errorf("event %+v, want -ENOSPC", ev)
	}
	fd, _ := listen(t, e)
	e.Accept(3, fd)
	if ev := iouringtest.AwaitOne(t, e, iouring.EventAccept, 3); ev.Res != -int32(errno) || ev.More {
		t.Errorf("event %+v, want -ENOSPC", ev)
	}
}

func TestNoCachestat(t *testing.T) {
	runRefused(t, "TestNoCachestatChild", unix.SYS_CACHESTAT, unix.EPERM)
}

// TestNoCachestatChild is the body of TestNoCachestat.
func TestNoCachestatChild(t *testing.T) {
	refuseAsTold(t)
	if _, _, err := iouring.Cachestat(int(scratch(t, nil).Fd()), 0, 1); !errors.Is(err, iouring.ErrUnsupported) {
		t.Errorf("Cachestat: %v, want ErrUnsupported", err)
	}
	e, _, err := iouring.New("epoll", iouring.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Features().Cachestat {
		t.Error("claims to have cachestat")
	}
}

func TestNewUnknownKind(t *testing.T) {
	if _, _, err := iouring.New("kqueue", iouring.Config{}); err == nil || !strings.Contains(err.Error(), `"kqueue"`) {
		t.Fatalf("error %v", err)
	}
}

func TestNewAuto(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, probe, err := iouring.New("auto", iouring.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if probe.Engine != e.Name() || probe.Kernel == "" || probe.Reason == "" || (probe.Cure == "") != (e.Name() == "uring") {
		t.Fatalf("engine %s, probe %+v", e.Name(), probe)
	}
	if probe.Features != e.Features() {
		t.Fatalf("features %+v, the engine's %+v", probe.Features, e.Features())
	}
}

func TestNewBadBuffers(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, n := range []int{3, -1, 1 << 16} {
		if e, probe, err := iouring.New("epoll", iouring.Config{Buffers: n}); err == nil {
			t.Fatalf("%d buffers: engine %v, probe %+v", n, e, probe)
		}
	}
}
