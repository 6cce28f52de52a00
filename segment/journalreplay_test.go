package segment_test

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
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
	return segment.JournalEntry{TopicID: wire.TopicID{1}, BaseOffset: b.BaseOffset(), LeaderEpoch: b.PartitionLeaderEpoch(), Batch: b}
}

func newLog(t *testing.T, fsys segment.FS, cfg segment.Config) *segment.Log {
	t.Helper()
	log, err := segment.CreateLog(fsys, "logs/t-0", cfg, wire.TopicID{1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// journalOf makes a journal on fsys that holds the entries.
func journalOf(fsys segment.FS, cfg segment.JournalConfig, entries ...segment.JournalEntry) error {
	j, f, err := segment.OpenJournal(fsys, "journal-0", cfg, nil)
	if err != nil {
		return err
	}
	for _, e := range entries {
		plan, _ := j.PlanAppend([]segment.JournalEntry{e})
		if _, err := f.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position)); err != nil {
			return err
		}
		j.Written(plan)
	}
	return f.Sync()
}

// replay opens the journal and replays it into log.
func replay(fsys segment.FS, cfg segment.JournalConfig, log *segment.Log) (report segment.JournalReplayReport, err error) {
	_, _, err = segment.OpenJournal(fsys, "journal-0", cfg, func(jr *segment.JournalReader) error {
		var err error
		report, err = segment.ReplayJournal(fsys, jr, 2000, func(id wire.TopicID, p wire.PartitionIndex) *segment.Log {
			if id != log.TopicID() || p != 0 {
				return nil
			}
			return log
		}, flushAll(fsys))
		return err
	})
	return report, err
}

// flushAll runs plans one after the other.
func flushAll(fsys segment.FS) func([]segment.FlushPlan) error {
	return func(plans []segment.FlushPlan) error {
		for i := range plans {
			if err := plans[i].Run(fsys); err != nil {
				return err
			}
		}
		return nil
	}
}

func newFS(t *testing.T) *segmenttest.FS {
	fsys := segmenttest.New(1)
	if err := fsys.MkdirAll("logs", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	return fsys
}

var smallJournal = segment.JournalConfig{TrackBytes: 8192, Bytes: 16384, Salt: 1}

func TestReplayAppendsWhatTheLogLacks(t *testing.T) {
	fsys := newFS(t)
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes = 300 // so that the replay rolls
	log := newLog(t, fsys, cfg)
	var want []byte
	entries := []segment.JournalEntry{{TopicID: wire.TopicID{9}, Batch: batchAt(0, 0, 1, "deleted")}}
	for i, epoch := range []wire.LeaderEpoch{0, 0, 1, 1, 4} {
		b := batchAt(wire.Offset(3*i), epoch, 3, "value")
		want = append(want, b...)
		entries = append(entries, journalled(b), journalled(b)) // the second time it is skipped
	}
	if err := journalOf(fsys, smallJournal, entries...); err != nil {
		t.Fatal(err)
	}
	report, err := replay(fsys, smallJournal, log)
	if want := (segment.JournalReplayReport{Entries: 11, Replayed: 5, Orphans: 1, Logs: 1}); err != nil || report != want {
		t.Fatalf("report %+v (%v), want %+v", report, err, want)
	}
	if log.LogEndOffset() != 15 || log.RecoveryPoint() != 15 || len(log.Segments()) < 2 {
		t.Fatalf("log ends at %d, is synced to %d, has %d segments", log.LogEndOffset(), log.RecoveryPoint(), len(log.Segments()))
	}
	left := fsys.Crash()
	again, recovery, err := segment.OpenLog(left, "logs/t-0", cfg, segment.OpenOptions{RecoveryPoint: 15})
	if err != nil || recovery.Damage != nil || recovery.TruncatedBytes != 0 || again.LogEndOffset() != 15 {
		t.Fatalf("after a power cut: %+v, %v", recovery, err)
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
	good := func() segment.JournalEntry { return journalled(batchAt(3, 0, 1, "x")) }
	for name, test := range map[string]struct {
		change func(e *segment.JournalEntry)
		target any
	}{
		"gap":          {func(e *segment.JournalEntry) { *e = journalled(batchAt(4, 0, 1, "x")) }, new(*segment.CorruptionError)},
		"straddling":   {func(e *segment.JournalEntry) { *e = journalled(batchAt(2, 0, 2, "x")) }, new(*segment.CorruptionError)},
		"other offset": {func(e *segment.JournalEntry) { e.BaseOffset = 2 }, new(*segment.ReplayError)},
		"other epoch":  {func(e *segment.JournalEntry) { e.LeaderEpoch++ }, new(*segment.ReplayError)},
		"damaged":      {func(e *segment.JournalEntry) { e.Batch[len(e.Batch)-1] ^= 1 }, new(*segment.ReplayError)},
		"short":        {func(e *segment.JournalEntry) { e.Batch = e.Batch[:20] }, new(*segment.ReplayError)},
		"empty":        {func(e *segment.JournalEntry) { e.Batch = nil }, new(*segment.ReplayError)},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := newFS(t)
			log := newLog(t, fsys, segment.DefaultConfig())
			bad := good()
			test.change(&bad)
			if err := journalOf(fsys, smallJournal, journalled(batchAt(0, 0, 3, "x")), bad, good()); err != nil {
				t.Fatal(err)
			}
			if _, err := replay(fsys, smallJournal, log); !errors.As(err, test.target) {
				t.Fatalf("replay: %v", err)
			}
			if log.LogEndOffset() != 3 {
				t.Fatalf("the log ends at %d", log.LogEndOffset())
			}
		})
	}
}

// TestReplayMakesDurableWhatItSkips: after kill -9 the segments have the batches, but only in the page cache.
func TestReplayMakesDurableWhatItSkips(t *testing.T) {
	fsys := newFS(t)
	log := newLog(t, fsys, segment.DefaultConfig())
	b := batchAt(0, 0, 3, "x")
	plan := log.AppendReplicated(b, 1000)
	f, err := fsys.OpenFile(log.ActiveSegment().LogName(), segment.ReadWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(plan.Bytes, int64(plan.Position)); err != nil {
		t.Fatal(err)
	}
	if err := journalOf(fsys, smallJournal, journalled(b)); err != nil {
		t.Fatal(err)
	}
	fsys.Kill()
	log, _, err = segment.OpenLog(fsys, "logs/t-0", segment.DefaultConfig(), segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := replay(fsys, smallJournal, log); err != nil || report.Replayed != 0 || report.Logs != 1 {
		t.Fatalf("replay: %+v %v", report, err)
	}
	for range 20 {
		again, _, err := segment.OpenLog(fsys.Remains(), "logs/t-0", segment.DefaultConfig(), segment.OpenOptions{})
		if err != nil || again.LogEndOffset() != 3 {
			t.Fatalf("after a power cut the log ends at %d (%v)", again.LogEndOffset(), err)
		}
	}
}

// TestReplayCutEverywhere: however often recovery itself is cut, the next one has all entries.
func TestReplayCutEverywhere(t *testing.T) {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes = 200
	journalConfig := smallJournal
	var entries []segment.JournalEntry
	for i := range 4 {
		entries = append(entries, journalled(batchAt(wire.Offset(2*i), wire.LeaderEpoch(i/2), 2, "value")))
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
		return journalOf(fsys, journalConfig, entries...)
	}
	recover := func(fsys segment.FS) (*segment.Log, error) {
		log, _, err := segment.OpenLog(fsys, "logs/t-0", cfg, segment.OpenOptions{})
		if err != nil {
			return nil, err
		}
		journalConfig.Salt++
		_, err = replay(fsys, journalConfig, log)
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

// TestReplayPassesEveryFaultOn fails each operation of journal and replay in turn: none may go unnoticed, since the next thing
// that happens is that the entries are void.
func TestReplayPassesEveryFaultOn(t *testing.T) {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes = 200
	prepare := func() (*segmenttest.FS, *segment.Log) {
		fsys := newFS(t)
		log := newLog(t, fsys, cfg)
		var entries []segment.JournalEntry
		for i := range 4 {
			entries = append(entries, journalled(batchAt(wire.Offset(2*i), wire.LeaderEpoch(i/2), 2, "value")))
		}
		if err := journalOf(fsys, smallJournal, entries...); err != nil {
			t.Fatal(err)
		}
		return fsys, log
	}
	for n := 0; ; n++ {
		fsys, log := prepare()
		var failed *segmenttest.Op
		seen := 0
		fsys.Inject(func(op segmenttest.Op) (int, error) {
			if seen++; seen != n+1 {
				return 0, nil
			}
			failed = &op
			return op.Len / 2, syscall.EIO
		})
		_, err := replay(fsys, smallJournal, log)
		if failed == nil {
			if err != nil || n < 20 {
				t.Fatalf("%d operations, %v", n, err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("operation %d, %+v, failed: %v", n, *failed, err)
		}
	}
}

// TestReplayRefusesEarlierEpochs: what a log went on without does not come back behind what it went on with.
func TestReplayRefusesEarlierEpochs(t *testing.T) {
	fsys := newFS(t)
	log := newLog(t, fsys, segment.DefaultConfig())
	err := journalOf(fsys, smallJournal, journalled(batchAt(0, 5, 3, "x")), journalled(batchAt(3, 4, 1, "old")), journalled(batchAt(3, 5, 1, "x")),
		journalled(batchAt(4, 4, 3, "old")))
	if err != nil {
		t.Fatal(err)
	}
	report, err := replay(fsys, smallJournal, log)
	if want := (segment.JournalReplayReport{Entries: 4, Replayed: 2, Refused: 2, Logs: 1}); err != nil || report != want {
		t.Fatalf("report %+v (%v), want %+v", report, err, want)
	}
	if log.LogEndOffset() != 4 {
		t.Fatalf("the log ends at %d", log.LogEndOffset())
	}
}

// TestReplayLeavesVoidEntriesOut: a log that was cut and not appended to since has not the entries that are void.
func TestReplayLeavesVoidEntriesOut(t *testing.T) {
	fsys := newFS(t)
	log := newLog(t, fsys, segment.DefaultConfig())
	cfg := smallJournal
	cfg.Truncations = true
	err := journalOf(fsys, cfg, journalled(batchAt(0, 1, 3, "x")), journalled(batchAt(3, 1, 3, "cut")), journalled(batchAt(9, 1, 3, "cut")),
		segment.JournalTruncation(log.TopicID(), 0, 5), journalled(batchAt(3, 1, 2, "x")))
	if err != nil {
		t.Fatal(err)
	}
	report, err := replay(fsys, cfg, log)
	if want := (segment.JournalReplayReport{Entries: 5, Replayed: 2, Void: 3, Logs: 1}); err != nil || report != want {
		t.Fatalf("report %+v (%v), want %+v", report, err, want)
	}
	if log.LogEndOffset() != 5 {
		t.Fatalf("the log ends at %d", log.LogEndOffset())
	}
}

// TestEpochsAreCutDurably: a crash in a truncation may leave epochs of what is cut in their file. They are gone before the log goes
// on, since a later crash could not tell them from those of what is appended.
func TestEpochsAreCutDurably(t *testing.T) {
	fsys := newFS(t)
	log := newLog(t, fsys, segment.DefaultConfig())
	log.AssignEpoch(7, 0)
	if err := fsys.WriteFileAtomic("logs/t-0/"+segment.LeaderEpochCheckpoint, log.EpochCheckpoint()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is a batch
		fsys = fsys.Crash()
		var err error
		if log, _, err = segment.OpenLog(fsys, "logs/t-0", segment.DefaultConfig(), segment.OpenOptions{}); err != nil {
			t.Fatal(err)
		}
		if log.LogEndOffset() > 0 {
			break
		}
		if _, err := log.Replay(fsys, journalled(batchAt(0, 3, 1, "x")), 1000); err != nil {
			t.Fatal(err)
		}
		f, err := fsys.OpenFile(log.ActiveSegment().LogName(), segment.ReadWrite, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.LatestEpoch(); got != 3 {
		t.Fatalf("epoch %d, the batch has 3", got)
	}
}

// TestReplayLeavesReplicasBehind: where other replicas have the log, batches that are missing before one of the journal's are fetched
// again, and nothing is taken behind them. The node starts.
func TestReplayLeavesReplicasBehind(t *testing.T) {
	for name, bad := range map[string]wire.RecordBatch{"gap": batchAt(4, 0, 1, "x"), "straddling": batchAt(2, 0, 2, "x")} {
		t.Run(name, func(t *testing.T) {
			fsys := newFS(t)
			newLog(t, fsys, segment.DefaultConfig())
			log, _, err := segment.OpenLog(fsys, "logs/t-0", segment.DefaultConfig(), segment.OpenOptions{Replicated: true})
			if err != nil {
				t.Fatal(err)
			}
			err = journalOf(fsys, smallJournal, journalled(batchAt(0, 0, 3, "x")), journalled(bad), journalled(batchAt(3, 0, 9, "x")))
			if err != nil {
				t.Fatal(err)
			}
			report, err := replay(fsys, smallJournal, log)
			if want := (segment.JournalReplayReport{Entries: 3, Replayed: 1, Behind: 2, Logs: 1}); err != nil || report != want {
				t.Fatalf("report %+v (%v), want %+v", report, err, want)
			}
			if d := log.Damage(); d == nil || d.Offset != 3 || log.LogEndOffset() != 3 {
				t.Fatalf("the log ends at %d, damage %v", log.LogEndOffset(), d)
			}
			if _, ok := log.PlanTruncate(log.Damage().Offset); ok || log.Damage() != nil {
				t.Fatalf("something to cut %v, damage %v", ok, log.Damage())
			}
		})
	}
}

// TestDamageIsCutOff: of a replica that a start finds damaged, or shorter than its recovery point, what is cut there is a good log.
func TestDamageIsCutOff(t *testing.T) {
	for name, damage := range map[string]func(*segmenttest.FS) error{
		"a bit":          func(f *segmenttest.FS) error { return f.Damage("logs/t-0/00000000000000000000.log", 250, 4) },
		"the end":        func(f *segmenttest.FS) error { return cutFile(f, "logs/t-0/00000000000000000000.log", 200) },
		"a whole .log":   func(f *segmenttest.FS) error { return f.Remove("logs/t-0/00000000000000000000.log") },
		"more than half": func(f *segmenttest.FS) error { return cutFile(f, "logs/t-0/00000000000000000000.log", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			fsys := newFS(t)
			log := newLog(t, fsys, segment.DefaultConfig())
			for i := range 6 {
				if _, err := log.Replay(fsys, journalled(batchAt(wire.Offset(2*i), wire.LeaderEpoch(i), 2, "x")), 1000); err != nil {
					t.Fatal(err)
				}
			}
			if err := flushAll(fsys)([]segment.FlushPlan{log.PlanFlush()}); err != nil {
				t.Fatal(err)
			}
			fsys = fsys.Crash()
			if err := damage(fsys); err != nil {
				t.Fatal(err)
			}
			opt := segment.OpenOptions{RecoveryPoint: 12, Replicated: true}
			log, report, err := segment.OpenLog(fsys, "logs/t-0", segment.DefaultConfig(), opt)
			if err != nil || report.Damage == nil || log.Damage() != report.Damage {
				t.Fatalf("%v, %+v", err, report)
			}
			at := log.Damage().Offset
			plan, ok := log.PlanTruncate(at)
			if !ok {
				t.Fatal("nothing to cut")
			}
			f, err := plan.Run(fsys)
			if err != nil || f.Close() != nil {
				t.Fatal(err)
			}
			if log.Truncated(plan); log.Damage() != nil || log.LogEndOffset() != at || log.RecoveryPoint() != at {
				t.Fatalf("cut at %d the log ends at %d, recovery point %d, damage %v", at, log.LogEndOffset(), log.RecoveryPoint(), log.Damage())
			}
			verifyClean(t, fsys, "logs/t-0", segment.VerifyOptions{Records: true})
			again, report, err := segment.OpenLog(fsys.Crash(), "logs/t-0", segment.DefaultConfig(), segment.OpenOptions{RecoveryPoint: at})
			if err != nil || report.Damage != nil || again.LogEndOffset() != at || again.LatestEpoch() != log.LatestEpoch() {
				t.Fatalf("%v, %+v", err, report)
			}
		})
	}
}

func cutFile(fsys *segmenttest.FS, name string, size int64) error {
	f, err := fsys.OpenFile(name, segment.ReadWrite, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}
