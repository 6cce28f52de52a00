package replicate_test

import (
	"testing"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// owner has a partition, and produces a batch to it again and again.
type owner struct {
	*replicate.Partition
	fsys  *segmenttest.FS
	batch wire.RecordBatch
	ref   any
	eff   replicate.Effects
}

// alone makes a partition without other replicas.
func alone(tb testing.TB) *owner {
	tb.Helper()
	fsys := segmenttest.New(1)
	if err := fsys.MkdirAll("/logs", 0o755); err != nil {
		tb.Fatal(err)
	}
	log, err := segment.CreateLog(fsys, "/logs/t-0", segment.DefaultConfig(), wire.TopicID{1}, 0)
	if err != nil {
		tb.Fatal(err)
	}
	batch := wire.AppendRecordBatch(nil, wire.BatchHeader{BaseTimestamp: 1000}, []wire.Record{{Value: make([]byte, 100)}})
	return &owner{Partition: replicate.NewPartition(log, replicate.FlushCommit, 0), fsys: fsys, batch: batch, ref: new(int)}
}

// produce takes the batch until it is synced, and says where the log ends. A fast machine fills a segment in a second.
func (o *owner) produce(tb testing.TB) (end wire.Offset) {
	plan, outcome := o.Produce(o.batch, replicate.AcksAll, o.ref, 1000, &o.eff)
	if outcome == replicate.NeedsRoll {
		roll(tb, o.fsys, o.Log())
		plan, outcome = o.Produce(o.batch, replicate.AcksAll, o.ref, 1000, &o.eff)
	}
	if outcome != replicate.Planned {
		tb.Fatal("the batch is not taken")
	}
	end = plan.LastOffset + 1
	o.Written(end, &o.eff)
	o.Synced(end, &o.eff)
	return end
}

// answered has one answer taken.
func (o *owner) answered(tb testing.TB) {
	if len(o.eff.Completed) != 1 {
		tb.Fatal("not answered")
	}
	o.eff.Reset()
}

// BenchmarkAlone is what the state machine of a partition without other replicas costs a batch.
func BenchmarkAlone(b *testing.B) {
	o := alone(b)
	b.ReportAllocs()
	for b.Loop() {
		o.produce(b)
		o.answered(b)
	}
}

// TestAloneAllocatesNothing: a partition without other replicas makes no garbage in steady state.
func TestAloneAllocatesNothing(t *testing.T) {
	o := alone(t)
	once := func() {
		o.produce(t)
		o.answered(t)
	}
	for range 1000 {
		once()
	}
	if n := testing.AllocsPerRun(1000, once); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}

// replicated makes a leader with two followers in sync.
func replicated(tb testing.TB) *owner {
	tb.Helper()
	o := alone(tb)
	o.Partition = replicate.NewReplica(o.Log(), replicate.FlushCommit, 0)
	o.Lead(0, replicate.LeaderState{Metadata: replicate.Metadata{Version: 1}, Self: 1, Replicas: []wire.NodeID{1, 2, 3}, ISR: []wire.NodeID{1, 2, 3}, MinISR: 2, LagMax: 1 << 40}, new(replicate.Effects))
	if o.Role() != replicate.Leading {
		tb.Fatal("nothing is led: its metadata is taken for stale")
	}
	return o
}

// BenchmarkReplicated is what a leader's state machine costs a batch that two followers fetch and acknowledge.
func BenchmarkReplicated(b *testing.B) {
	o := replicated(b)
	b.ReportAllocs()
	for b.Loop() {
		end := o.produce(b)
		for id := range wire.NodeID(2) {
			o.ReplicaFetch(1, replicate.ReplicaPosition{Replica: 2 + id, Eligible: true, Offset: end}, &o.eff)
		}
		o.answered(b)
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
