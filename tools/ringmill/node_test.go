package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/tune"
)

// foreignNode names a node of another make that the scripts are run against too, as host:port.
const foreignNode = "RINGMILL_TEST_BOOTSTRAP"

func TestAgainstOwnNode(t *testing.T) {
	dir := t.TempDir()
	n := startNode(t, "--set", "log.dirs="+dir+"/one,"+dir+"/two")
	runNodeScripts(t, n.address)
	t.Run("member", func(t *testing.T) { describeLiveMember(t, n.address) })
	t.Run("tune", func(t *testing.T) { tuneRunning(t, n.address) })
}

// tuneRunning: what bench tune sets of a running node is set, and is as it was when it leaves, whether that was set or not.
func tuneRunning(t *testing.T, address string) {
	const name = "log.segment.bytes"
	shown := func() string {
		var out bytes.Buffer
		if code := (&app{stdout: &out, stderr: &out}).run(t.Context(), []string{"config", "describe", "--all-brokers", "-b", address}); code != statusOK {
			t.Fatal(out.String())
		}
		return out.String()
	}
	for _, before := range []string{"", "2097152"} {
		if before != "" {
			if code, said := status(t, "config", "set", "--all-brokers", name+"="+before, "-b", address); code != statusOK {
				t.Fatal(said)
			}
		}
		a := &app{client: clientFlags{bootstrap: address, timeout: time.Minute}}
		live, err := a.tuneRunning(t.Context(), []tune.Property{{Name: name, Values: []string{before, "4194304"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer live.close()
		ctx, cancel := context.WithCancel(t.Context())
		at, err := live.with(ctx, []bench.Setting{{Name: name, Value: "4194304"}})
		if during := shown(); err != nil || !strings.Contains(during, "4194304") {
			t.Errorf("%v: %s", err, during)
		}
		cancel() // an interruption keeps nothing from being put back
		if err := at.leave(); err != nil {
			t.Error(err)
		}
		if after := shown(); strings.Contains(after, "4194304") || strings.Contains(after, name) != (before != "") || !strings.Contains(after, before) {
			t.Errorf("was %q: %s", before, after)
		}
		if _, err := live.with(t.Context(), []bench.Setting{{Name: name, Value: "many"}}); err == nil {
			t.Error("took what is no number")
		}
	}
	if code, said := status(t, "config", "delete", "--all-brokers", name, "-b", address); code != statusOK {
		t.Error(said)
	}
}

// The client commands are for any node that speaks Kafka's protocol. What the scripts expect was seen of Apache Kafka.
func TestAgainstAnotherNode(t *testing.T) {
	address := os.Getenv(foreignNode)
	if address == "" {
		t.Skipf("%s names no node", foreignNode)
	}
	runNodeScripts(t, address)
	t.Run("member", func(t *testing.T) { describeLiveMember(t, address) })
}

// runNodeScripts runs each script with names of its own, so that they share a node.
func runNodeScripts(t *testing.T, address string) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/node",
		Setup: func(env *testscript.Env) error {
			env.Setenv(bootstrapVariable, address)
			env.Setenv("NAME", fmt.Sprintf("cli-%08x", rand.Uint32()))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually, "measure": measure},
	})
}

// eventually runs a program, `eventually PATTERN PROGRAM ARGUMENT...`, until a line that it prints matches: for what other
// scripts change on the node that they share.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually PATTERN PROGRAM ARGUMENT...")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("not so after a minute: %s (%v)", args[0], err)
		}
	}
}

// measure runs a program, `measure PROGRAM ARGUMENT...`, whose figures a busy machine may make invalid.
func measure(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: measure PROGRAM ARGUMENT...")
	}
	var ended *exec.ExitError
	if err := ts.Exec(args[0], args[1:]...); err != nil && !(errors.As(err, &ended) && ended.ExitCode() == statusInvalid) {
		ts.Fatalf("%v", err)
	}
}

// describeLiveMember: a member that reads is shown with its partitions, in a group that is stable.
func describeLiveMember(t *testing.T, address string) {
	name := fmt.Sprintf("cli-%08x", rand.Uint32())
	if code, said := status(t, "topic", "create", name, "-p", "2", "-b", address); code != statusOK {
		t.Fatal(said)
	}
	t.Cleanup(func() { status(t, "topic", "delete", name, "-b", address) })
	assigned := make(chan struct{}, 16)
	member, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ClientID("live"), kgo.ConsumerGroup(name), kgo.ConsumeTopics(name), kgo.InstanceID("i-1"),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned <- struct{}{} }))
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	<-assigned
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	if code := a.run(t.Context(), []string{"group", "describe", name, "-o", "json", "-b", address}); code != statusOK {
		t.Fatal(errs.String())
	}
	var groups []describedGroup
	if err := json.Unmarshal(out.Bytes(), &groups); err != nil {
		t.Fatal(err)
	}
	g := groups[0]
	both := []partition{{name, 0}, {name, 1}}
	if g.State != "Stable" || g.Assignor != "cooperative-sticky" || len(g.Members) != 1 || len(g.Partitions) != 2 {
		t.Fatalf("%s", out.Bytes())
	}
	if m := g.Members[0]; m.ClientID != "live" || m.InstanceID != "i-1" || !slices.Equal(m.Assigned, both) || g.Partitions[1].MemberID != m.MemberID || g.Partitions[1].CommittedOffset != -1 {
		t.Errorf("%s", out.Bytes())
	}
}

