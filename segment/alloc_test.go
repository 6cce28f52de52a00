package segment_test

import (
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// steadyLog is a log with some batches in it, and the batch to append again and again.
func steadyLog(t testing.TB) (*segment.Log, wire.RecordBatch) {
	t.Helper()
	l, err := segment.CreateLog(newLogsFS(t, 1), "/logs/a-0", segment.DefaultConfig(), wire.TopicID{1}, 0)
	must(t, err)
	b := batchOf(wire.BatchHeader{Idempotent: true, ProducerID: 1}, "some log line of an ordinary length, as agents send them", 1, 2, 3)
	for range 1000 {
		l.Append(b, 1, 5)
		l.ReleaseBelow(l.LogEndOffset())
	}
	return l, b
}

// TestHotPathAllocatesNothing: in steady state neither an append nor a fetch plan makes garbage.
func TestHotPathAllocatesNothing(t *testing.T) {
	l, b := steadyLog(t)
	if n := testing.AllocsPerRun(1000, func() {
		if l.NeedsRoll(b, 5) || l.CheckProducer(b).Code != wire.None {
			return
		}
		l.Append(b, 1, 5)
		l.ReleaseBelow(l.LogEndOffset())
	}); n != 0 {
		t.Errorf("append: %v allocations", n)
	}
	end := l.LogEndOffset()
	if n := testing.AllocsPerRun(1000, func() { l.PlanFetch(end-9, end) }); n != 0 {
		t.Errorf("recent fetch: %v allocations", n)
	}
	if n := testing.AllocsPerRun(1000, func() { l.PlanFetch(30, end) }); n != 0 {
		t.Errorf("indexed fetch: %v allocations", n)
	}
}

// TestIdleLogIsSmall: 100,000 idle partitions must fit in a node, so one that was written to and opened again takes less than
// 2 KB, whatever its size.
func TestIdleLogIsSmall(t *testing.T) {
	const logs = 500
	fsys := newLogsFS(t, 1)
	cfg := smallConfig()
	cfg.SegmentBytes = 100_000
	for i := range logs {
		h, err := createHarness(fsys, "/logs/t-"+strconv.Itoa(i), cfg)
		must(t, err)
		for range 30 {
			_, _, err := h.append(batchOf(wire.BatchHeader{}, "value", 1000), 0)
			must(t, err)
		}
		must(t, h.close())
	}
	before := heap()
	var opened []*segment.Log
	for i := range logs {
		l, _, err := segment.OpenLog(fsys, "/logs/t-"+strconv.Itoa(i), cfg, segment.OpenOptions{Clean: true, RecoveryPoint: 30})
		must(t, err)
		opened = append(opened, l)
	}
	each := (heap() - before) / logs
	t.Logf("%d bytes a log; Log %d, Segment %d, AppendPlan %d, FetchPlan %d", each, unsafe.Sizeof(segment.Log{}),
		unsafe.Sizeof(segment.Segment{}), unsafe.Sizeof(segment.AppendPlan{}), unsafe.Sizeof(segment.FetchPlan{}))
	if each > 2048 {
		t.Errorf("%d bytes an idle log", each)
	}
	runtime.KeepAlive(opened)
	runtime.KeepAlive(fsys)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkAppend(b *testing.B) {
	l, batch := steadyLog(b)
	b.ReportAllocs()
	for b.Loop() {
		if l.NeedsRoll(batch, 5) {
			l, batch = steadyLog(b)
		}
		l.CheckProducer(batch)
		l.Append(batch, 1, 5)
		l.ReleaseBelow(l.LogEndOffset())
	}
}

func BenchmarkPlanFetch(b *testing.B) {
	l, _ := steadyLog(b)
	end := l.LogEndOffset()
	for name, from := range map[string]wire.Offset{"recent": end - 20, "indexed": 30} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.PlanFetch(from, end)
			}
		})
	}
}
