package replicate_test

import (
	"testing"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/replicate/replicatetest"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// TestDamageIsCutByAFollower: what a log has lost, and all behind it, is cut before anything is fetched.
func TestDamageIsCutByAFollower(t *testing.T) {
	node, err := replicatetest.NewNode(1, replicate.FlushCommit, replicatetest.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		b := wire.RecordBatch(wire.AppendRecordBatch(nil, wire.BatchHeader{BaseOffset: wire.Offset(i), PartitionLeaderEpoch: 3}, []wire.Record{{Value: []byte("x")}}))
		if _, err := node.Log.Replay(node.FS, segment.JournalEntry{BaseOffset: wire.Offset(i), LeaderEpoch: 3, Batch: b}, 1000); err != nil {
			t.Fatal(err)
		}
	}
	size := node.Log.Size() / 5
	if err := node.FS.Damage(node.Log.ActiveSegment().LogName(), 2*size+64, 1); err != nil { // the third batch, of offset 2
		t.Fatal(err)
	}
	log, _, err := segment.OpenLog(node.FS, replicatetest.LogDir, node.Config, segment.OpenOptions{RecoveryPoint: 5, Replicated: true})
	if err != nil || log.Damage() == nil {
		t.Fatalf("%v, damage %v", err, log.Damage())
	}
	p := replicate.NewReplica(log, replicate.FlushCommit, 5)
	var eff replicate.Effects
	state := replicate.FollowerState{Metadata: replicate.Metadata{Version: 10, Registered: 9, Epoch: 4, PartitionEpoch: 1}, Leader: 2}
	state.Counted = true
	if p.Follow(state, &eff); len(eff.Truncations) != 0 || p.MayFetch() || p.Truncating() {
		t.Fatalf("cut while it is counted on: %+v", eff.Truncations)
	}
	if since, lacking := p.Lacking(); !lacking || since != wire.NoLeaderEpoch {
		t.Fatalf("lacking %v since epoch %d", lacking, since)
	}
	state.Counted, state.PartitionEpoch = false, 2
	p.Follow(state, &eff)
	if len(eff.Truncations) != 1 || eff.Truncations[0].To != 2 || eff.Truncations[0].Whole || !p.Truncating() {
		t.Fatalf("truncations %+v", eff.Truncations)
	}
	plan, ok := log.PlanTruncate(eff.Truncations[0].To)
	if !ok {
		t.Fatal("nothing to cut")
	}
	file, err := plan.Run(node.FS)
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	log.Truncated(plan)
	p.Truncated(true, &eff)
	eff.Reset()
	state.Epoch, state.PartitionEpoch = 5, 3
	if p.Follow(state, &eff); len(eff.Truncations) != 0 || log.Damage() != nil || log.LogEndOffset() != 2 || p.HighWatermark() != 2 {
		t.Fatalf("truncations %+v, damage %v, end %d, high watermark %d", eff.Truncations, log.Damage(), log.LogEndOffset(), p.HighWatermark())
	}
}

// TestDamageWaitsForAnEpoch: a follower that finds damage while it fetches promises nothing more, and cuts only under a leader epoch in
// which it has never fetched: a fetch of its that is still on its way must not count once the log is shorter.
func TestDamageWaitsForAnEpoch(t *testing.T) {
	node, err := replicatetest.NewNode(1, replicate.FlushCommit, replicatetest.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		b := wire.RecordBatch(wire.AppendRecordBatch(nil, wire.BatchHeader{BaseOffset: wire.Offset(i), PartitionLeaderEpoch: 3}, []wire.Record{{Value: []byte("x")}}))
		if _, err := node.Log.Replay(node.FS, segment.JournalEntry{BaseOffset: wire.Offset(i), LeaderEpoch: 3, Batch: b}, 1000); err != nil {
			t.Fatal(err)
		}
	}
	p := replicate.NewReplica(node.Log, replicate.FlushCommit, 4)
	var eff replicate.Effects
	state := replicate.FollowerState{Metadata: replicate.Metadata{Version: 10, Registered: 9, Epoch: 4, PartitionEpoch: 1}, Leader: 2, Counted: true}
	if p.Follow(state, &eff); !p.MayFetch() {
		t.Fatal("a whole replica may not fetch")
	}
	asked := replicate.Fetched{Epoch: 4, Position: p.Position(), HighWatermark: 4}
	p.Lack()
	if since, lacking := p.Lacking(); !lacking || since != 4 || p.MayFetch() || p.FetchedFrom(asked, &eff) {
		t.Fatalf("lacking %v since %d, may fetch %v", lacking, since, p.MayFetch())
	}
	for _, step := range []struct {
		epoch   wire.LeaderEpoch
		counted bool
		mended  bool
	}{{4, false, false}, {5, true, false}, {5, false, true}} {
		state.Epoch, state.Counted = step.epoch, step.counted
		state.PartitionEpoch++
		p.Follow(state, &eff)
		if _, lacking := p.Lacking(); lacking == step.mended || p.MayFetch() != step.mended {
			t.Fatalf("epoch %d, counted %v: lacking %v, may fetch %v", step.epoch, step.counted, lacking, p.MayFetch())
		}
	}
}
