package member

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/serf/serf"

	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// memory is a log that is read while it is written.
type memory struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (m *memory) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.buf.Write(p)
}

func (m *memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.buf.String()
}

func (m *memory) logger() *slog.Logger { return slog.New(slog.NewTextHandler(m, nil)) }

func info(id int, cluster string) Info {
	return Info{NodeID: wire.NodeID(id), DirectoryID: wire.UUID{byte(id), 1}, ClusterID: cluster, Addr: fmt.Sprintf("127.0.0.1:%d", 9092+id), Expect: 3}
}

func start(t *testing.T, cfg Config) *Agent {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Files = osfs.FS{}
	a, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Shutdown() })
	return a
}

// eventually waits for what must come about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so after a minute: %s", what)
		}
	}
}

func (a *Agent) ids() (ids []int) {
	for _, m := range a.Members() {
		ids = append(ids, int(m.NodeID))
	}
	return ids
}

// tells reports what an agent has of a node; nothing while it thinks that the node is gone.
func (a *Agent) tells(id int) Info {
	for _, m := range a.Members() {
		if int(m.NodeID) == id {
			return m
		}
	}
	return Info{}
}

func sees(t *testing.T, a *Agent, ids ...int) {
	t.Helper()
	eventually(t, fmt.Sprintf("it sees %d", ids), func() bool { return slices.Equal(a.ids(), ids) })
}

func TestAgentsFindEachOther(t *testing.T) {
	a := start(t, Config{Info: info(1, "")})
	b := start(t, Config{Info: info(2, ""), Seeds: []string{a.Addr()}})
	c := start(t, Config{Info: info(3, ""), Seeds: []string{"127.0.0.1:1", b.Addr()}})
	for _, x := range []*Agent{a, b, c} {
		sees(t, x, 1, 2, 3)
	}
	eventually(t, "all is told", func() bool { return a.tells(2) == info(2, "") })

	news := info(3, "cluster-a")
	news.Bootstrapped = true
	for len(a.Changed()) > 0 {
		<-a.Changed()
	}
	if err := c.SetInfo(news); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the news is told", func() bool { return a.tells(3) == news })
	eventually(t, "there is a token", func() bool { return len(a.Changed()) == 1 })

	if err := b.Leave(); err != nil {
		t.Fatal(err)
	}
	sees(t, a, 1, 3)
	_ = c.Shutdown()
	sees(t, a, 1)
}

// A seed that is up late is met all the same by a node that has seen another one meanwhile: else there were two circles.
func TestSeedIsMetLate(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := port.Addr().String()
	_ = port.Close()
	b := start(t, Config{Info: info(2, ""), Seeds: []string{address}})
	c := start(t, Config{Info: info(3, ""), Seeds: []string{b.Addr()}})
	sees(t, b, 2, 3)
	a := start(t, Config{Info: info(1, ""), Listen: address})
	for _, x := range []*Agent{a, b, c} {
		sees(t, x, 1, 2, 3)
	}
}

// What is seen at the last token is what there is: also of a node that was thought to leave, by a word about an earlier run of it that is late,
// and which serf takes for an alive one again without an event.
func TestTokensTellOfANodeThatWasThoughtToLeave(t *testing.T) {
	a := start(t, Config{Info: info(1, "")})
	b := start(t, Config{Info: info(2, ""), Seeds: []string{a.Addr()}})
	sees(t, a, 1, 2)
	sees(t, b, 1, 2)
	drain := func() {
		for len(a.Changed()) > 0 {
			<-a.Changed()
		}
	}
	var atToken []int
	clock := uint16(0)
	eventually(t, "a token while node 2 is thought to leave", func() bool {
		clock += 100
		leaves := slices.Concat([]byte("\x00\x83\xa5LTime\xcd"), []byte{byte(clock >> 8), byte(clock)}, []byte("\xa4Node\xa6node-2\xa5Prune\xc2"))
		for _, m := range b.serf.Memberlist().Members() {
			if m.Name == "node-1" {
				_ = b.serf.Memberlist().SendReliable(m, leaves)
			}
		}
		for range 200 { // node 2 objects at the next gossip
			if len(a.ids()) == 1 {
				drain()
				a.events <- serf.UserEvent{}
				<-a.Changed()
				atToken = a.ids()
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		return len(atToken) == 1
	})
	eventually(t, "a token when it is not", func() bool {
		select {
		case <-a.Changed():
			atToken = a.ids()
		default:
		}
		return len(atToken) == 2
	})
}

// A node that was there before finds the others by what it kept, also if it is up before them.
func TestRestartNeedsNoSeeds(t *testing.T) {
	dir := t.TempDir()
	a := start(t, Config{Info: info(1, "x")})
	b := start(t, Config{Info: info(2, "x"), Dir: dir, Seeds: []string{a.Addr()}})
	sees(t, b, 1, 2)
	at, bAt := a.Addr(), b.Addr()
	if err := b.Leave(); err != nil {
		t.Fatal(err)
	}
	sees(t, a, 1)
	if err := a.Shutdown(); err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Info: info(2, "x"), Dir: dir, Listen: bAt})
	sees(t, again, 2)
	a = start(t, Config{Info: info(1, "x"), Listen: at})
	sees(t, again, 1, 2)
	sees(t, a, 1, 2)
}

