package harness

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Program is a client that runs until it is ended, and may be ended and started again as a server may.
type Program struct {
	argv    []string
	log     string
	process *process
}

// StartProgram starts argv for the length of the test; its output is shown if the test fails.
func StartProgram(tb testing.TB, argv ...string) *Program {
	tb.Helper()
	p := &Program{argv: argv, log: filepath.Join(tb.TempDir(), "program.log")}
	p.Restart(tb)
	tb.Cleanup(func() {
		_ = p.process.signal(syscall.SIGKILL, 10*time.Second)
		if tb.Failed() {
			tb.Logf("%s said:\n%s", argv[len(argv)-1], tail(p.log, 60))
		}
	})
	return p
}

// Restart starts the program, which runs no more, as it was started first.
func (p *Program) Restart(tb testing.TB) {
	tb.Helper()
	var err error
	if p.process, err = spawn(p.log, nil, p.argv...); err != nil {
		tb.Fatal(err)
	}
}

// Kill is kill -9.
func (p *Program) Kill(tb testing.TB) { p.end(tb, syscall.SIGKILL) }

// Stop is SIGTERM, and waits for the end.
func (p *Program) Stop(tb testing.TB) { p.end(tb, syscall.SIGTERM) }

func (p *Program) end(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if !p.process.alive() {
		tb.Fatalf("%s has ended by itself", p.argv[0])
	}
	if err := p.process.signal(sig, time.Minute); err != nil {
		tb.Fatal(err)
	}
}

// Log is what the program has printed so far.
func (p *Program) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
