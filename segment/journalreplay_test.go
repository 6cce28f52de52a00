package segment_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// batchAt builds a batch of n records at an offset.
func batchAt(base wire.Offset, epoch wire.LeaderEpoch, n int, value string) wire.RecordBatch {
	records := make([]wire.Record, n)
	for i := range records {
		records[i] = wire.Record{OffsetDelta: int32(i), Value: fmt.Appendf(nil, "%s-%d", value, i)}
	}
	raw := wire.AppendRecordBatch(nil, wire.BatchHeader{
		BaseOffset: base, PartitionLeaderEpoch: epoch, BaseTimestamp: 1000,
		ProducerID: wire.NoProducerID, ProducerEpoch: -1, BaseSequence: -1,
	}, records)
	return wire.RecordBatch(raw)
}

func journalled(b wire.RecordBatch) segment.JournalEntry {
	return segment.JournalEntry{BaseOffset: b.BaseOffset(), LeaderEpoch: b.PartitionLeaderEpoch(), Batch: b}
}

func newLog(t *testing.T, fsys segment.FS, cfg segment.Config) *segment.Log {
	t.Helper()
	log, err := segment.CreateLog(fsys, "logs/t-0", cfg, wire.TopicID{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestReplayAppendsWhatTheLogLacks(t *testing.T) {
	fsys := segmenttest.New(1)
	if err := fsys.MkdirAll("logs", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes = 300 // so that the replay rolls
	log := newLog(t, fsys, cfg)
	r := log.Replay(fsys, 2000)
	var want []byte
	for i, epoch := range []wire.LeaderEpoch{0, 0, 1, 1, 4} {
		b := batchAt(wire.Offset(3*i), epoch, 3, "value")
		want = append(want, b...)
		for range 2 { // the second time it is skipped
			if err := r.Append(journalled(b)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Finish(); err != nil {
		t.Fatal(err)
	}
	if log.LogEndOffset() != 15 || log.RecoveryPoint() != 15 || r.Appended() != 5 || len(log.Segments()) < 2 {
		t.Fatalf("log ends at %d, is synced to %d, took %d entries in %d segments",
			log.LogEndOffset(), log.RecoveryPoint(), r.Appended(), len(log.Segments()))
	}
	left := fsys.Crash()
	again, report, err := segment.OpenLog(left, "logs/t-0", cfg, segment.OpenOptions{RecoveryPoint: 15})
	if err != nil || report.Damage != nil || report.TruncatedBytes != 0 || again.LogEndOffset() != 15 {
		t.Fatalf("after a power cut: %+v, %v", report, err)
	}
	if e, end := again.EndOffsetForEpoch(1); e != 1 || end != 12 {
		t.Fatalf("epoch 1 ends at %d of epoch %d", end, e)
	}
	var got []byte
	for _, s := range again.Segments() {
		data, err := left.ReadFile(s.LogName())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, data...)
	}
	if !slices.Equal(got, want) {
		t.Fatal("the segments do not hold the batches of the journal")
	}
}

func TestReplayRefusesWhatDoesNotFit(t *testing.T) {
	for name, test := range map[string]struct {
		entry func() segment.JournalEntry
	}{
		"gap":        {func() segment.JournalEntry { return journalled(batchAt(4, 0, 1, "x")) }},
		"straddling": {func() segment.JournalEntry { return journalled(batchAt(2, 0, 2, "x")) }},
		"other offset": {func() segment.JournalEntry {
			e := journalled(batchAt(3, 0, 1, "x"))
			e.BaseOffset = 2
			return e
		}},
		"other epoch": {func() segment.JournalEntry {
			e := journalled(batchAt(3, 0, 1, "x"))
			e.LeaderEpoch++
			return e
		}},
		"damaged": {func() segment.JournalEntry {
			e := journalled(batchAt(3, 0, 1, "x"))
			e.Batch[len(e.Batch)-1] ^= 1
			return e
		}},
		"short": {func() segment.JournalEntry {
			e := journalled(batchAt(3, 0, 1, "x"))
			e.Batch = e.Batch[:20]
			return e
		}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := segmenttest.New(1)
			log := newLog(t, fsys, segment.DefaultConfig())
			r := log.Replay(fsys, 2000)
			if err := r.Append(journalled(batchAt(0, 0, 3, "x"))); err != nil {
				t.Fatal(err)
			}
			var refused *segment.ReplayError
			if err := r.Append(test.entry()); !errors.As(err, &refused) || refused.LogEndOffset != 3 {
				t.Fatalf("replay: %v", err)
			}
			if log.LogEndOffset() != 3 {
				t.Fatalf("the log ends at %d", log.LogEndOffset())
			}
		})
	}
}

// TestReplayCutEverywhere: however often recovery itself is cut, the next one has all entries.
func TestReplayCutEverywhere(t *testing.T) {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes = 200
	journalConfig := segment.JournalConfig{TrackBytes: 4096, Bytes: 8192}
	var batches []wire.RecordBatch
	for i := range 4 {
		batches = append(batches, batchAt(wire.Offset(2*i), wire.LeaderEpoch(i/2), 2, "value"))
	}
	prepare := func(fsys segment.FS) error { // a journal with batches that the segments have not got
		if err := fsys.MkdirAll("logs", 0o755); err != nil {
			return err
		}
		if _, err := segment.CreateLog(fsys, "logs/t-0", cfg, wire.TopicID{1}, 0); err != nil {
			return err
		}
		if err := fsys.SyncDir("/"); err != nil {
			return err
		}
		journalConfig.Salt++
		j, f, err := segment.OpenJournal(fsys, "journal-0", journalConfig, nil)
		if err != nil {
			return err
		}
		for _, b := range batches {
			plan, _ := j.PlanAppend([]segment.JournalEntry{journalled(b)})
			if _, err := f.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position)); err != nil {
				return err
			}
			j.Written(plan)
		}
		return f.Sync()
	}
	recover := func(fsys segment.FS) (*segment.Log, error) {
		log, _, err := segment.OpenLog(fsys, "logs/t-0", cfg, segment.OpenOptions{})
		if err != nil {
			return nil, err
		}
		journalConfig.Salt++
		_, _, err = segment.OpenJournal(fsys, "journal-0", journalConfig, func(jr *segment.JournalReader) error {
			r := log.Replay(fsys, 2000)
			for e, ok := jr.Next(); ok; e, ok = jr.Next() {
				if err := r.Append(e); err != nil {
					return err
				}
			}
			return r.Finish()
		})
		return log, err
	}
	ready := false
	run := func(fsys segment.FS) error {
		ready = false
		if err := prepare(fsys); err != nil {
			return err
		}
		ready = true
		_, err := recover(fsys)
		return err
	}
	segmenttest.CutEverywhere(t, 8, run, func(t *testing.T, fsys *segmenttest.FS, cut int) {
		if !ready {
			return
		}
		log, err := recover(fsys)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		again, report, err := segment.OpenLog(fsys.Crash(), "logs/t-0", cfg, segment.OpenOptions{RecoveryPoint: log.RecoveryPoint()})
		if err != nil || log.LogEndOffset() != 8 || again.LogEndOffset() != 8 || report.Damage != nil {
			t.Fatalf("cut at %d: the log ends at %d, and at %d after another cut: %+v %v",
				cut, log.LogEndOffset(), again.LogEndOffset(), report, err)
		}
	})
}
