package iouring

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTestUring returns a ring engine for the calling, then locked goroutine, or skips.
func openTestUring(t *testing.T, cfg Config, preference []uint32) *uring {
	t.Helper()
	runtime.LockOSThread()
	e, err := openUring(cfg.withDefaults(), preference)
	if err != nil {
		t.Skip("no io_uring here: ", err)
	}
	t.Cleanup(func() {
		_ = e.Close()
		runtime.UnlockOSThread()
	})
	return e
}

func socketPair(t *testing.T) [2]int {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
	return pair
}

// TestOlderSetup runs the live test on a ring as kernels before 6.6 make it, with an index array.
func TestOlderSetup(t *testing.T) {
	e := openTestUring(t, Config{}, []uint32{baseSetup})
	if e.features.NoSQArray {
		t.Fatal("claims to have no index array")
	}
	for range 1000 { // round the queue a few times
		if err := smokeRecv(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := smokeTest(e); err != nil {
		t.Fatal(err)
	}
}

func TestUnknownSetupFlag(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err := openUring(Config{}.withDefaults(), []uint32{baseSetup | 1<<31})
	if !errors.Is(err, unix.EINVAL) {
		t.Fatalf("error %v, want EINVAL", err)
	}
}

// TestOneEnterPerPoll counts enters: one for a Poll that submits, however much, and waits; none for one with nothing
// to do.
func TestOneEnterPerPoll(t *testing.T) {
	e := openTestUring(t, Config{}, setupPreference)
	events := make([]Event, 64)
	if _, err := e.Poll(events, 0); err != nil { // arms the doorbell
		t.Fatal(err)
	}
	before := e.counters
	for range 10 {
		if n, err := e.Poll(events, 0); n != 0 || err != nil {
			t.Fatalf("Poll = %d, %v", n, err)
		}
	}
	if e.counters.Enters != before.Enters {
		t.Fatalf("%d enters with nothing to do", e.counters.Enters-before.Enters)
	}
	for i := range 50 {
		pair := socketPair(t)
		if _, err := unix.Write(pair[1], []byte("x")); err != nil {
			t.Fatal(err)
		}
		e.Recv(Token(i), pair[0])
	}
	n, err := e.Poll(events, -1)
	if n != 50 || err != nil {
		t.Fatalf("Poll = %d, %v", n, err)
	}
	if e.counters.Enters != before.Enters+1 || e.counters.EarlySubmits != before.EarlySubmits {
		t.Fatalf("counters %+v, before %+v: want one enter", e.counters, before)
	}
	e.dropEvents(events[:n])
}

// TestWakeOfAwakeLoopIsFree looks for the eventfd write that must not have happened.
func TestWakeOfAwakeLoopIsFree(t *testing.T) {
	e := openTestUring(t, Config{}, setupPreference)
	e.Wake()
	var counter [8]byte
	if _, err := unix.Read(e.bell.fd, counter[:]); err != unix.EAGAIN {
		t.Fatalf("eventfd: %v, want EAGAIN: nothing written", err)
	}
	e.bell.answer()
	if !e.bell.fallAsleep() {
		t.Fatal("a wake that was answered keeps the loop awake")
	}
	e.Wake()
	e.Wake()
	if _, err := unix.Read(e.bell.fd, counter[:]); err != nil || counter[0] != 1 {
		t.Fatalf("eventfd: %v, %v: want one strike for two wakes", counter, err)
	}
}

func TestDoorbellAfterClose(t *testing.T) {
	d, err := openDoorbell()
	if err != nil {
		t.Fatal(err)
	}
	d.sleeping.Store(true)
	d.close()
	d.ring() // must not write to whatever has the descriptor's number now
}

// TestSignalThatFails rings the eventfd when the kernel could not deliver a message.
func TestSignalThatFails(t *testing.T) {
	e := openTestUring(t, Config{}, setupPreference)
	index := e.peerIndex(e)
	e.complete(cqe{userData: uint64(packUserData(kindSignal, 0, index)), res: -int32(unix.EOVERFLOW)}, &Event{})
	var counter [8]byte
	if _, err := unix.Read(e.bell.fd, counter[:]); err != nil || counter[0] != 1 {
		t.Fatalf("eventfd: %v, %v", counter, err)
	}
	if e.peerIndex(e) != index || len(e.peers) != 1 {
		t.Fatalf("%d peers after one was signalled twice", len(e.peers))
	}
}

// TestBacklog moves completions out of the queue as an early submission under pressure does; they come first, and in
// order.
func TestBacklog(t *testing.T) {
	e := openTestUring(t, Config{}, setupPreference)
	pairs := [4][2]int{}
	for i := range pairs {
		pairs[i] = socketPair(t)
		if _, err := unix.Write(pairs[i][1], []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		e.Recv(Token(i), pairs[i][0])
		e.flush()
		if i < 3 {
			e.spill()
		}
	}
	events := make([]Event, 2)
	for want := range Token(4) {
		n, err := e.Poll(events[:1], 0)
		if n != 1 || err != nil || events[0].Token != want {
			t.Fatalf("Poll = %d, %v, %+v, want token %d", n, err, events[0], want)
		}
		e.dropEvents(events[:1])
	}
}

// TestLostRing checks that operations on a lost ring do no harm and that Poll and Close tell.
func TestLostRing(t *testing.T) {
	e := openTestUring(t, Config{Entries: 4}, setupPreference)
	e.lose(unix.EBADF)
	for range 20 {
		e.Recv(1, 0)
	}
	e.CancelFD(0)
	if _, err := e.Poll(make([]Event, 1), -1); !errors.Is(err, unix.EBADF) {
		t.Fatalf("Poll: %v, want EBADF", err)
	}
	if err := e.Close(); !errors.Is(err, unix.EBADF) || !strings.Contains(err.Error(), "20 operations") {
		t.Fatalf("Close: %v", err)
	}
	if _, ok := abandoned.LoadAndDelete(e); !ok {
		t.Fatal("the memory of operations in flight was not kept")
	}
	e.bufs.close()
}

// TestWrongThread uses a ring from a thread that did not make it.
func TestWrongThread(t *testing.T) {
	if invariants {
		t.Skip("the owner check of the invariants build panics first")
	}
	e := openTestUring(t, Config{}, setupPreference)
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		_, err := e.Poll(make([]Event, 1), 0)
		failed <- err
	}()
	if err := <-failed; !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EBADF) {
		t.Fatalf("Poll on a foreign thread: %v", err)
	}
	e.lost = nil
}

func TestSleepIsCut(t *testing.T) {
	s := beginSleep(time.Hour, true)
	d, raw, over := s.next()
	if d <= 0 || d > rawWaitMax || !raw || over {
		t.Fatalf("first part: %v, raw %v, over %v", d, raw, over)
	}
	s.start = s.start.Add(-rawWaitMax)
	if d, raw, over = s.next(); d < 59*time.Minute || raw || over {
		t.Fatalf("second part: %v, raw %v, over %v", d, raw, over)
	}
	s.start = s.start.Add(-time.Hour)
	if _, _, over = s.next(); !over {
		t.Fatal("not over after its limit")
	}
	s = beginSleep(-1, false)
	if d, raw, over = s.next(); d >= 0 || raw || over {
		t.Fatalf("without limit: %v, raw %v, over %v", d, raw, over)
	}
	s = beginSleep(-1, true)
	if d, raw, over = s.next(); d <= 0 || !raw || over {
		t.Fatalf("without limit, raw: %v, raw %v, over %v", d, raw, over)
	}
}

// TestRawWaitAfterSpin: a spin takes nothing from the wait that the Go scheduler is not told of.
func TestRawWaitAfterSpin(t *testing.T) {
	s := beginSleep(-1, true)
	s.start = s.start.Add(-2 * rawWaitMax)
	if s.spins(rawWaitMax) {
		t.Fatal("spins when its budget is over")
	}
	if d, raw, over := s.next(); d <= 0 || d > rawWaitMax || !raw || over {
		t.Fatalf("after a spin: %v, raw %v, over %v", d, raw, over)
	}
	s = beginSleep(time.Millisecond, true)
	if s.start = s.start.Add(-time.Millisecond); s.spins(time.Hour) {
		t.Fatal("spins when its limit is over")
	}
}

// TestSpinner: a spin is worth it where half of the last eight waits ended within it, or would have but for the sleep.
func TestSpinner(t *testing.T) {
	const budget = time.Millisecond
	for _, c := range []struct {
		waits string // s: an event came soon, l: late, n: none
		worth bool
	}{
		{"", false}, {"sss", false}, {"ssss", true}, {"llllllll", false}, {"nnnnnnnn", false}, {"slslslsl", true},
		{"slslslll", false}, {"ssssllll", true}, {"sssslllll", false}, {"sssssssssnnnn", true}, {"sssssssssnnnnn", false},
	} {
		s := spinner{budget: budget}
		for _, w := range c.waits {
			switch w {
			case 's':
				s.note(true)
			case 'l':
				s.ended(&sleep{start: time.Now().Add(-budget - spinWakeCost)}, 1)
			case 'n':
				s.ended(&sleep{start: time.Now()}, 0)
			}
		}
		if s.worth() != c.worth {
			t.Errorf("after %q: %v", c.waits, s.worth())
		}
	}
	s := spinner{budget: budget, recent: 0xff}
	s.ended(&sleep{start: time.Now(), spun: budget}, 1)
	rested := 0
	for s.note(true); !s.worth(); s.note(true) {
		rested++
	}
	if rested != spinRest {
		t.Errorf("%d waits without a spin after one that kept its event away, want %d", rested, spinRest)
	}
	s = spinner{}
	for range 8 {
		s.note(true)
		s.ended(&sleep{start: time.Now()}, 1)
	}
	if s.worth() {
		t.Error("spins without a budget")
	}
}

func TestRawWaitRefusedWithoutPreemption(t *testing.T) {
	t.Setenv("GODEBUG", "gctrace=0,asyncpreemptoff=1")
	if rawWaitAllowed() {
		t.Fatal("allowed: the process would hang")
	}
	t.Setenv("GODEBUG", "")
	if !rawWaitAllowed() {
		t.Fatal("refused without reason")
	}
}

func TestExplainRefusal(t *testing.T) {
	for _, c := range []struct {
		sysctl       string
		filtered     bool
		reason, cure string
	}{
		{"2", false, "io_uring_disabled=2", "sysctl -w kernel.io_uring_disabled=0"},
		{"2", true, "io_uring_disabled=2", "sysctl"},
		{"1", false, "limited to a group", "io_uring_group"},
		{"0", true, "seccomp", "seccomp profile"},
		{"", true, "seccomp", "seccomp profile"},
		{"0", false, "security module", "SELinux"},
	} {
		reason, cure := explainRefusal(c.sysctl, c.filtered)
		if !strings.Contains(reason, c.reason) || !strings.Contains(cure, c.cure) {
			t.Errorf("sysctl %q, filtered %v: %q, %q", c.sysctl, c.filtered, reason, cure)
		}
	}
	if reason, _ := explainNoSyscall(false); !strings.Contains(reason, "no io_uring") {
		t.Error(reason)
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		err   error
		cause string
	}{
		{unix.EPERM, "eperm"}, {unix.EACCES, "eperm"}, {unix.ENOSYS, "enosys"}, {unix.EINVAL, "einval"},
		{unix.ENOMEM, "enomem"}, {unix.EAGAIN, "eagain"}, {errMissing, "features"}, {unix.EMFILE, "other"},
		{&smokeError{"step", unix.EINVAL}, "smoke"},
		{&smokeError{"step", unix.EPERM}, "eperm"},
	} {
		var p Probe
		diagnose(&p, c.err)
		if p.Cause != c.cause || p.Reason == "" || p.Cure == "" || !errors.Is(p.Err, c.err) {
			t.Errorf("%v: %+v", c.err, p)
		}
		if want := errors.Is(c.err, unix.ENOMEM) || errors.Is(c.err, unix.EAGAIN); p.Transient() != want {
			t.Errorf("%v: transient is %v", c.err, p.Transient())
		}
	}
}

func TestTransientAcceptErrors(t *testing.T) {
	for errno, want := range map[unix.Errno]bool{
		unix.ECONNABORTED: true, unix.EINTR: true, unix.EMFILE: false, unix.ENFILE: false, unix.EBADF: false,
		unix.EINVAL: false, unix.ECANCELED: false, unix.ENOMEM: false,
	} {
		if got := transientAcceptError(errno); got != want {
			t.Errorf("%v: %v", errno, got)
		}
	}
}
