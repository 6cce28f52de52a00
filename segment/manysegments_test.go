package segment_test

import (
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// TestManySegmentsKeepNoIndexes: however many segments a log has rolled, the indexes in memory are those of the last two.
func TestManySegmentsKeepNoIndexes(t *testing.T) {
	const segments, batches = 1000, 20
	cfg := segment.DefaultConfig()
	cfg.IndexIntervalBytes = 0 // every batch but the first has an entry
	h, err := createHarness(newLogsFS(t, 1), "/logs/m-0", cfg)
	must(t, err)
	for i := range segments {
		if i > 0 {
			must(t, h.roll(false))
		}
		for range batches {
			_, _, err := h.append(batchOf(wire.BatchHeader{}, "v", 1000), 0)
			must(t, err)
		}
		h.log.ReleaseBelow(h.log.LogEndOffset())
	}
	must(t, h.flush())
	if n := len(h.log.Segments()); n != segments {
		t.Fatalf("%d segments", n)
	}
	const entry, recent = 8, 16 * 256 // an index entry, the ring of recent batches
	if held, most := h.log.ReleaseMemory(), 2*batches*entry+recent; held == 0 || held > most {
		t.Errorf("%d bytes of indexes and positions are in memory, at most %d should be", held, most)
	}
	h.fs.(*segmenttest.FS).Kill()
	l, _, err := segment.OpenLog(h.fs, "/logs/m-0", cfg, segment.OpenOptions{RecoveryPoint: h.log.RecoveryPoint()})
	must(t, err)
	if held := l.ReleaseMemory(); held != 0 {
		t.Errorf("%d bytes are in memory after it was opened", held)
	}
}

// TestBlockedByFuture: a record of another time to come keeps its segment, and those after it, from being deleted by age; the log says so.
func TestBlockedByFuture(t *testing.T) {
	cfg := smallConfig()
	cfg.RetentionMS = 1000
	h, err := createHarness(newLogsFS(t, 1), "/logs/f-0", cfg)
	must(t, err)
	const tenYears = 10 * 365 * 24 * 3600 * 1000
	for _, at := range []wire.Timestamp{5000, tenYears, 5000} {
		_, _, err := h.append(batchOf(wire.BatchHeader{}, "v", at), 0)
		must(t, err)
		must(t, h.roll(false))
	}
	end := h.log.LogEndOffset()
	if s := h.log.BlockedByFuture(5000); s != nil {
		t.Errorf("a segment of now is of the future: %d", s.BaseOffset())
	}
	old := h.log.PlanRetention(10_000, end)
	if len(old) != 1 {
		t.Fatalf("%d segments are old", len(old))
	}
	h.log.DropSegments(old)
	if s := h.log.BlockedByFuture(10_000); s == nil || s.BaseOffset() != 1 || len(h.log.PlanRetention(10_000, end)) != 0 {
		t.Errorf("blocked by %v", s)
	}
	if h.log.BlockedByFuture(tenYears) != nil || len(h.log.PlanRetention(tenYears+1001, end)) != 2 {
		t.Error("still blocked when the time has come")
	}
	cfg.RetentionMS = -1
	h.log.SetConfig(cfg)
	if h.log.BlockedByFuture(10_000) != nil {
		t.Error("blocked without a bound on age")
	}
}
