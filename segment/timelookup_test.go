package segment_test

import (
	"fmt"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// The answers were measured on Apache Kafka 4.1.1: batches {1000, 3000, 2000} and {2500}.
func TestTimeLookup(t *testing.T) {
	type answer struct {
		offset wire.Offset
		ts     wire.Timestamp
		found  bool
	}
	none := answer{-1, -1, false}
	for codec := wire.CompressionNone; codec <= wire.CompressionZstd; codec++ {
		h, err := createHarness(newLogsFS(t, 1), "/logs/t-0", smallConfig())
		must(t, err)
		for _, stamps := range [][]wire.Timestamp{{1000, 3000, 2000}, {2500}} {
			_, _, err := h.append(batchOf(wire.BatchHeader{Codec: codec}, "v", stamps...), 2)
			must(t, err)
		}
		for _, c := range []struct {
			ts    wire.Timestamp
			bound wire.Offset
			want  answer
		}{
			{0, 4, answer{0, 1000, true}}, {1000, 4, answer{0, 1000, true}}, {1001, 4, answer{1, 3000, true}},
			{2000, 4, answer{1, 3000, true}}, {2500, 4, answer{1, 3000, true}}, {3000, 4, answer{1, 3000, true}},
			{3001, 4, none}, {2000, 1, none}, {2000, 0, none}, {1000, 1, answer{0, 1000, true}},
		} {
			off, ts, epoch, found, err := h.log.PlanTimeLookup(c.ts, c.bound).Run(h.open)
			must(t, err)
			if got := (answer{off, ts, found}); got != c.want || found != (epoch == 2) {
				t.Errorf("%v, timestamp %d below offset %d: %+v epoch %d, want %+v", codec, c.ts, c.bound, got, epoch, c.want)
			}
		}
		h.log.AdvanceStart(2) // the record with the greatest timestamp is deleted
		off, ts, _, found, err := h.log.PlanTimeLookup(2000, 4).Run(h.open)
		must(t, err)
		if got, want := (answer{off, ts, found}), (answer{2, 2000, true}); got != want {
			t.Errorf("%v, from offset 2: %+v, want %+v", codec, got, want)
		}
	}
}

func TestMaxTimestamp(t *testing.T) {
	h, err := createHarness(newLogsFS(t, 1), "/logs/t-0", smallConfig())
	must(t, err)
	for _, step := range []struct {
		stamps []wire.Timestamp
		bound  wire.Offset
		want   string
	}{
		{[]wire.Timestamp{-1}, 1, "-1 -1 false"},
		{[]wire.Timestamp{1000, 3000, 2000}, 4, "2 3000 true"},
		{[]wire.Timestamp{2500, 3000}, 6, "2 3000 true"}, // the first of two
		{[]wire.Timestamp{3001}, 7, "6 3001 true"},
		{[]wire.Timestamp{9, 5}, 6, "-1 -1 false"}, // not visible yet
	} {
		_, _, err := h.append(batchOf(wire.BatchHeader{}, "v", step.stamps...), 0)
		must(t, err)
		off, ts, _, found, err := h.log.PlanMaxTimestamp(step.bound).Run(h.open)
		must(t, err)
		if got := fmt.Sprint(off, ts, found); got != step.want {
			t.Errorf("after %v below %d: %s, want %s", step.stamps, step.bound, got, step.want)
		}
	}
}

// With LogAppendTime a client's future timestamps count for nothing: not for lookups, not for rolls, not for retention.
func TestLogAppendTime(t *testing.T) {
	cfg := smallConfig()
	cfg.MessageTimestampType, cfg.SegmentMS, cfg.RetentionMS = wire.LogAppendTime, 1000, 5000
	h, err := createHarness(newLogsFS(t, 1), "/logs/t-0", cfg)
	must(t, err)
	const future = 99_000_000_000_000
	for i := range 4 {
		h.now = wire.Timestamp(10_000 + 600*i)
		b := batchOf(wire.BatchHeader{}, "v", future, future+5)
		if code := h.log.CheckTimestamp(b, h.now); code != wire.None {
			t.Fatal(code)
		}
		p, _, err := h.append(b, 0)
		must(t, err)
		if p.LogAppendTime != h.now || wire.RecordBatch(p.Bytes).MaxTimestamp() != h.now || wire.RecordBatch(p.Bytes).Check() != nil {
			t.Fatalf("append time %d, in the batch %d", p.LogAppendTime, wire.RecordBatch(p.Bytes).MaxTimestamp())
		}
	}
	if n := len(h.log.Segments()); n != 2 {
		t.Errorf("%d segments, want 2: a roll after 1000 ms of append time", n)
	}
	off, ts, _, _, err := h.log.PlanTimeLookup(10_001, 8).Run(h.open)
	must(t, err)
	if off != 2 || ts != 10_600 {
		t.Errorf("offset %d at %d, want 2 at 10600", off, ts)
	}
	if segs := h.log.PlanRetention(15_601, 8); len(segs) != 1 || segs[0].BaseOffset() != 0 {
		t.Errorf("%d segments to delete, want the first", len(segs))
	}
}
