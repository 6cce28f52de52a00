package harness

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Command is a client that runs to its end.
type Command struct {
	Argv    []string
	Env     []string
	Dir     string
	Input   string
	Timeout time.Duration // 0: a minute
}

// Output runs the command and returns its standard output; anything but exit status 0 fails the test.
func (c Command) Output(tb testing.TB) string {
	tb.Helper()
	stdout, stderr, err := c.Try()
	if err != nil {
		tb.Fatalf("%s: %v\nstdout: %s\nstderr: %s", strings.Join(c.Argv, " "), err, cut(stdout), cut(stderr))
	}
	return stdout
}

// Try runs the command and returns its standard output, standard error and outcome.
func (c Command) Try() (string, string, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(environment(), c.Env...)
	cmd.Dir = c.Dir
	cmd.WaitDelay = 2 * time.Second
	if c.Input != "" {
		cmd.Stdin = strings.NewReader(c.Input)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return stdout.String(), stderr.String(), err
}

// cut bounds what a failure prints.
func cut(s string) string {
	const most = 4000
	if len(s) <= most {
		return s
	}
	return "…" + s[len(s)-most:]
}
