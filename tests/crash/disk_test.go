package crash

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/powercut"
)

// TestFailedDiskIsPoisoned: after the first write or sync that failed nothing is acknowledged any more, and the node says so.
func TestFailedDiskIsPoisoned(t *testing.T) {
	needsRingmill(t)
	disk := powercut.New(t, "ext4", 1<<30)
	node := harness.StartRingmill(t, harness.Options{Data: disk.Dir})
	node.CreateNamedTopic(t, "poisoned", 1)
	node.Produce(t, "poisoned", harness.Numbered("before ", 100))
	disk.Cut(t)
	client := node.Client(t, kgo.RecordDeliveryTimeout(3*time.Second), kgo.RecordRetries(3), kgo.ProduceRequestTimeout(time.Second))
	for i := 0; i < 5 && node.Alive(); i++ {
		record := &kgo.Record{Topic: "poisoned", Value: fmt.Appendf(nil, "after %d", i)}
		if err := client.ProduceSync(harness.Context(t), record).FirstErr(); err == nil {
			t.Fatalf("record %d was acknowledged on a failed disk", i)
		}
	}
	if node.Alive() {
		if status, err := node.Get("/readyz"); err == nil && status == http.StatusOK {
			t.Error("the node calls itself ready on a failed disk")
		}
	}
	if !strings.Contains(node.Log(), disk.Dir) {
		t.Error("the node's log does not name the failed directory")
	}
	node.Kill(t)
	disk.Remount(t)
	node.Restart(t)
	got := harness.Values(node.Consume(t, "poisoned", 100))
	if got[99] != "before 99" {
		t.Errorf("the last acknowledged record is %q", got[99])
	}
}

// TestFullDisk: a full disk refuses records and keeps serving them; freed, it takes records again without a restart.
func TestFullDisk(t *testing.T) {
	needsRingmill(t)
	disk := powercut.New(t, "ext4", 512<<20)
	filler := filepath.Join(disk.Dir, "filler")
	node := harness.StartRingmill(t, harness.Options{Data: filepath.Join(disk.Dir, "data")})
	node.CreateNamedTopic(t, "full", 1)
	fillUp(t, filler, disk, 24<<20)
	client := node.Client(t, kgo.RecordDeliveryTimeout(3*time.Second), kgo.RecordRetries(2), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	var acknowledged []string
	refused := false
	for i := 0; i < 2000 && !refused; i++ {
		value := fmt.Sprintf("%d %s", i, strings.Repeat("x", 100_000))
		err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: "full", Value: []byte(value)}).FirstErr()
		if err == nil {
			acknowledged = append(acknowledged, value)
		}
		refused = err != nil
	}
	if !refused {
		t.Fatal("200 MB went onto a full disk")
	}
	same(t, node.Consume(t, "full", len(acknowledged)), acknowledged)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: "full", Value: []byte("after")}).FirstErr()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no record is taken a minute after space was freed: %v", err)
		}
	}
	all := node.Consume(t, "full", len(acknowledged)+1)
	same(t, all[:len(acknowledged)], acknowledged)
}

func needsRingmill(t *testing.T) {
	t.Helper()
	if peer := harness.ChosenPeer(); peer != harness.Ringmill {
		t.Skipf("shows what ringmill does; the peer of this run is %s", peer)
	}
}

// fillUp leaves about free bytes on the disk.
func fillUp(t *testing.T, path string, disk *powercut.Disk, free uint64) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 1<<20)
	for disk.Free(t) > free {
		if _, err := file.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, records []*kgo.Record, want []string) {
	t.Helper()
	for i, r := range records {
		if string(r.Value) != want[i] {
			t.Fatalf("record %d is %.20q, want %.20q", i, r.Value, want[i])
		}
	}
}
