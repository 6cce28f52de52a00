package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/tune"
)

// Bounds for a node that is started to be measured: it has nothing to recover, and little to put on disk.
const (
	tunedStart = 30 * time.Second
	tunedStop  = 30 * time.Second
)

// serveFlags say what nodes are started to be measured.
type serveFlags struct{ serve, dir string }

func (f *serveFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.serve, "serve", "", "the ringmill `binary` to start; without it this one")
	cmd.Flags().StringVar(&f.dir, "dir", "", "a `directory` on the disk that the node is to use; without it, one for temporary files")
	_ = cmd.MarkFlagFilename("serve")
	_ = cmd.MarkFlagDirname("dir")
}

func (f *serveFlags) given() bool { return f.serve != "" || f.dir != "" }

func (f *serveFlags) check(cmd *cobra.Command) error {
	if f.dir == "" {
		return nil
	}
	return checkDir(cmd, f.dir)
}

// start starts a node with properties of its own, in a directory that goes with it.
func (f *serveFlags) start(ctx context.Context, settings []bench.Setting) (t target, err error) {
	binary := f.serve
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return target{}, err
		}
	}
	dir, err := os.MkdirTemp(f.dir, "ringmill-tune-")
	if err != nil {
		return target{}, err
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--set", "ringmill.http.listen=127.0.0.1:0"}
	for _, s := range settings {
		args = append(args, "--set", s.Name+"="+s.Value)
	}
	n := &tunedNode{dir: dir, cmd: exec.Command(binary, args...)}
	n.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RINGMILL_") }) // where another node's data is, for one
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                                                       // an interruption is this process's, which then ends the node
	n.cmd.WaitDelay = tunedStop                                                                                   // else who inherited its standard output is waited for without end
	at, err := n.start(ctx)
	if err != nil {
		return target{}, errors.Join(err, n.end())
	}
	return target{addresses: []string{at.address}, metrics: at.status, pid: n.cmd.Process.Pid, leave: n.leave}, nil
}

// try sees whether a node starts with properties of its own.
func (f *serveFlags) try(ctx context.Context, settings []bench.Setting) error {
	at, err := f.start(ctx, settings)
	if err != nil {
		return err
	}
	return at.leave()
}

// tunedNode is a node that was started to be measured.
type tunedNode struct {
	dir   string
	cmd   *exec.Cmd
	said  lastLines     // on standard error
	ended chan struct{} // nil until it runs, closed when it does no more

	killed bool // for it did not stop
}

// start returns what the node says of itself once it serves.
func (n *tunedNode) start(ctx context.Context) (nodeStart, error) {
	out, in := io.Pipe()
	n.cmd.Stdout, n.cmd.Stderr = in, &n.said
	if err := n.cmd.Start(); err != nil {
		return nodeStart{}, err
	}
	n.ended = make(chan struct{})
	go func() {
		_ = n.cmd.Wait() // ProcessState has it
		_ = in.Close()   // who reads has all of it
		close(n.ended)
	}()
	served := make(chan nodeStart, 1)
	go func() {
		defer close(served)
		readStart(out, served)
	}()
	timer := time.NewTimer(tunedStart)
	defer timer.Stop()
	select {
	case at := <-served:
		if at.ready {
			return at, nil
		}
		<-n.ended
		return at, fmt.Errorf("the node ended with %s before it served%s", n.cmd.ProcessState, n.said.told())
	case <-timer.C:
		return nodeStart{}, fmt.Errorf("the node does not serve within %v%s", tunedStart, n.said.told())
	case <-ctx.Done():
		return nodeStart{}, ctx.Err()
	}
}

// nodeStart is what a node says when it starts: where it listens, and where it tells its metrics.
type nodeStart struct {
	address, status string
	ready           bool
}

// readStart reads what a node says until it ends, and passes it on when the node is ready, or has ended before.
func readStart(out io.Reader, served chan<- nodeStart) {
	var at nodeStart
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at.ready {
			continue
		}
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "listening "); ok && at.address == "" {
			_, rest, _ = strings.Cut(rest, " at ")
			at.address, _, _ = strings.Cut(rest, ",")
		}
		if rest, ok := strings.CutPrefix(line, "status "); ok {
			at.status = strings.TrimSpace(rest)
		}
		if at.ready = strings.HasPrefix(line, "ready "); at.ready {
			served <- at
		}
	}
	_, _ = io.Copy(io.Discard, out) // after a line that is too long, so that the node does not wait for a reader
	if !at.ready {
		served <- at
	}
}