// runningNode is a ringmill serve in a process of its own.
type runningNode struct {
	cmd     *exec.Cmd
	address string
	told    string // its lines up to ready
	stderr  bytes.Buffer
}

var listening = regexp.MustCompile(`^listening \S+ at (\S+),`)

// startNode starts a node on a free port, on data that is gone after the test, and waits for its word that it is ready.
func startNode(t *testing.T, args ...string) *runningNode {
	t.Helper()
	n := &runningNode{cmd: ringmill(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "data"),
		"--set", "ringmill.http.listen=", "--set", "ringmill.journal.bytes=1048576", "--set", "group.initial.rebalance.delay.ms=0"}, args...)...)}
	n.cmd.Stderr = &n.stderr
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.kill() })
	for s := bufio.NewScanner(out); s.Scan(); {
		n.told += s.Text() + "\n"
		if m := listening.FindStringSubmatch(s.Text()); m != nil {
			n.address = m[1]
		}
		if strings.HasPrefix(s.Text(), "ready") {
			return n
		}
	}
	_ = n.cmd.Wait()
	t.Fatalf("the node did not get ready\n%s%s", n.told, n.stderr.String())
	return nil
}

// kill ends a node that is still there.
func (n *runningNode) kill() {
	if n.cmd.ProcessState == nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
	}
}

// ringmill is the test binary under the program's name, which TestMain takes for the program.
func ringmill(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: self, Args: append([]string{"ringmill"}, args...)}
}

// status runs the program to its end and returns its exit status and what it wrote to standard error.
func status(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := ringmill(t, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// A reader of a node that goes away says so, and does not only wait.
func TestConsumeTellsThatTheNodeIsGone(t *testing.T) {
	n := startNode(t)
	if code, said := status(t, "topic", "create", "gone", "-b", n.address); code != statusOK {
		t.Fatal(said)
	}
	reader := ringmill(t, "consume", "gone", "--offset", "start", "-b", n.address)
	out, err := reader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := reader.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = reader.Process.Kill()
		_ = reader.Wait()
	})
	writer := ringmill(t, "produce", "gone", "-b", n.address)
	writer.Stdin = strings.NewReader("one\n")
	if said, err := writer.CombinedOutput(); err != nil {
		t.Fatalf("%s", said)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "one\n" {
		t.Fatal(line, err)
	}
	n.kill()
	line, _ := bufio.NewReader(told).ReadString('\n')
	if !strings.HasPrefix(line, "ringmill: no node answers at "+n.address+": ") || !strings.HasSuffix(line, "; trying on\n") {
		t.Errorf("told %q", line)
	}
}

func TestServeEndsWithStatusZeroOnSIGTERM(t *testing.T) {
	n := startNode(t)
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, n.stderr.String())
	}
}

func TestServeRefusesAPortInUse(t *testing.T) {
	n := startNode(t)
	dir := filepath.Join(t.TempDir(), "data")
	code, said := status(t, "serve", "--listen", n.address, "--data", dir, "--set", "ringmill.http.listen=")
	if code != statusUsage || strings.Count(said, "\n") != 1 || !strings.Contains(said, n.address) {
		t.Errorf("status %d: %s", code, said)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a start that failed left %s behind", dir)
	}
}

func TestServeRefusesDataThatAnotherNodeHolds(t *testing.T) {
	dir := t.TempDir()
	startNode(t, "--data", dir)
	code, said := status(t, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--set", "ringmill.http.listen=")
	if code != statusUsage || strings.Count(said, "\n") != 1 || !strings.Contains(said, dir) {
		t.Errorf("status %d: %s", code, said)
	}
}

func TestServeTellsOfPropertiesWithoutEffect(t *testing.T) {
	n := startNode(t, "--set", "num.io.threads=4")
	if !strings.Contains(n.told, "num.io.threads (--set): loops take the place of thread pools") {
		t.Errorf("told\n%s", n.told)
	}
}
