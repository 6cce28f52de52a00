package segment_test

import (
	"errors"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// TestStartBeyondTheEnd: a log start offset above the log's end, after a clean stop, is a number that nobody wrote: the log is not deleted for it.
// After another stop the end may have been lost, with nothing above it that anybody may read.
func TestStartBeyondTheEnd(t *testing.T) {
	const dir = "/logs/p-0"
	fsys := newLogsFS(t, 1)
	h, err := createHarness(fsys, dir, smallConfig())
	must(t, err)
	for range 20 {
		_, _, err := h.append(batchOf(wire.BatchHeader{}, "v", 1000, 1001), 0)
		must(t, err)
	}
	must(t, h.close())
	end := h.log.LogEndOffset()
	opt := segment.OpenOptions{RecoveryPoint: end, LogStartOffset: end + 1, Clean: true}
	var bad *segment.CheckpointError
	if _, _, err := segment.OpenLog(fsys, dir, smallConfig(), opt); !errors.As(err, &bad) {
		t.Fatalf("after a clean stop: %v", err)
	}
	opt.LogStartOffset = end
	log, _, err := segment.OpenLog(fsys, dir, smallConfig(), opt)
	must(t, err)
	if len(log.Segments()) != len(h.log.Segments()) || log.LogStartOffset() != end {
		t.Errorf("%d segments from %d on, want %d and %d", len(log.Segments()), log.LogStartOffset(), len(h.log.Segments()), end)
	}
	opt.LogStartOffset, opt.Clean = end+1, false
	log, _, err = segment.OpenLog(fsys, dir, smallConfig(), opt)
	must(t, err)
	if log.LogStartOffset() != end+1 || log.LogEndOffset() != end+1 {
		t.Errorf("after another stop: %d to %d", log.LogStartOffset(), log.LogEndOffset())
	}
}
