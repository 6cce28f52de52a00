package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"
)

// foreignNode names a node of another make that the scripts are run against too, as host:port.
const foreignNode = "RINGMILL_TEST_BOOTSTRAP"

func TestAgainstOwnNode(t *testing.T) {
	dir := t.TempDir()
	n := startNode(t, "--set", "log.dirs="+dir+"/one,"+dir+"/two")
	runNodeScripts(t, n.address)
	t.Run("member", func(t *testing.T) { describeLiveMember(t, n.address) })
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
	})
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