func TestAnotherClusterIsRefused(t *testing.T) {
	var log memory
	a := start(t, Config{Info: info(1, "east"), Log: log.logger()})
	b := start(t, Config{Info: info(2, "east"), Seeds: []string{a.Addr()}})
	sees(t, a, 1, 2)
	w := start(t, Config{Info: info(3, "west"), Seeds: []string{a.Addr()}})
	want := fmt.Sprintf("gossip refused: node 3 at %s belongs to cluster west, this node to cluster east", w.Addr())
	eventually(t, want, func() bool { return strings.Contains(log.String(), want) })
	fresh := start(t, Config{Info: info(4, ""), Seeds: []string{b.Addr()}})
	sees(t, a, 1, 2, 4)
	sees(t, fresh, 1, 2, 4)
	sees(t, w, 3)
}

// TestLeavingAsksNobody: serf refuses to ask for seeds once it leaves, which is no news.
func TestLeavingAsksNobody(t *testing.T) {
	var log memory
	a := start(t, Config{Info: info(1, "c")})
	b := start(t, Config{Info: info(2, "c"), Seeds: []string{a.Addr()}, Log: log.logger()})
	sees(t, b, 1, 2)
	if err := b.Leave(); err != nil {
		t.Fatal(err)
	}
	left, cancel := context.WithCancel(t.Context())
	cancel()
	if silent := b.join(left, []string{a.Addr()}); len(silent) != 1 || strings.Contains(log.String(), "seeds do not answer") {
		t.Errorf("silent %v:\n%s", silent, log.String())
	}
}

func TestTwoNodesOfOneID(t *testing.T) {
	var log memory
	a := start(t, Config{Info: info(1, "c")})
	b := start(t, Config{Info: info(2, "c"), Seeds: []string{a.Addr()}, Log: log.logger()})
	sees(t, a, 1, 2)
	double := info(2, "c")
	double.DirectoryID[1] = 9
	d := start(t, Config{Info: double, Seeds: []string{b.Addr()}})
	want := fmt.Sprintf(`msg="two nodes have one node.id; give each its own" node=2 one=%s other=%s`, b.Addr(), d.Addr())
	eventually(t, want, func() bool { return strings.Contains(log.String(), want) })
	eventually(t, "the first one is still there", func() bool { return a.tells(2) == info(2, "c") })
}

func key(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, keyBytes)) }

func TestGossipIsEncrypted(t *testing.T) {
	dir := t.TempDir()
	a := start(t, Config{Info: info(1, ""), Key: key(1), Dir: t.TempDir()})
	other := start(t, Config{Info: info(2, ""), Key: key(2), Seeds: []string{a.Addr()}})
	none := start(t, Config{Info: info(3, ""), Seeds: []string{a.Addr()}})
	b := start(t, Config{Info: info(4, ""), Key: key(1), Dir: dir, Seeds: []string{a.Addr()}})
	sees(t, a, 1, 4)
	sees(t, other, 2)
	sees(t, none, 3)

	addr := b.Addr()
	if err := b.Shutdown(); err != nil {
		t.Fatal(err)
	}
	b = start(t, Config{Info: info(4, ""), Key: key(3), Dir: dir, Listen: addr}) // its keyring counts
	sees(t, b, 1, 4)
}

