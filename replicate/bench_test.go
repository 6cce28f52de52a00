package replicate_test

import (
	"testing"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// alone makes a partition without other replicas, and a batch to produce again and again.
func alone(tb testing.TB) (*replicate.Partition, wire.RecordBatch) {
	tb.Helper()
	fsys := segmenttest.New(1)
	if err := fsys.MkdirAll("/logs", 0o755); err != nil {
		tb.Fatal(err)
	}
	log, err := segment.CreateLog(fsys, "/logs/t-0", segment.DefaultConfig(), wire.TopicID{1}, 0)
	if err != nil {
		tb.Fatal(err)
	}
	b := wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: 1000}, []wire.Record{{Value: make([]byte, 100)}})
	return replicate.NewPartition(log, replicate.FlushCommit, 0), wire.RecordBatch(b)
}

// produceOnce takes a batch from Produce to its answer.
func produceOnce(p *replicate.Partition, b wire.RecordBatch, ref any, eff *replicate.Effects) int {
	plan, _ := p.Produce(b, replicate.AcksAll, ref, 1000, eff)
	p.Written(plan.LastOffset+1, eff)
	p.Synced(plan.LastOffset+1, eff)
	n := len(eff.Completed)
	eff.Reset()
	return n
}

// BenchmarkAlone is what the state machine of a partition without other replicas costs a batch.
func BenchmarkAlone(b *testing.B) {
	p, batch := alone(b)
	var eff replicate.Effects
	ref := new(int)
	b.ReportAllocs()
	for b.Loop() {
		produceOnce(p, batch, ref, &eff)
	}
}

// TestAloneAllocatesNothing: a partition without other replicas makes no garbage in steady state.
func TestAloneAllocatesNothing(t *testing.T) {
	p, batch := alone(t)
	var eff replicate.Effects
	ref := new(int)
	for range 1000 {
		produceOnce(p, batch, ref, &eff)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if produceOnce(p, batch, ref, &eff) != 1 {
			t.Error("not answered")
		}
	}); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}
