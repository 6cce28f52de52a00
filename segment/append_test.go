package segment_test

import (
	"math"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func TestCheckTimestamp(t *testing.T) {
	cfg := smallConfig()
	cfg.TimestampBeforeMaxMS, cfg.TimestampAfterMaxMS = 1000, 500
	h, err := createHarness(newLogsFS(t, 1), "/logs/t-0", cfg)
	must(t, err)
	for _, c := range []struct {
		stamps []wire.Timestamp
		want   wire.ErrorCode
	}{
		{[]wire.Timestamp{10_000}, wire.None}, {[]wire.Timestamp{9_000, 10_500}, wire.None}, {[]wire.Timestamp{-1}, wire.None},
		{[]wire.Timestamp{8_999}, wire.InvalidTimestamp}, {[]wire.Timestamp{10_000, 10_501}, wire.InvalidTimestamp},
	} {
		if got := h.log.CheckTimestamp(batchOf(wire.BatchHeader{}, "v", c.stamps...), 10_000); got != c.want {
			t.Errorf("%v: %v, want %v", c.stamps, got, c.want)
		}
	}
}

func TestTimestampBounds(t *testing.T) {
	cfg := smallConfig()
	cfg.TimestampBeforeMaxMS, cfg.TimestampAfterMaxMS = 1000, 500
	h, err := createHarness(newLogsFS(t, 1), "/logs/t-0", cfg)
	must(t, err)
	if earliest, latest := h.log.TimestampBounds(10_000); earliest != 9_000 || latest != 10_500 {
		t.Errorf("[%d, %d]", earliest, latest)
	}
	cfg.TimestampBeforeMaxMS, cfg.TimestampAfterMaxMS = math.MaxInt64, math.MaxInt64
	h.log.SetConfig(cfg)
	if earliest, latest := h.log.TimestampBounds(10_000); earliest >= 0 || latest != math.MaxInt64 {
		t.Errorf("without bounds: [%d, %d]", earliest, latest)
	}
}

func TestCheckSize(t *testing.T) {
	h, err := createHarness(newLogsFS(t, 1), "/logs/t-0", smallConfig()) // segments of 1000 bytes
	must(t, err)
	for _, c := range []struct {
		size int
		want wire.ErrorCode
	}{{1000, wire.None}, {1001, wire.RecordListTooLarge}} {
		if got := h.log.CheckSize(make(wire.RecordBatch, c.size)); got != c.want {
			t.Errorf("%d bytes: %v, want %v", c.size, got, c.want)
		}
	}
}
