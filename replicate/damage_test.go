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
	state.Epoch, state.PartitionEpoch = 5, 2
	if p.Follow(state, &eff); len(eff.Truncations) != 0 || log.Damage() != nil || log.LogEndOffset() != 2 || p.HighWatermark() != 2 {
		t.Fatalf("truncations %+v, damage %v, end %d, high watermark %d", eff.Truncations, log.Damage(), log.LogEndOffset(), p.HighWatermark())
	}
}
