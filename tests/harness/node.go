package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Peer is what kind of server a Node is.
type Peer string

const (
	// Ringmill is built from this checkout.
	Ringmill Peer = "ringmill"
	// Kafka is Apache Kafka from its Maven jars.
	Kafka Peer = "kafka"
	// External is an address that was given; it is taken for Apache Kafka.
	External Peer = "external"
)

// ChosenPeer is the run's choice: see the package's documentation.
func ChosenPeer() Peer {
	switch choice := os.Getenv("RINGMILL_TEST_PEER"); choice {
	case "", string(Ringmill):
		return Ringmill
	case string(Kafka):
		return Kafka
	default:
		return External
	}
}

// Options of a server that a test starts. The zero value gives a node with the test suite's defaults.
type Options struct {
	Dir        string            // where it keeps everything; empty: a folder of the test
	Data       string            // ringmill only: --data; empty: a folder of Dir
	Port       int               // 0: a free one
	Properties map[string]string // Kafka's names, over the defaults
	ConfigFile string            // ringmill only: a server.properties given by --config
	Env        []string
	Place      Place
}

// defaults make both servers answer alike.
var defaults = map[string]string{
	"auto.create.topics.enable":        "true",
	"num.partitions":                   "1",
	"broker.rack":                      "rack-1",
	"offsets.topic.num.partitions":     "10",
	"group.initial.rebalance.delay.ms": "0",
}

// Node is one server. Its methods are called from the test's goroutine.
type Node struct {
	Peer       Peer
	Address    string // the bootstrap address
	HTTP       string // ringmill.http.listen; empty for Kafka
	Dir        string // everything the server writes
	LogDir     string // the folder that holds <topic>-<partition>; empty for External
	ConfigFile string // Kafka's server.properties; empty for ringmill unless given

	options Options
	process *process
}

// Start gives the node of the run's choice, ready, for the length of the test.
func Start(tb testing.TB, options Options) *Node {
	tb.Helper()
	switch ChosenPeer() {
	case Kafka:
		return StartKafka(tb, options)
	case External:
		tb.Skip("needs a node of its own; RINGMILL_TEST_PEER names one that runs already")
	}
	return StartRingmill(tb, options)
}

// StartRingmill starts the ringmill of this checkout whatever the run's choice is.
func StartRingmill(tb testing.TB, options Options) *Node {
	tb.Helper()
	return owned(tb, Ringmill, options)
}

// StartKafka starts Apache Kafka whatever the run's choice is.
func StartKafka(tb testing.TB, options Options) *Node {
	tb.Helper()
	Jars(tb)
	return owned(tb, Kafka, options)
}

func owned(tb testing.TB, peer Peer, options Options) *Node {
	tb.Helper()
	if options.Dir == "" {
		options.Dir = tb.TempDir()
	}
	n := layout(tb, peer, options)
	endWith(tb, n)
	if err := n.start(); err != nil {
		tb.Fatal(err)
	}
	return n
}

// endWith ends a node with the test, and shows what it said if that failed.
func endWith(tb testing.TB, n *Node) {
	tb.Cleanup(func() {
		if n.process != nil {
			_ = n.process.signal(syscall.SIGKILL, 10*time.Second)
		}
		if tb.Failed() {
			tb.Logf("%s at %s said:\n%s", n.Peer, n.Address, n.said(60))
		}
	})
}

// layout fixes names and ports; nothing runs yet.
func layout(tb testing.TB, peer Peer, options Options) *Node {
	tb.Helper()
	if options.Port == 0 {
		options.Port = FreePort(tb)
	}
	n := &Node{Peer: peer, Address: options.Place.at(options.Port), Dir: options.Dir, options: options}
	if peer == Kafka {
		n.LogDir = filepath.Join(options.Dir, "kafka", "log1")
		n.ConfigFile = filepath.Join(options.Dir, "kafka", "node1.properties")
		return n
	}
	if n.options.Data == "" {
		n.options.Data = filepath.Join(options.Dir, "data")
	}
	n.HTTP = options.Place.at(FreePort(tb))
	n.LogDir = filepath.Join(n.options.Data, "logs")
	n.ConfigFile = options.ConfigFile
	return n
}

func (n *Node) logFile() string { return filepath.Join(n.Dir, string(n.Peer)+".log") }

// Log is what the server has printed so far.
func (n *Node) Log() string { return tail(n.logFile(), 1<<20) }

// said is the end of what a server has printed and, Apache Kafka, written into its own log.
func (n *Node) said(lines int) string {
	said := tail(n.logFile(), lines)
	if n.Peer == Kafka {
		own, _ := filepath.Glob(filepath.Join(n.Dir, "kafka", "server*.log"))
		for _, log := range own {
			said += "\n" + tail(log, lines)
		}
	}
	return said
}

func (n *Node) start() error {
	if err := n.spawn(); err != nil {
		return err
	}
	return n.awaitReady(Patience)
}

func (n *Node) spawn() error {
	argv, env, err := n.command()
	if err != nil {
		return err
	}
	n.process, err = spawn(n.logFile(), append(env, n.options.Env...), append(slices.Clone(n.options.Place.Enter), argv...)...)
	return err
}

