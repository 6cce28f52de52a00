package node

import (
	"context"
	"errors"
	commandline "flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// patience bounds every wait of a test. It is only reached by one that fails.
const patience = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv("RINGMILL_TEST_LOG") == "" { // the log of nodes that are made to fail drowns what the tests say
		slog.SetDefault(slog.New(slog.DiscardHandler))
	}
	if commandline.Parse(); commandline.Lookup("test.parallel").Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) { // not given
		_ = commandline.Set("test.parallel", fmt.Sprint(len(shapes)))
	}
	os.Exit(m.Run())
}

// shape is a way in which a node can be built.
type shape struct {
	engine string
	loops  int
}

func (s shape) String() string { return fmt.Sprintf("%s-%d", s.engine, s.loops) }

// spinUS has half of the shapes spin, so that each engine and each number of loops is tested with and without.
func (s shape) spinUS() int {
	if s.engine == "uring" && s.loops == 1 || s.engine == "epoll" && s.loops == 2 {
		return 50
	}
	return 0
}

var shapes = []shape{{"uring", 1}, {"uring", 2}, {"epoll", 1}, {"epoll", 2}}

// eachShape runs test on every engine, with one and with two loops, side by side: most of a test is waiting for disks and timers.
func eachShape(t *testing.T, test func(t *testing.T, s shape)) {
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// eachShapeAlone is eachShape for tests that look at the whole process: one after the other.
func eachShapeAlone(t *testing.T, test func(t *testing.T, s shape)) {
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) { test(t, s) })
	}
}

// eachPath runs test with appends by the loop and by the ring; path is the property.
func eachPath(t *testing.T, test func(t *testing.T, path string)) {
	for _, path := range []string{"inline", "ring"} {
		t.Run(path, func(t *testing.T) { test(t, "ringmill.append.path="+path) })
	}
}

// nodeOptions say how a test's node differs from the default.
type nodeOptions struct {
	shape
	dir   string   // "": a directory of the test's
	set   []string // properties, "key=value"
	seams func(*seams)
}

// testNode is a node in the test's process.
type testNode struct {
	*Node
	t       testing.TB
	opts    nodeOptions
	stopped bool
}

// startNode starts a node. At the end of the test it is stopped cleanly, and everything it lent must be back.
func startNode(t testing.TB, opts nodeOptions) *testNode {
	t.Helper()
	if opts.engine == "" {
		opts.shape = shape{"epoll", 1}
	}
	if opts.dir == "" {
		opts.dir = t.TempDir()
	}
	labelGoroutines(t)
	n, err := tryStart(t, opts)
	if err != nil {
		t.Fatal(err)
	}
	tn := &testNode{Node: n, t: t, opts: opts}
	t.Cleanup(func() {
		if !tn.stopped {
			tn.stop()
		}
	})
	return tn
}

