package segment_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/wire"
)

// BenchmarkTruncate cuts the last batches of a log whose active segment has 200 MiB, half of it not flushed. A log that was just opened,
// or that is not known to have other replicas, is read for its producers.
func BenchmarkTruncate(b *testing.B) {
	for _, replicated := range []bool{false, true} {
		for _, size := range []int{1 << 10, 64 << 10} {
			for _, ids := range []int{0, 1, 1000} {
				name := fmt.Sprintf("replicated=%t,batch=%d,producers=%d", replicated, size, ids)
				b.Run(name, func(b *testing.B) { benchmarkTruncate(b, replicated, size, ids) })
			}
		}
	}
}

func benchmarkTruncate(b *testing.B, replicated bool, size, ids int) {
	dir, err := os.MkdirTemp("", "truncate")
	must(b, err)
	defer os.RemoveAll(dir)
	h, err := createHarness(osfs.FS{}, dir+"/t-0", segment.DefaultConfig())
	must(b, err)
	h.log.SetReplicated(replicated)
	value := string(make([]byte, size))
	n := 0
	add := func() {
		batch := batchOf(wire.BatchHeader{Idempotent: ids > 0, ProducerID: wire.ProducerID(n % max(ids, 1)), BaseSequence: wire.Sequence(n / max(ids, 1))}, value, 1)
		batch.SetBaseOffset(h.log.LogEndOffset())
		_, err := h.replicate(batch)
		must(b, err)
		n++
	}
	for h.log.Size() < 200<<20 {
		add()
		if h.log.RecoveryPoint() == 0 && h.log.Size() > 100<<20 {
			must(b, h.flush())
		}
	}
	h.log.ReleaseBelow(h.log.LogEndOffset() - 10)
	for b.Loop() {
		plan, _ := h.log.PlanTruncate(h.log.LogEndOffset() - 3)
		must(b, h.truncate(&plan))
		b.StopTimer()
		n -= 3
		for range 3 {
			add()
		}
		b.StartTimer()
	}
}