func (n *Node) command() (argv, env []string, err error) {
	if n.Peer == Kafka {
		return n.kafkaCommand()
	}
	return n.ringmillCommand()
}

// awaitReady returns once the node takes requests, or when it ended, or when patience did.
func (n *Node) awaitReady(patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		err := n.ready()
		if err == nil {
			return nil
		}
		if !n.process.alive() {
			return fmt.Errorf("%s ended before it was ready (%v):\n%s", n.Peer, n.process.cmd.ProcessState, n.said(60))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s was not ready after %v: %w\n%s", n.Peer, patience, err, n.said(60))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (n *Node) ready() error {
	if n.Peer == Ringmill {
		if err := n.readyz(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return n.answers(ctx)
}

// Begin starts a node that was laid out, and does not wait for it.
func (n *Node) Begin(tb testing.TB) {
	tb.Helper()
	if err := n.spawn(); err != nil {
		tb.Fatal(err)
	}
}

// Set gives a node another value of a property from its next start on.
func (n *Node) Set(property, value string) { n.options.Properties[property] = value }

// DataDir is ringmill's --data.
func (n *Node) DataDir() string { return n.options.Data }

// Wipe removes all that a stopped node has on disk.
func (n *Node) Wipe(tb testing.TB) {
	tb.Helper()
	if n.Alive() {
		tb.Fatal("the node runs")
	}
	if err := os.RemoveAll(n.options.Data); err != nil {
		tb.Fatal(err)
	}
}

// Pid of the running server.
func (n *Node) Pid() int { return n.process.pid() }

// Alive tells whether the server still runs.
func (n *Node) Alive() bool { return n.process != nil && n.process.alive() }

// Kill is kill -9: the page cache survives, nothing else does.
func (n *Node) Kill(tb testing.TB) {
	tb.Helper()
	n.own(tb)
	if err := n.process.signal(syscall.SIGKILL, 10*time.Second); err != nil {
		tb.Fatal(err)
	}
}

// Pause stops the server's threads where they are (SIGSTOP): it is silent, and its host goes on to take in what is sent to it.
func (n *Node) Pause(tb testing.TB) { n.tell(tb, syscall.SIGSTOP) }

// Resume lets a paused server go on, as if no time had passed for it.
func (n *Node) Resume(tb testing.TB) { n.tell(tb, syscall.SIGCONT) }

func (n *Node) tell(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	n.own(tb)
	if err := n.process.cmd.Process.Signal(sig); err != nil {
		tb.Fatalf("signal %v to %s: %v", sig, n.Address, err)
	}
}

// Stop is SIGTERM, and waits for the clean end.
func (n *Node) Stop(tb testing.TB) {
	tb.Helper()
	n.own(tb)
	if err := n.stop(); err != nil {
		tb.Fatal(err)
	}
}

func (n *Node) stop() error { return n.process.signal(syscall.SIGTERM, time.Minute) }

// TryStart is Restart for a node that may refuse: the error has what it said.
func (n *Node) TryStart() error { return n.start() }

// Restart starts a stopped or killed server again, in the same place, and waits until it is ready.
func (n *Node) Restart(tb testing.TB) {
	tb.Helper()
	n.own(tb)
	if err := n.start(); err != nil {
		tb.Fatal(err)
	}
}

func (n *Node) own(tb testing.TB) {
	tb.Helper()
	if n.process == nil && n.Peer == External {
		tb.Skip("needs a node that it may stop; RINGMILL_TEST_PEER names one that runs already")
	}
}

// IsKafka tells that expected values are Apache Kafka's own.
func (n *Node) IsKafka() bool { return n.Peer != Ringmill }

var shared struct {
	sync.Mutex
	node *Node
	dir  string
	err  error
}

// Shared is one node for all tests of a package: for tests that touch only topics and groups of their own.
// Main stops it. A node that died is an error for every test after it, not only for the one that killed it.
func Shared(tb testing.TB) *Node {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.node == nil && shared.err == nil {
		shared.node, shared.err = startShared(tb)
	}
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	if shared.node.process != nil && !shared.node.Alive() {
		tb.Fatalf("the shared node is dead:\n%s", tail(shared.node.logFile(), 60))
	}
	return shared.node
}

func startShared(tb testing.TB) (*Node, error) {
	peer := ChosenPeer()
	if peer == External {
		return &Node{Peer: External, Address: os.Getenv("RINGMILL_TEST_PEER")}, nil
	}
	if peer == Kafka {
		Jars(tb)
	}
	dir, err := os.MkdirTemp("", "ringmill-shared-")
	if err != nil {
		return nil, err
	}
	shared.dir = dir
	n := layout(tb, peer, Options{Dir: dir})
	return n, n.start()
}

// Main runs a package's tests and ends what they shared. The shared node's log is shown if a test failed.
func Main(m *testing.M) {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if n := shared.node; n != nil && n.process != nil {
		err := n.process.signal(syscall.SIGTERM, 30*time.Second)
		if err != nil && code == 0 {
			code = 1
		}
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the shared %s said:\n%s\n%v\n", n.Peer, tail(n.logFile(), 100), err)
		}
	}
	if shared.dir != "" {
		if err := os.RemoveAll(shared.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
		}
	}
	os.Exit(code)
}
