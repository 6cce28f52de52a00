package segment_test

import (
	"errors"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// FuzzTruncate opens a directory whose files are arbitrary, checks it and cuts it anywhere: no panic, no endless loop, an end at the cut
// or below it, and the same log after a power cut. What is appended then is there after the next start.
func FuzzTruncate(f *testing.F) {
	log0, index0, time0 := kafkaFile(f, "00000000000000000000.log"), kafkaFile(f, "00000000000000000000.index"), kafkaFile(f, "00000000000000000000.timeindex")
	log64, snapshot := kafkaFile(f, "00000000000000000064.log"), kafkaFile(f, "00000000000000000064.snapshot")
	f.Add(log0, index0, time0, log64, snapshot, []byte("0\n1\n0 0\n"), uint16(64), uint16(0), uint16(100))
	f.Add(log0, index0, time0, log64, snapshot, []byte("0\n2\n0 0\n1 90\n"), uint16(129), uint16(3), uint16(64))
	f.Add(log0[:500], index0, time0, log64[:100], snapshot[:20], []byte(nil), uint16(3), uint16(0), uint16(5))
	f.Add(log0, index0[8:], time0, log64, snapshot, []byte("0\n0\n"), uint16(100), uint16(20), uint16(10))
	f.Add(make([]byte, 4096), make([]byte, 80), make([]byte, 72), []byte(nil), []byte(nil), []byte("0\n0\n"), uint16(70), uint16(0), uint16(66))
	f.Fuzz(func(t *testing.T, log0, index0, time0, log64, snapshot, epochs []byte, point, start, to uint16) {
		fsys := newLogsFS(t, 1)
		must(t, fsys.MkdirAll("/logs/k-0", 0o755))
		must(t, fsys.SyncDir("/logs"))
		files := [...][]byte{log0, index0, time0, log64, snapshot, epochs}
		for i, name := range [...]string{
			"00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex",
			"00000000000000000064.log", "00000000000000000064.snapshot", segment.LeaderEpochCheckpoint,
		} {
			must(t, fsys.WriteFileAtomic("/logs/k-0/"+name, files[i]))
		}
		l, _, err := segment.OpenLog(fsys, "/logs/k-0", kafkaConfig(), segment.OpenOptions{
			RecoveryPoint: wire.Offset(point), LogStartOffset: wire.Offset(start),
		})
		if err != nil {
			return
		}
		h, err := attach(fsys, l)
		must(t, err)
		scrubAll(t, fsys, l)
		was := l.LogEndOffset()
		plan, ok := l.PlanTruncate(wire.Offset(to))
		if !ok {
			return
		}
		must(t, h.truncate(&plan))
		end := l.LogEndOffset()
		if end > min(wire.Offset(to), was) || l.LogStartOffset() > end || end < was && l.RecoveryPoint() != end || plan.RecoveryPoint() > end {
			t.Fatalf("cut at %d: %d to %d, recovery points %d and %d", to, l.LogStartOffset(), end, plan.RecoveryPoint(), l.RecoveryPoint())
		}
		drain(t, h)
		again, _, err := segment.OpenLog(fsys.Remains(), "/logs/k-0", kafkaConfig(), segment.OpenOptions{
			RecoveryPoint: plan.RecoveryPoint(), LogStartOffset: l.LogStartOffset(),
		})
		must(t, err)
		sameEpochs := string(again.EpochCheckpoint()) == string(l.EpochCheckpoint()) || l.LogStartOffset() == end // where records were
		// what is damaged and above the recovery point is a torn tail after a crash: a replica is to cut there anyway
		torn := l.Damage() != nil && again.LogEndOffset() <= end
		if !torn && (again.LogEndOffset() != end || !sameEpochs) {
			t.Fatalf("cut at %d, after a power cut at %d, epochs\n%s, want\n%s", end, again.LogEndOffset(), again.EpochCheckpoint(), l.EpochCheckpoint())
		}
		if _, _, err := h.append(batchOf(wire.BatchHeader{}, "after", 1), 1<<30); err != nil {
			t.Fatal(err)
		}
		must(t, h.close())
		again, rep, err := segment.OpenLog(fsys, "/logs/k-0", kafkaConfig(), segment.OpenOptions{RecoveryPoint: end + 1, Clean: true})
		must(t, err)
		if again.LogEndOffset() != end+1 {
			t.Fatalf("end %d, want %d, %+v", again.LogEndOffset(), end+1, rep)
		}
	})
}

// scrubAll checks all of a log.
func scrubAll(t *testing.T, fsys segment.FS, l *segment.Log) {
	t.Helper()
	for from := l.LogStartOffset(); ; {
		plan, ok := l.PlanScrub(from)
		if !ok {
			return
		}
		if plan.UpTo <= from {
			t.Fatalf("a scrub of %d to %d", from, plan.UpTo)
		}
		_, err := plan.Run(fsys, func(int) error { return nil })
		var damage *segment.CorruptionError
		if err != nil && !errors.As(err, &damage) && !errors.Is(err, segment.ErrOldFormat) {
			t.Fatal(err)
		}
		from = plan.UpTo
	}
}
