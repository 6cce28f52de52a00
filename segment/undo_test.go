package segment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// describe is all bookkeeping of a log that an undo must restore.
func (l *Log) describe() string {
	var out strings.Builder
	for _, s := range l.segments {
		c := *s
		c.txn.stale, c.txn.cuts, c.txn.least = false, 0, 0 // an undo may leave traces in these
		fmt.Fprintf(&out, "%+v\n", c)
	}
	fmt.Fprintf(&out, "size %d open %v ended %v epochs %+v\n", l.size, l.producers.open, l.unreplicated, l.epochs.Entries())
	for id, s := range l.producers.producers {
		if s.count > 0 || s.epoch >= 0 {
			fmt.Fprintf(&out, "producer %d: %d %d %d %d %+v\n", id, s.epoch, s.lastTimestamp, s.txnFirstOffset, s.count, s.batches[:s.count])
		}
	}
	for i := range int(l.recent.count) {
		fmt.Fprintf(&out, "recent %+v\n", *l.recent.at(i))
	}
	return out.String()
}

// TestUndoRestoresEverything undoes runs of appends of every kind and compares all bookkeeping. One producer at a time, so that
// the map has one order.
func TestUndoRestoresEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		cfg := DefaultConfig()
		cfg.IndexIntervalBytes = rng.IntN(300)
		l := newLog("/logs/u-0", cfg)
		l.segments = []*Segment{newSegment(l.dir, 0)}
		epoch := wire.LeaderEpoch(0)
		l.Append(undoBatch(rng), epoch, 1)
		for range rng.IntN(20) {
			epoch += wire.LeaderEpoch(rng.IntN(2))
			l.Append(undoBatch(rng), epoch, 1)
		}
		var plans []AppendPlan
		var before []string
		for range 1 + rng.IntN(10) {
			before = append(before, l.describe())
			epoch += wire.LeaderEpoch(rng.IntN(2))
			plans = append(plans, l.Append(undoBatch(rng), epoch, 1))
		}
		for i := len(plans) - 1; i >= 0; i-- {
			l.Undo(plans[i])
			if got := l.describe(); got != before[i] {
				t.Fatalf("after the undo:\n%s\nbefore the append:\n%s", got, before[i])
			}
		}
	}
}

func undoBatch(rng *rand.Rand) wire.RecordBatch {
	h := wire.BatchHeader{
		BaseTimestamp: wire.Timestamp(rng.IntN(100)), Idempotent: rng.IntN(3) > 0, ProducerID: 7,
		ProducerEpoch: wire.ProducerEpoch(rng.IntN(3)), BaseSequence: wire.Sequence(rng.IntN(1000)), Transactional: rng.IntN(2) == 0,
	}
	recs := make([]wire.Record, 1+rng.IntN(3))
	for i := range recs {
		recs[i] = wire.Record{OffsetDelta: int32(i), Value: []byte("value")}
	}
	if h.Idempotent && rng.IntN(4) == 0 {
		h.Control, h.BaseSequence = true, -1
		recs = []wire.Record{{Key: []byte{0, 0, 0, byte(rng.IntN(2))}, Value: make([]byte, 6)}}
	}
	return wire.RecordBatch(wire.AppendRecordBatch(nil, h, recs))
}

// TestUndoIsOfTheNewest: anything else is a programmer's fault.
func TestUndoIsOfTheNewest(t *testing.T) {
	l := newLog("/logs/u-0", DefaultConfig())
	l.segments = []*Segment{newSegment(l.dir, 0)}
	rng := rand.New(rand.NewPCG(1, 2))
	first := l.Append(undoBatch(rng), 0, 1)
	l.Append(undoBatch(rng), 0, 1)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	l.Undo(first)
}
