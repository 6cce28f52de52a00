package main

import (
	"bufio"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// hangUpsArrive has what the test starts take SIGHUP as it does by default, also where the tests run under nohup: of a signal that is taken, and not
// ignored, a child begins with the default.
func hangUpsArrive(t *testing.T) {
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(taken) })
}

// What a run has made is removed when its terminal goes away, twice as of a shell, and when nobody reads what it says; and what it has started ends.
func TestEndsLeaveNothingBehind(t *testing.T) {
	hangUpsArrive(t)
	hangUp := func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGHUP) }
	twice := func(p *os.Process, out io.Closer) error {
		if err := hangUp(p, out); err != nil {
			return err
		}
		return hangUp(p, out)
	}
	unread := func(_ *os.Process, out io.Closer) error { return out.Close() }
	for _, c := range []struct {
		name, command string
		end           func(*os.Process, io.Closer) error
	}{
		{"a terminal that goes", "run", hangUp}, {"SIGHUP twice", "run", twice}, {"nobody reads", "run", unread},
		{"a node that was started", "tune", hangUp}, {"a node, and nobody reads", "tune", unread},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, dir := benchServer(t), t.TempDir()
			cmd := ringmill(t, "bench", "run", "-b", s.Addresses()[0], "-d", "10m", "--warm-up", "0s")
			if c.command == "tune" {
				program := filepath.Join(t.TempDir(), "ringmill")
				if err := os.Symlink(cmd.Path, program); err != nil {
					t.Fatal(err)
				}
				cmd = ringmill(t, "bench", "tune", "--serve", program, "--dir", dir, "--rate", "50", "-d", "100ms", "--warm-up", "0s")
			}
			said, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout, cmd.Stderr = in, in
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = in.Close()
			t.Cleanup(func() { _ = said.Close() })
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
				t.Fatal(line, err)
			}
			if err := c.end(cmd.Process, said); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(2 * time.Minute):
				t.Fatal("it does not end")
			}
			if cmd.ProcessState.ExitCode() < 0 {
				t.Errorf("killed: %v", cmd.ProcessState)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || len(s.Topics()) > 0 {
				t.Errorf("left behind: %v, %v, topics %v", left, err, s.Topics())
			}
		})
	}
}

// A node stops as it does at SIGTERM when its terminal goes away.
func TestServeEndsWithItsTerminal(t *testing.T) {
	hangUpsArrive(t)
	n := startNode(t)
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { _ = n.cmd.Process.Kill() }).Stop()
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, n.stderr.String())
	}
}
