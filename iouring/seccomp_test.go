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
)

// childVariable tells a re-executed test binary which errno its seccomp filter is to give.
const childVariable = "RINGMILL_TEST_SECCOMP_ERRNO"

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

// TestFallbackUnderSeccomp runs TestSeccompChild in a process of its own, since a filter can't be taken off again.
func TestFallbackUnderSeccomp(t *testing.T) {
	for _, c := range []struct {
		errno unix.Errno
		cause string
		says  []string
	}{
		{unix.EPERM, "eperm", []string{"seccomp filter refuses io_uring_setup", "seccomp profile"}},
		{unix.ENOSYS, "enosys", []string{"ENOSYS", "seccomp profile"}},
		{unix.ENOMEM, "enomem", []string{"ENOMEM", "memory limit"}},
		{unix.EINVAL, "einval", []string{"set-up flags", "Linux 6.1"}},
		{unix.EMFILE, "other", []string{"too many open files"}},
	} {
		t.Run(c.errno.Error(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestSeccompChild$", "-test.v")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childVariable, c.errno))
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "no seccomp here") {
				t.Skip(string(out))
			}
			if err != nil {
				t.Fatalf("child: %v\n%s", err, out)
			}
			for _, want := range append(c.says, "cause="+c.cause) {
				if !strings.Contains(string(out), want) {
					t.Errorf("the probe does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestSeccompChild is the body of TestFallbackUnderSeccomp.
func TestSeccompChild(t *testing.T) {
	var errno int
	if _, err := fmt.Sscan(os.Getenv(childVariable), &errno); err != nil {
		t.Skip("runs only as the child of TestFallbackUnderSeccomp")
	}
	runtime.LockOSThread()
	if err := refuse(abi.SYS_IO_URING_SETUP, unix.Errno(errno)); err != nil {
		t.Skip("no seccomp here: ", err)
	}
	e, probe, err := iouring.New("auto", iouring.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	t.Logf("cause=%s %s", probe.Cause, probe)
	if e.Name() != "epoll" || probe.Engine != "epoll" || !errors.Is(probe.Err, unix.Errno(errno)) {
		t.Errorf("engine %s, probe %+v", e.Name(), probe)
	}
	_, _, err = iouring.New("uring", iouring.Config{})
	var unavailable *iouring.UnavailableError
	if !errors.As(err, &unavailable) || !errors.Is(err, unix.Errno(errno)) {
		t.Errorf(`New("uring"): %v`, err)
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
