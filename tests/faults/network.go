package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/tests/harness"
)

// Network is hosts that are namespaces of this one, joined by a bridge in another, which the clients are in too.
//
//	host 1 ── eth0 ═ v1 ─┐                     addresses 198.18.0.N (RFC 2544: for tests of networks), each a host's own
//	host 2 ── eth0 ═ v2 ─┼─ br0 ── clients     on lo, so that it stays when packets take another way
//	host 3 ── eth0 ═ v3 ─┘   │
//	   │                     └── nftables: what passes from whom to whom
//	   └──── tun0 ── Weather, in this process
//
// Nothing of it is in the namespace of the test, and nothing leaves it.
type Network struct {
	hub   string // the namespace of the bridge and of the clients
	hosts []string
	sky   *sky
	bad   []int // hosts whose packets go through weather
}

// clients is their number among the hosts of a Link: they are no host.
const clients = 0

// Link is a direction: what one host, or the clients, sends to another.
type Link struct{ From, To int }

// namespaces are kept here by ip-netns(8).
const namespaces = "/run/netns"

// NewNetwork makes n hosts, for the length of the test; the seed is that of their weather. Its error tells why this machine has none.
func NewNetwork(tb testing.TB, n int, seed uint64) (*Network, error) {
	tb.Helper()
	if os.Geteuid() != 0 {
		return nil, errors.New("network namespaces need root")
	}
	harness.Apt(tb, "ip", "iproute2")
	harness.Apt(tb, "nft", "nftables")
	harness.Apt(tb, "nsenter", "util-linux")
	removeLeftovers()
	w := &Network{hub: name("hub")}
	for i := range n {
		w.hosts = append(w.hosts, name(fmt.Sprint(i+1)))
	}
	tb.Cleanup(w.remove)
	if err := w.build(seed); err != nil {
		w.remove()
		return nil, err
	}
	return w, nil
}

var made int

// name is a namespace's: of this process, and told from those that it had before.
func name(what string) string {
	made++
	return fmt.Sprintf("ringmill-%d-%d-%s", os.Getpid(), made, what)
}

var leftover = regexp.MustCompile(`^ringmill-(\d+)-`)

// removeLeftovers removes what runs that were killed have left.
func removeLeftovers() {
	entries, _ := os.ReadDir(namespaces) // none: nothing was left
	for _, e := range entries {
		if m := leftover.FindStringSubmatch(e.Name()); m != nil {
			if pid, _ := strconv.Atoi(m[1]); unix.Kill(pid, 0) == unix.ESRCH {
				_ = run("ip", "netns", "del", e.Name())
			}
		}
	}
}

func run(argv ...string) error {
	stdout, stderr, err := harness.Command{Argv: argv}.Try()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(stdout+stderr))
	}
	return nil
}

// clientsByte is the last of the clients' address; a host's is its number.
const clientsByte = 254

func address(host int) string {
	if host == clients {
		host = clientsByte
	}
	return fmt.Sprintf("198.18.0.%d", host)
}

func (w *Network) namespace(host int) string {
	if host == clients {
		return w.hub
	}
	return w.hosts[host-1]
}

// device of the way over the bridge.
func (w *Network) device(host int) string {
	if host == clients {
		return "br0"
	}
	return "eth0"
}

const subnet = "198.18.0.0/24"

func (w *Network) build(seed uint64) error {
	steps := [][]string{
		{"ip", "netns", "add", w.hub},
		{"ip", "-n", w.hub, "link", "add", "br0", "type", "bridge"},
	}
	for i, host := range w.hosts {
		v := fmt.Sprintf("v%d", i+1)
		steps = append(steps, [][]string{
			{"ip", "netns", "add", host},
			{"ip", "-n", w.hub, "link", "add", v, "type", "veth", "peer", "name", "eth0", "netns", host},
			{"ip", "-n", w.hub, "link", "set", v, "master", "br0", "up"},
		}...)
	}
	for host := range len(w.hosts) + 1 {
		ns := w.namespace(host)
		steps = append(steps, [][]string{
			{"ip", "-n", ns, "link", "set", "lo", "up"},
			{"ip", "-n", ns, "addr", "add", address(host) + "/32", "dev", "lo"},
			{"ip", "-n", ns, "link", "set", w.device(host), "up"},
			{"ip", "-n", ns, "route", "add", subnet, "dev", w.device(host), "src", address(host)},
		}...)
	}
	for _, step := range steps {
		if err := run(step...); err != nil {
			return err
		}
	}
	for host := range len(w.hosts) + 1 {
		if err := within(w.path(w.namespace(host)), takeFromAnywhere); err != nil {
			return err
		}
	}
	if err := w.nft(rules); err != nil {
		return err
	}
	sky, err := newSky(w, seed)
	w.sky = sky
	return err
}