func tryStart(t testing.TB, opts nodeOptions) (*Node, error) {
	t.Helper()
	set := append([]string{
		fmt.Sprint("ringmill.loop.spin.us=", opts.spinUS()),
		"ringmill.http.listen=", fmt.Sprint("ringmill.loops=", opts.loops), "ringmill.engine=" + opts.engine,
		"ringmill.journal.bytes=4194304", "log.initial.task.delay.ms=0", "offsets.topic.num.partitions=2", "group.initial.rebalance.delay.ms=0",
	}, opts.set...)
	cfg, _, err := config.Load(config.Source{Listen: "127.0.0.1:0", Data: opts.dir, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(cfg)
	n.seams.engineWait = patience // the kernel takes down the rings of the tests before in the background
	if opts.seams != nil {
		opts.seams(&n.seams)
	}
	err = n.start()
	var unavailable *iouring.UnavailableError
	if errors.As(err, &unavailable) {
		t.Skip(unavailable)
	}
	return n, err
}

// stop stops the node as SIGTERM does.
func (tn *testNode) stop() error {
	tn.t.Helper()
	err := tn.Node.stop()
	tn.ended()
	return err
}

// kill ends the node as kill -9 does: nothing is flushed and no mark is left. What reached the page cache stays.
func (tn *testNode) kill() {
	tn.t.Helper()
	tn.stopping.Store(true)
	close(tn.quit)
	<-tn.groups.inbox.stopped
	<-tn.txns.inbox.stopped
	<-tn.shareLog.inbox.stopped
	<-tn.shares.inbox.stopped
	tn.stopLoops()
	tn.closeFiles()
	tn.ended()
}

// restart starts a node on the directory of one that ended.
func (tn *testNode) restart() *testNode {
	tn.t.Helper()
	opts := tn.opts
	return startNode(tn.t, opts)
}

// ended checks that the node gave everything back: buffers, descriptors, goroutines.
func (tn *testNode) ended() {
	tn.t.Helper()
	tn.stopped = true
	for _, l := range tn.loops {
		if out := l.outstanding(); out != "" {
			tn.t.Errorf("not returned: %s", out)
		}
	}
	await(tn.t, "segment files closed", func() bool { return tn.openFiles.Load() == 0 })
	awaitNoGoroutines(tn.t)
}

// labelGoroutines gives this goroutine, and all that it and those start, the test's name.
func labelGoroutines(t testing.TB) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("test", t.Name())))
}

// awaitNoGoroutines waits until no goroutine of the package is left that the test began, but its own.
func awaitNoGoroutines(t testing.TB) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if left = nodeGoroutines(t.Name()); len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines left:\n%s", strings.Join(left, "\n\n"))
		}
	}
}

// nodeGoroutines are the stacks of a test's goroutines that are in this package and not in its tests.
func nodeGoroutines(test string) (left []string) {
	var profile strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	for g := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(g, fmt.Sprintf("%q:%q", "test", test)) && strings.Contains(g, "ringmill/node.") &&
			!strings.Contains(g, "testing.") && !strings.Contains(g, "_test.go") {
			left = append(left, g)
		}
	}
	return left
}

// TestNodeGoroutines: what a node left behind would be found, and by its own test alone.
func TestNodeGoroutines(t *testing.T) {
	startNode(t, nodeOptions{})
	if own, others := nodeGoroutines(t.Name()), nodeGoroutines(t.Name()+"/other"); len(own) == 0 || len(others) > 0 {
		t.Errorf("%d goroutines of a running node, %d of none", len(own), len(others))
	}
}

// await waits until f holds.
func await(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// createTopic makes a topic; configs are "key=value".
func (tn *testNode) createTopic(name string, partitions int32, configs ...string) wire.TopicID {
	tn.t.Helper()
	m := make(map[string]string)
	for _, c := range configs {
		key, value, _ := strings.Cut(c, "=")
		m[key] = value
	}
	id, code, message := tn.CreateTopic(api.NewTopic{Name: name, Partitions: partitions, Configs: m})
	if code != wire.None {
		tn.t.Fatalf("create %s: %s %s", name, code, message)
	}
	return id
}

func (tn *testNode) alterTopic(name, key, value string) {
	tn.t.Helper()
	code, message := tn.AlterConfigs(image.Resource{Type: image.TopicResource, Name: name}, map[string]*string{key: &value})
	if code != wire.None {
		tn.t.Fatalf("alter %s: %s %s", name, code, message)
	}
}

// partition gives a topic's partition; what is in it is its loop's: see on.
func (tn *testNode) partition(name string, index wire.PartitionIndex) *partition {
	tn.t.Helper()
	topic := tn.topics.named([]byte(name))
	if topic == nil || topic.part(index) == nil {
		tn.t.Fatalf("no partition %s-%d", name, index)
	}
	return topic.part(index)
}

func (tn *testNode) addr() string { return tn.listeners[0].addr.String() }
