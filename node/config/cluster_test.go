package config

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestClusterIsAskedForBySeedsOrExpect(t *testing.T) {
	for _, tt := range []struct {
		src  Source
		want bool
	}{
		{Source{}, false},
		{Source{Set: []string{"ringmill.bootstrap.expect=1"}}, false},
		{Source{Set: []string{"ringmill.bootstrap.expect=3"}}, true},
		{Source{Set: []string{"seeds=a:1"}}, true},
		{Source{Join: []string{"a:1"}}, true},
		{Source{Env: []string{"RINGMILL_SEEDS=a:1"}}, true},
		{Source{Join: []string{"a:1"}, Set: []string{"seeds="}}, false},
	} {
		if got := load(t, tt.src).Cluster(); got != tt.want {
			t.Errorf("%+v: %t", tt.src, got)
		}
	}
}

func TestSeeds(t *testing.T) {
	c := load(t, Source{Join: []string{"10.0.0.7:1, b", "::1", "[::2]", "[::3]:4"}})
	want := []string{"10.0.0.7:1", "b:7946", "[::1]:7946", "[::2]:7946", "[::3]:4"}
	if !slices.Equal(c.Seeds, want) {
		t.Errorf("seeds %q, want %q", c.Seeds, want)
	}
	for _, seed := range []string{"a:b", ":1", "a:1,,b:1", "a b", "http://a:1", "a:65536"} {
		_, _, err := Load(Source{Join: []string{seed}})
		if err == nil || !strings.HasPrefix(err.Error(), "seeds="+seed+" (--join): ") {
			t.Errorf("%q: %v", seed, err)
		}
	}
}

func TestGossipListensBesideTheFirstListener(t *testing.T) {
	for _, tt := range []struct{ listeners, listen, want string }{
		{"PLAINTEXT://127.0.0.1:9092", "", "127.0.0.1:7946"},
		{"PLAINTEXT://10.0.0.7:9092,IN://10.1.0.7:9093", "", "10.0.0.7:7946"},
		{"PLAINTEXT://:9092", "", ":7946"},
		{"PLAINTEXT://[::1]:9092", "", "[::1]:7946"},
		{"PLAINTEXT://10.0.0.7:9092", "127.0.0.1:0", "127.0.0.1:0"},
	} {
		c := load(t, Source{Set: []string{"listeners=" + tt.listeners, "ringmill.gossip.listen=" + tt.listen, "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,IN:PLAINTEXT"}})
		if shown, _ := c.Value("ringmill.gossip.listen"); c.GossipListen != tt.want || tt.listen != "" && shown != tt.want {
			t.Errorf("%s %q: listens at %q, shown as %q", tt.listeners, tt.listen, c.GossipListen, shown)
		}
	}
}

func TestInterBrokerListener(t *testing.T) {
	two := []string{"listeners=A://127.0.0.1:1,B://127.0.0.1:2", "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT"}
	if at := load(t, Source{Set: two}).InterBroker(); at != 0 {
		t.Errorf("listener %d", at)
	}
	if at := load(t, Source{Set: append(two, "inter.broker.listener.name=b")}).InterBroker(); at != 1 {
		t.Errorf("listener %d", at)
	}
}

func TestReplicationThrottles(t *testing.T) {
	c := load(t, Source{})
	if c.LeaderThrottleBytesPerSecond() != math.MaxInt64 || c.FollowerThrottleBytesPerSecond() != math.MaxInt64 {
		t.Error("a bound that nobody set")
	}
	c, err := c.WithDynamic(map[string]string{LeaderRate: "5"}, map[string]string{LeaderRate: "6", FollowerRate: "7"})
	if err != nil || c.LeaderThrottleBytesPerSecond() != 5 || c.FollowerThrottleBytesPerSecond() != 7 {
		t.Errorf("%v", err)
	}
}

func TestRackAwareReads(t *testing.T) {
	for class, want := range map[string]bool{
		"": false, "org.apache.kafka.common.replica.LeaderSelector": false, "org.apache.kafka.common.replica.RackAwareReplicaSelector": true,
	} {
		if got := load(t, Source{Set: []string{"replica.selector.class=" + class}}).RackAwareReads(); got != want {
			t.Errorf("%q: %t", class, got)
		}
	}
}

// The key is a secret: no message shows it, not even one that is wrong.
func TestGossipKey(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	if c := load(t, Source{Set: []string{"ringmill.gossip.key=" + key}}); c.GossipKey != key {
		t.Errorf("key %q", c.GossipKey)
	}
	_, _, err := Load(Source{Set: []string{"ringmill.gossip.key=c2hvcnQ="}})
	if want := "ringmill.gossip.key=[hidden] (--set): not 32 bytes in base64; allowed: 32 bytes in base64"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
