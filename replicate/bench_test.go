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

// replicated makes a leader with two followers in sync, and a batch to produce again and again.
func replicated(tb testing.TB) (*replicate.Partition, wire.RecordBatch) {
	tb.Helper()
	p, batch := alone(tb)
	p = replicate.NewReplica(p.Log(), replicate.FlushCommit, 0)
	p.Lead(0, replicate.LeaderState{Metadata: replicate.Metadata{Version: 1}, Self: 1, Replicas: []wire.NodeID{1, 2, 3}, ISR: []wire.NodeID{1, 2, 3}, MinISR: 2, LagMax: 1 << 40}, new(replicate.Effects))
	if p.Role() != replicate.Leading {
		tb.Fatal("nothing is led: its metadata is taken for stale")
	}
	return p, batch
}

// BenchmarkReplicated is what a leader's state machine costs a batch that two followers fetch and acknowledge.
func BenchmarkReplicated(b *testing.B) {
	p, batch := replicated(b)
	var eff replicate.Effects
	ref := new(int)
	b.ReportAllocs()
	for b.Loop() {
		plan, _ := p.Produce(batch, replicate.AcksAll, ref, 1000, &eff)
		p.Written(plan.LastOffset+1, &eff)
		p.Synced(plan.LastOffset+1, &eff)
		for id := range wire.NodeID(2) {
			p.ReplicaFetch(1, replicate.ReplicaPosition{Replica: 2 + id, Eligible: true, Offset: plan.LastOffset + 1}, &eff)
		}
		if len(eff.Completed) != 1 {
			b.Fatal("not answered")
		}
		eff.Reset()
	}
}

// BenchmarkFetcher is what a request and its answer cost a follower of 1,000 partitions of which ten have records.
func BenchmarkFetcher(b *testing.B) {
	const partitions, busy = 1000, 10
	f := replicate.NewFetcher(replicate.FetcherConfig{})
	for i := range wire.PartitionIndex(partitions) {
		f.Add(replicate.FetchTarget{Ref: i, Index: i}, true)
	}
	answer := wire.FetchResponseView{SessionID: 1, Topics: []wire.FetchTopicView{{Partitions: make([]wire.FetchPartitionView, busy)}}}
	for i := range answer.Topics[0].Partitions {
		p := &answer.Topics[0].Partitions[i]
		p.Index, p.Records = wire.PartitionIndex(i*partitions/busy), []byte{0}
	}
	var body []byte
	end := wire.Offset(0)
	b.ReportAllocs()
	for b.Loop() {
		r := f.Next(0, 1)
		body = r.AppendTo(body[:0], 17)
		actions, _ := f.Answer(0, &answer)
		end++
		for i := range actions {
			f.Ready(wire.TopicID{}, actions[i].Ref.(wire.PartitionIndex), replicate.Position{Offset: end}, 0)
		}
		if len(actions) != busy {
			b.Fatal("not all partitions were answered")
		}
	}
}
