package member

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func at(id int, cluster, addr string) peer {
	return peer{name: nodeName(info(id, "").NodeID), addr: addr, readable: true, info: info(id, cluster)}
}

func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		name           string
		own            Info
		known, offered []peer
		want           string
	}{
		{"fresh ones", info(1, ""), nil, []peer{at(2, "", "b:1"), at(3, "", "c:1")}, ""},
		{"a fresh one in a cluster", info(1, "x"), nil, []peer{at(2, "", "b:1")}, ""},
		{"a cluster for a fresh one", info(1, ""), nil, []peer{at(2, "x", "b:1"), at(3, "", "c:1"), at(4, "x", "d:1")}, ""},
		{"two clusters for a fresh one", info(1, ""), nil, []peer{at(2, "x", "b:1"), at(4, "y", "d:1")}, "node 4 at d:1 belongs to cluster y, node 2 at b:1 to cluster x"},
		{"one after another", info(1, ""), []peer{at(3, "", "c:1"), at(2, "x", "b:1")}, []peer{at(4, "y", "d:1")}, "node 4 at d:1 belongs to cluster y, node 2 at b:1 to cluster x"},
		{"another cluster", info(1, "x"), nil, []peer{at(2, "x", "b:1"), at(4, "y", "d:1")}, "node 4 at d:1 belongs to cluster y, this node to cluster x"},
		{"no node", info(1, ""), nil, []peer{{name: "web", addr: "w:1"}}, "web at w:1 is no ringmill node, or one of a release that this one does not know"},
	} {
		if got := refusal(tt.own, tt.known, tt.offered); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRefusalOfTooMany(t *testing.T) {
	var known []peer
	for id := range membersMax {
		known = append(known, at(id, "x", "a:1"))
	}
	if got := refusal(info(0, "x"), known, known[5:7]); got != "" {
		t.Errorf("known ones: %q", got)
	}
	if got, want := refusal(info(0, "x"), known, []peer{known[1], at(2000, "x", "b:1")}), "node-2000 would be one of more than 1024 members"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConflicts(t *testing.T) {
	double := at(1, "", "z:1")
	double.info.DirectoryID[1] = 9
	known := []peer{at(1, "", "a:1"), at(2, "", ""), at(3, "", "c:1")}
	found := conflicts(known, []peer{at(1, "", "a:1"), double, at(2, "", "b:1"), at(3, "", "moved:1"), at(4, "", "d:1")})
	if len(found) != 2 || found[0].offered.addr != "z:1" || found[0].mayBeOne() || found[1].offered.addr != "moved:1" || !found[1].mayBeOne() {
		t.Errorf("found %+v", found)
	}
}

func TestParseSnapshot(t *testing.T) {
	text := "alive: node-2 10.0.0.2:7946\nclock: 5\nalive: node-1 10.0.0.1:7946\n#\nleave\nalive: node-3 10.0.0.3:7946\nalive: node-2 10.0.0.9:7946\nnot-alive: node-3\nalive:\nalive: node-4\nali"
	if got, want := parseSnapshot(text, "node-1"), []string{"10.0.0.9:7946"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestThrottle(t *testing.T) {
	var th throttle
	said, left := 0, 0
	for i := range 100 {
		if n, ok := th.admit("kind", time.Duration(i)*time.Second); ok {
			said, left = said+1, left+n
		}
	}
	if said != 2*throttleBurst || left != 61-throttleBurst {
		t.Errorf("%d said, %d told to be left out", said, left)
	}
	for i := range 10 * throttleKinds {
		if _, ok := th.admit(strings.Repeat("x", i), 0); !ok || len(th.kinds) > throttleKinds {
			t.Fatalf("kind %d: said %t, %d remembered", i, ok, len(th.kinds))
		}
	}
}
