package harness

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMain(m *testing.M) { Main(m) }

// TestRoundTrip is the harness's own proof: what it starts takes records, keeps them over kill -9, and ends.
func TestRoundTrip(t *testing.T) {
	node := Start(t, Options{})
	topic := node.CreateTopic(t, "harness", 1)
	node.Produce(t, topic, Numbered("v", 100), kgo.ProducerBatchCompression(kgo.GzipCompression()))
	if got := len(node.Stored(t, topic, 0)); got == 0 {
		t.Fatal("no batch in the node's files")
	}
	node.Kill(t)
	if node.Alive() {
		t.Fatal("alive after kill -9")
	}
	node.Restart(t)
	if got := Values(node.Consume(t, topic, 100)); got[99] != "v99" {
		t.Fatalf("last value %q", got[99])
	}
	node.Stop(t)
}

func TestPortsAreApart(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		port := FreePort(t)
		if seen[port] || seen[port+1] || port < portMin || port >= portMax {
			t.Fatalf("port %d twice or out of range", port)
		}
		seen[port] = true
	}
}
