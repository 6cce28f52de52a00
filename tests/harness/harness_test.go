package harness

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// TestAskedOverKill: what is asked while the node is down is answered once it is back.
func TestAskedOverKill(t *testing.T) {
	node := Start(t, Options{})
	topic := node.CreateTopic(t, "asked", 1)
	node.Produce(t, topic, Numbered("v", 7))
	node.Kill(t)
	back := make(chan error)
	go func() { back <- node.start() }()
	ends := Asked(t, node, "end offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		return admin.ListEndOffsets(ctx, topic)
	})
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	if end, _ := ends.Lookup(topic, 0); end.Offset != 7 {
		t.Errorf("the end is %d, want 7", end.Offset)
	}
	if res := Ask[*kmsg.MetadataResponse](t, node, kmsg.NewPtrMetadataRequest()); len(res.Brokers) != 1 {
		t.Errorf("%d brokers", len(res.Brokers))
	}
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
