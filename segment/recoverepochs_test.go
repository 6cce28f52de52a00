package segment_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// TestFlippedEpochIsMended: whatever bit of leader-epoch-checkpoint flips, the file is refused or the log has its own epochs again, in memory and in the
// file, after a clean stop and after another one, and wherever its start is.
func TestFlippedEpochIsMended(t *testing.T) {
	testFlippedEpoch(t, smallConfig(), "small")                             // read whole
	testFlippedEpoch(t, smallConfig(), strings.Repeat("v", 3000))           // looked at where reigns begin, each batch in a segment of its own
	testFlippedEpoch(t, segment.DefaultConfig(), strings.Repeat("v", 3000)) // and all in one
}

func testFlippedEpoch(t *testing.T, cfg segment.Config, value string) {
	const dir = "/logs/p-0"
	fsys := newLogsFS(t, 1)
	h, err := createHarness(fsys, dir, cfg)
	must(t, err)
	for i := range 60 {
		_, _, err := h.append(batchOf(wire.BatchHeader{}, value, 1000, 1001), wire.LeaderEpoch([]int{0, 3, 4, 14}[i/15]))
		must(t, err)
	}
	must(t, h.close())
	good := h.log.EpochCheckpoint()
	end := h.log.LogEndOffset()
	name := dir + "/" + segment.LeaderEpochCheckpoint
	mended := 0
	for _, start := range []wire.Offset{0, 7, 30, 61} {
		for at := range good {
			for bit := range 8 {
				bad := bytes.Clone(good)
				bad[at] ^= 1 << bit
				read, err := segment.ReadLeaderEpochCache(bad)
				if err != nil {
					continue
				}
				want, err := segment.ReadLeaderEpochCache(good)
				must(t, err)
				want.TruncateFromStart(start)
				for _, clean := range []bool{true, false} {
					must(t, fsys.WriteFileAtomic(name, bad))
					log, report, err := segment.OpenLog(fsys, dir, cfg, segment.OpenOptions{RecoveryPoint: end, LogStartOffset: start, Clean: clean})
					must(t, err)
					if got := log.EpochCheckpoint(); !bytes.Equal(got, want.AppendTo(nil)) {
						t.Errorf("start %d, clean %v: %q came to %q", start, clean, bad, got)
					}
					if read.TruncateFromStart(start); slices.Equal(read.Entries(), want.Entries()) {
						continue
					}
					mended++
					file, err := fsys.ReadFile(name)
					must(t, err)
					if !bytes.Equal(file, want.AppendTo(nil)) || !slices.Contains(report.RebuiltIndexes, segment.LeaderEpochCheckpoint) {
						t.Errorf("start %d, clean %v: %q left the file %q and said %v", start, clean, bad, file, report.RebuiltIndexes)
					}
				}
			}
		}
	}
	if mended < 100 {
		t.Errorf("only %d flips made another file that can be read", mended)
	}
}
