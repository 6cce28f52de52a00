package iouring

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	abi "github.com/iceber/iouring-go/syscall"
	"golang.org/x/sys/unix"
)

// Probe tells which engine was chosen and why.
type Probe struct {
	// Engine is "uring" or "epoll".
	Engine string
	// Reason says in one sentence why this engine runs.
	Reason string
	// Cure says what to change so that io_uring can be used; empty when it is.
	Cure string
	// Cause is Reason as one word, for programs: "", "configured", "eperm", "enosys", "einval", "enomem", "eagain",
	// "features", "smoke", "other".
	Cause string
	// Kernel is the running release, as uname(2) tells it.
	Kernel string
	// Err is what the ring engine failed with, nil when it runs or was not asked for.
	Err error
	// Features of the engine that runs.
	Features Features
}

// String is the probe as one line.
func (p Probe) String() string {
	s := fmt.Sprintf("%s on Linux %s: %s", p.Engine, p.Kernel, p.Reason)
	if p.Cure != "" {
		s += "; to use io_uring: " + p.Cure
	}
	return s + " [" + p.Features.String() + "]"
}

// Transient says that the ring was refused for want of memory or of a worker, so that it may be had a moment later. The kernel
// takes down the rings of a process that has ended in the background, and counts their queues until then: on Linux 6.18 a process
// without CAP_IPC_LOCK is refused rings (ENOMEM, RLIMIT_MEMLOCK) that another of its user held when it was killed.
func (p Probe) Transient() bool { return p.Cause == "enomem" || p.Cause == "eagain" }

// UnavailableError is what New("uring") fails with where io_uring can't be used. Unwrap gives the kernel's error.
type UnavailableError struct{ Probe Probe }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("iouring: io_uring is unavailable on Linux %s: %s; to use it: %s", e.Probe.Kernel, e.Probe.Reason, e.Probe.Cure)
}

func (e *UnavailableError) Unwrap() error { return e.Probe.Err }

// New makes an engine for the calling goroutine, which must be locked to its thread for as long as the engine lives.
// kind is "uring", "epoll", or "auto": the ring if a live test of it succeeds, else epoll with the reason in the
// Probe.
func New(kind string, cfg Config) (Engine, Probe, error) {
	cfg = cfg.withDefaults()
	probe := Probe{Engine: "uring", Kernel: kernelRelease()}
	switch kind {
	case "epoll":
		probe.Cause, probe.Reason = "configured", "epoll was asked for"
		return newEpoll(cfg, probe)
	case "auto", "uring":
	default:
		return nil, probe, fmt.Errorf("iouring: engine %q: not one of auto, uring, epoll", kind)
	}
	e, err := tryUring(cfg)
	if err == nil {
		probe.Reason, probe.Features = "io_uring passed its live test", e.features
		return e, probe, nil
	}
	diagnose(&probe, err)
	if kind == "uring" {
		return nil, probe, &UnavailableError{probe}
	}
	return newEpoll(cfg, probe)
}

func newEpoll(cfg Config, probe Probe) (Engine, Probe, error) {
	probe.Engine = "epoll"
	e, err := openEpoll(cfg)
	if err != nil {
		return nil, probe, err
	}
	probe.Features = e.Features()
	return e, probe, nil
}

func tryUring(cfg Config) (*uring, error) {
	e, err := openUring(cfg, setupPreference)
	if err != nil {
		return nil, err
	}
	if err := smokeTest(e); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

func probeOps(r *ring) (*opProbe, error) {
	p := &opProbe{}
	if err := abi.IOURingRegister(r.fd, abi.IORING_REGISTER_PROBE, unsafe.Pointer(p), uint32(len(p.ops))); err != nil {
		return nil, fmt.Errorf("iouring: ask for the ring's operations: %w", err)
	}
	return p, nil
}

// diagnose turns what the kernel answered into cause and cure. The same errno has several fathers; files of /proc
// tell them apart as far as anything can.
func diagnose(p *Probe, err error) {
	p.Err = err
	var smoke *smokeError
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		p.Cause = "eperm"
		p.Reason, p.Cure = explainRefusal(readWord("/proc/sys/kernel/io_uring_disabled"), seccompFiltered())
	case errors.Is(err, unix.ENOSYS):
		p.Cause = "enosys"
		p.Reason, p.Cure = explainNoSyscall(seccompFiltered())
	case errors.As(err, &smoke):
		p.Cause, p.Reason, p.Cure = "smoke", err.Error(), "report this kernel: the ring exists but misbehaves"
	case errors.Is(err, errMissing):
		p.Cause, p.Reason, p.Cure = "features", err.Error(), "run Linux 6.1 or newer"
	case errors.Is(err, unix.EINVAL):
		p.Cause, p.Reason, p.Cure = "einval", "the kernel does not know the set-up flags (DEFER_TASKRUN is of Linux 6.1)", "run Linux 6.1 or newer"
	case errors.Is(err, unix.ENOMEM):
		p.Cause, p.Reason = "enomem", "no memory for the ring's queues (ENOMEM: memory cgroup or RLIMIT_MEMLOCK)"
		p.Cure = "raise the container's memory limit or `ulimit -l` (LimitMEMLOCK=), give CAP_IPC_LOCK, or use fewer loops"
	case errors.Is(err, unix.EAGAIN):
		p.Cause, p.Reason, p.Cure = "eagain", "the kernel cannot make the ring now (EAGAIN)", "raise the limits on processes and threads (`ulimit -u`, pids cgroup)"
	default:
		p.Cause, p.Reason, p.Cure = "other", err.Error(), "see the error"
	}
}

func explainRefusal(sysctl string, filtered bool) (reason, cure string) {
	switch {
	case sysctl == "2":
		return "io_uring is disabled on this host (EPERM, kernel.io_uring_disabled=2)", "sysctl -w kernel.io_uring_disabled=0"
	case sysctl == "1":
		return "io_uring is limited to a group on this host (EPERM, kernel.io_uring_disabled=1)",
			"run as a member of the group in kernel.io_uring_group, or sysctl -w kernel.io_uring_disabled=0"
	case filtered:
		return "a seccomp filter refuses io_uring (EPERM), as containers' default profiles do",
			"allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile"
	}
	return "a security module refuses io_uring (EPERM)", "allow io_uring in the SELinux or AppArmor policy of this process"
}

func explainNoSyscall(filtered bool) (reason, cure string) {
	if filtered {
		return "io_uring is unknown here (ENOSYS); a seccomp filter is active and may be what hides it",
			"allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile"
	}
	return "the kernel has no io_uring (ENOSYS)", "run Linux 6.1 or newer, built with CONFIG_IO_URING"
}

// seccompFiltered reports whether the process runs under a seccomp filter (mode 2 in proc(5)).
func seccompFiltered() bool {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(mode) == "2"
		}
	}
	return false
}

func readWord(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