// takeFromAnywhere has the thread's namespace take packets on whichever device they come (ip-sysctl: rp_filter; the larger of a device's
// value and that of all counts, and a new device has the default).
func takeFromAnywhere() error {
	for _, which := range []string{"all", "default"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+which+"/rp_filter", []byte("0"), 0); err != nil {
			return err
		}
	}
	return nil
}

// remove ends the namespaces; what runs in them has ended before, with the test's cleanups.
func (w *Network) remove() {
	if w.sky != nil {
		w.sky.close()
	}
	for _, ns := range append([]string{w.hub}, w.hosts...) {
		_ = run("ip", "netns", "del", ns)
	}
}

// rules drop what goes from the first address of a pair to the second, on the bridge and where clients are at its end, and count it.
const rules = `
table bridge faults {
	set cut { type ipv4_addr . ipv4_addr; }
	counter dropped { }
	chain between { type filter hook forward priority 0; ip saddr . ip daddr @cut counter name dropped drop; }
	chain in { type filter hook input priority 0; ip saddr . ip daddr @cut counter name dropped drop; }
	chain out { type filter hook output priority 0; ip saddr . ip daddr @cut counter name dropped drop; }
}
`

func (w *Network) nft(script string) error {
	_, stderr, err := harness.Command{Argv: []string{"nsenter", "--net=" + w.path(w.hub), "nft", "-f", "-"}, Input: script}.Try()
	if err != nil {
		return fmt.Errorf("nft: %w: %s", err, strings.TrimSpace(stderr))
	}
	return nil
}

func (w *Network) path(ns string) string { return filepath.Join(namespaces, ns) }

// Cut drops what goes over some links from now on.
func (w *Network) Cut(tb testing.TB, links ...Link) {
	tb.Helper()
	pairs := make([]string, len(links))
	for i, l := range links {
		pairs[i] = address(l.From) + " . " + address(l.To)
	}
	if err := w.nft(fmt.Sprintf("add element bridge faults cut { %s }\n", strings.Join(pairs, ", "))); err != nil {
		tb.Fatal(err)
	}
}

// Heal lets everything pass.
func (w *Network) Heal(tb testing.TB) {
	tb.Helper()
	if err := w.nft("flush set bridge faults cut\n"); err != nil {
		tb.Fatal(err)
	}
	w.fair(tb)
}

var packets = regexp.MustCompile(`packets (\d+)`)

// Dropped is how many packets were so far.
func (w *Network) Dropped(tb testing.TB) int {
	tb.Helper()
	text := harness.Command{Argv: []string{"nsenter", "--net=" + w.path(w.hub), "nft", "list", "counter", "bridge", "faults", "dropped"}}.Output(tb)
	m := packets.FindStringSubmatch(text)
	if m == nil {
		tb.Fatalf("nft lists the counter as %q", text)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// Places are those of all hosts.
func (w *Network) Places() (places []harness.Place) {
	for i, host := range w.hosts {
		places = append(places, harness.Place{Host: address(i + 1), Enter: []string{"nsenter", "--net=" + w.path(host), "--"}, Dial: w.dial})
	}
	return places
}

// Enter is what a client's command line begins with.
func (w *Network) Enter() []string { return []string{"nsenter", "--net=" + w.path(w.hub), "--"} }

// dialWithin is what a client waits for a connection: a cut network is silent.
const dialWithin = 3 * time.Second

// dial opens a connection of the clients' namespace: a socket belongs to the one that its thread was in when it was made
// (network_namespaces(7)).
func (w *Network) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = within(w.path(w.hub), func() (err error) {
		conn, err = (&net.Dialer{Timeout: dialWithin}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}