// leave is end. The error also says that the node had ended by itself, which is why what was measured last failed: one that is asked to stop does so with
// status 0, or if it is a script, by the signal.
func (n *tunedNode) leave() error {
	err := n.end()
	status, _ := n.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !n.killed && !n.cmd.ProcessState.Success() && status.Signal() != syscall.SIGTERM {
		err = errors.Join(fmt.Errorf("the node ended with %s while it was measured%s", n.cmd.ProcessState, n.said.told()), err)
	}
	return err
}

// signal goes to all that the node's program has started, too: a script that starts the node does not pass it on.
func (n *tunedNode) signal(s syscall.Signal) error { return syscall.Kill(-n.cmd.Process.Pid, s) }

// end ends the node and removes its directory.
func (n *tunedNode) end() error {
	if n.ended != nil {
		select {
		case <-n.ended:
		default:
			_ = n.signal(syscall.SIGTERM)
		}
		timer := time.NewTimer(tunedStop)
		defer timer.Stop()
		select {
		case <-n.ended:
		case <-timer.C:
			n.killed = n.signal(syscall.SIGKILL) == nil
			<-n.ended
		}
	}
	return os.RemoveAll(n.dir)
}

// runningCluster is a cluster of the user's, whose properties are put back.
type runningCluster struct {
	admin     *kadm.Client
	addresses []string
	pid       int
	before    map[string]*string // of the properties that may be set, cluster-wide; nil: not set
	timeout   time.Duration
	close     func()
}

// tuneRunning notes what the properties are before any is set.
func (a *app) tuneRunning(ctx context.Context, space []tune.Property) (*runningCluster, error) {
	client, err := a.client.connect(ctx)
	if err != nil {
		return nil, err
	}
	r := &runningCluster{admin: kadm.NewClient(client), addresses: strings.Split(a.client.bootstrap, ","), before: map[string]*string{}, timeout: a.client.timeout, close: client.Close}
	if len(r.addresses) == 1 {
		r.pid = bench.ListenerPID(r.addresses[0])
	}
	described, err := r.admin.DescribeBrokerConfigs(ctx) // of no broker: cluster-wide
	if err == nil && len(described) > 0 {
		err = described[0].Err
	}
	if err != nil {
		client.Close()
		return nil, cause(err)
	}
	for _, p := range space {
		r.before[p.Name] = nil
		for _, d := range described {
			for _, c := range d.Configs {
				if c.Key == p.Name {
					r.before[p.Name] = c.Value
				}
			}
		}
	}
	return r, nil
}

// with sets properties; those that were set before and are not among them are as they were.
func (r *runningCluster) with(ctx context.Context, settings []bench.Setting) (target, error) {
	if err := r.alter(ctx, settings); err != nil {
		return target{}, errors.Join(err, r.putBack(ctx))
	}
	return target{addresses: r.addresses, pid: r.pid, leave: func() error { return r.putBack(ctx) }}, nil
}

// putBack leaves every property as it was, interrupted or not.
func (r *runningCluster) putBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	if err := r.alter(ctx, nil); err != nil {
		return fmt.Errorf("properties may not be as they were: %w", err)
	}
	return nil
}

// alter makes the properties what they were, but for the settings.
func (r *runningCluster) alter(ctx context.Context, settings []bench.Setting) error {
	values := maps.Clone(r.before)
	maps.Copy(values, valuesOf(settings))
	return altered(r.admin.AlterBrokerConfigs(ctx, changesTo(values)))
}

// validate has the nodes judge settings, and sets nothing.
func (r *runningCluster) validate(ctx context.Context, settings []bench.Setting) error {
	return altered(r.admin.ValidateAlterBrokerConfigs(ctx, changesTo(valuesOf(settings))))
}

// valuesOf are the settings by the names of their properties.
func valuesOf(settings []bench.Setting) map[string]*string {
	values := map[string]*string{}
	for _, s := range settings {
		values[s.Name] = &s.Value
	}
	return values
}

// changesTo are those that give properties these values, or with nil take away what was set.
func changesTo(values map[string]*string) (changes []kadm.AlterConfig) {
	for name, value := range values {
		c := kadm.AlterConfig{Name: name, Value: value}
		if value == nil {
			c.Op = kadm.DeleteConfig
		}
		changes = append(changes, c)
	}
	return changes
}

// altered is what went wrong with changes of properties.
func altered(answers kadm.AlterConfigsResponses, err error) error {
	for _, answer := range answers {
		if err == nil && answer.Err != nil {
			err = refused("properties", "of all nodes", answer.Err, answer.ErrMessage)
		}
	}
	return err
}