// TestKeyringOutlivesPowerCut: from when the agent has started on, the keyring counts, whatever happens to the machine.
func TestKeyringOutlivesPowerCut(t *testing.T) {
	fsys := segmenttest.New(1)
	for _, name := range []string{"/state", "/state/serf"} {
		if err := fsys.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "/state" {
			if err := fsys.SyncDir("/"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := new(Agent).openKeyring(fsys, "/state/serf/keyring", key(1)); err != nil {
		t.Fatal(err)
	}
	for range 20 { // what is not synced may be there and may not
		keys, err := readKeyring(fsys.Remains(), "/state/serf/keyring")
		if err != nil || !slices.Equal(keys, []string{key(1)}) {
			t.Fatalf("keyring %q, %v", keys, err)
		}
	}
}

// While a key is replaced by hand, nodes have lists in different orders (docs/cluster.md).
func TestKeyringsOfOneKeyInCommon(t *testing.T) {
	var seeds []string
	var all []*Agent
	for i, keys := range [][]string{{key(1), key(2)}, {key(2), key(1)}, {key(2)}} {
		dir := t.TempDir()
		if err := writeKeyring(osfs.FS{}, dir+"/keyring", keys); err != nil {
			t.Fatal(err)
		}
		a := start(t, Config{Info: info(i+1, ""), Key: key(1), Dir: dir, Seeds: seeds})
		if seeds == nil {
			seeds = []string{a.Addr()}
		}
		if all = append(all, a); i == 1 {
			sees(t, a, 1, 2)
			if err := all[0].Shutdown(); err != nil { // goes on to the next step
				t.Fatal(err)
			}
			seeds = []string{a.Addr()}
		}
	}
	sees(t, all[1], 2, 3)
	sees(t, all[2], 2, 3)
}

// Whatever comes to the port that is no gossip, of this cluster's key, changes nothing.
func TestGarbageIsIgnored(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, k := range []string{"", key(1)} {
		a := start(t, Config{Info: info(1, ""), Key: k})
		b := start(t, Config{Info: info(2, ""), Key: k, Seeds: []string{a.Addr()}})
		sees(t, a, 1, 2)
		for range 300 {
			packet := make([]byte, rng.IntN(1500))
			for i := range packet {
				packet[i] = byte(rng.IntN(256))
			}
			if rng.IntN(2) == 0 { // behind the label, which a stranger can know
				packet = append(append([]byte{244, byte(len(gossipLabel))}, gossipLabel...), packet...)
			}
			throw(t, "udp", a.Addr(), packet)
			if rng.IntN(10) == 0 {
				throw(t, "tcp", a.Addr(), packet)
			}
		}
		c := start(t, Config{Info: info(3, ""), Key: k, Seeds: []string{a.Addr()}})
		for _, x := range []*Agent{a, b, c} {
			sees(t, x, 1, 2, 3)
		}
	}
}

func throw(t *testing.T, network, addr string, packet []byte) {
	t.Helper()
	c, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(packet)
	_ = c.Close()
}

// freePort gives a port of the loopback address that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestStartRefuses(t *testing.T) {
	taken := start(t, Config{Info: info(1, "")})
	long := info(2, "")
	long.Rack = strings.Repeat("r", 600)
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{Info: info(2, ""), Listen: ":0", Advertise: freePort(t)}, "gossip at :0 needs a key, for it is no loopback address: set ringmill.gossip.key"},
		{Config{Info: info(2, ""), Listen: ":0", Advertise: "0.0.0.0:1", Key: key(1)}, "other nodes cannot reach 0.0.0.0:1; set ringmill.gossip.advertise"},
		{Config{Info: Info{Expect: 1}, Listen: ":0", Key: key(1)}, "no address for other nodes; set ringmill.gossip.advertise"},
		{Config{Info: info(2, ""), Listen: "127.0.0.1:0", Key: "c2hvcnQ="}, "gossip key 1 is not 32 bytes in base64"},
		{Config{Info: info(2, ""), Listen: taken.Addr()}, "gossip at " + taken.Addr() + ": the port is in use"},
		{Config{Info: info(2, ""), Listen: "192.0.2.1:7946", Key: key(1)}, "gossip at 192.0.2.1:7946: cannot assign requested address"},
		{Config{Info: info(2, ""), Listen: "nowhere"}, "gossip address nowhere: "},
		{Config{Info: long, Listen: "127.0.0.1:0"}, "Encoded length of tags exceeds limit of 512 bytes"},
	} {
		tt.cfg.Log = slog.New(slog.DiscardHandler)
		a, err := Start(tt.cfg)
		if err == nil {
			_ = a.Shutdown()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}
