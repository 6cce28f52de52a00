package harness

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Child is a client in a process of its own, which a test may kill. It ends with the test.
type Child struct {
	process *process
}

// StartChild starts argv; what it prints is shown if the test fails.
func StartChild(tb testing.TB, argv ...string) *Child {
	tb.Helper()
	p, err := spawn(filepath.Join(tb.TempDir(), "child.log"), nil, argv...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = p.signal(syscall.SIGKILL, 10*time.Second)
		if said := tail(p.log, 20); tb.Failed() && said != "" {
			tb.Logf("%v said:\n%s", argv[1:], said)
		}
	})
	return &Child{process: p}
}

// Alive tells whether the child still runs.
func (c *Child) Alive() bool { return c.process.alive() }

// Kill is kill -9.
func (c *Child) Kill(tb testing.TB) { c.end(tb, syscall.SIGKILL) }

// Terminate is SIGTERM, and waits for the end.
func (c *Child) Terminate(tb testing.TB) { c.end(tb, syscall.SIGTERM) }

func (c *Child) end(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := c.process.signal(sig, time.Minute); err != nil {
		tb.Error(err)
	}
}

// Signalled is the exit status of a child that a signal ended.
const Signalled = -1

// ExitStatus of a child, once it has ended.
func (c *Child) ExitStatus() int {
	<-c.process.exited
	return c.process.cmd.ProcessState.ExitCode()
}
