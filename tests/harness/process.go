package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one child that outlives a call: a server or an agent.
type process struct {
	cmd    *exec.Cmd
	log    string        // where its output goes, appended to over restarts
	exited chan struct{} // closed once it was waited for
}

// starter runs exec.Cmd.Start on one locked thread that never ends: PR_SET_PDEATHSIG follows the thread that
// forked, not the process (prctl(2)), and the runtime may end any other thread.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// spawn starts argv with its output appended to log. The child is killed if the test binary dies.
func spawn(log string, env []string, argv ...string) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(environment(), env...)
	return spawnCommand(log, cmd)
}

// spawnCommand starts a command whose outputs, where it has none, are appended to log.
func spawnCommand(log string, cmd *exec.Cmd) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("harness: log: %w", err)
	}
	defer out.Close() // the child has its own copy
	if cmd.Stdout == nil {
		cmd.Stdout = out
	}
	cmd.Stderr = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	if err := <-done; err != nil {
		return nil, fmt.Errorf("harness: start %s: %w", cmd.Path, err)
	}
	p := &process{cmd: cmd, log: log, exited: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.exited) }()
	return p, nil
}

// environment is this process's without the tests' own settings: ringmill takes RINGMILL_NAME for a property and refuses
// one that it does not know.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "RINGMILL_TEST_") })
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// signal sends sig and waits for the end; past patience the child is killed.
func (p *process) signal(sig syscall.Signal, patience time.Duration) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("harness: signal pid %d: %w", p.pid(), err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("harness: pid %d did not end within %v of %v", p.pid(), patience, sig)
	}
}

// tail is the last part of a log, for a failed test's output.
func tail(log string, lines int) string {
	data, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return string(bytes.Join(all, []byte("\n")))
}

// Daemon starts an agent in the foreground for the length of the test; its output is shown if the test fails.
func Daemon(tb testing.TB, env []string, argv ...string) (stop func()) {
	tb.Helper()
	log := tb.TempDir() + "/daemon.log"
	p, err := spawn(log, env, argv...)
	if err != nil {
		tb.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = p.signal(syscall.SIGTERM, 10*time.Second) })
	tb.Cleanup(func() {
		stop()
		if tb.Failed() {
			tb.Logf("%s said:\n%s", argv[0], tail(log, 40))
		}
	})
	return stop
}
