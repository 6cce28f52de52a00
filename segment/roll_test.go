package segment_test

import (
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// TestUndoneBytesDoNotOutliveARoll: a short write is undone, the next batch does not reach over what it left, and the segment is
// sealed: after a clean stop those bytes are not taken for batches.
func TestUndoneBytesDoNotOutliveARoll(t *testing.T) {
	fsys := newLogsFS(t, 1)
	h, err := createHarness(fsys, transcriptDir, smallConfig())
	must(t, err)
	big := batchOf(wire.BatchHeader{}, strings.Repeat("x", 500), 1)
	p := h.log.Append(big, 0, h.now)
	_, err = h.file.WriteAt(p.Bytes[:400], int64(p.Position))
	must(t, err)
	h.log.Undo(p)
	_, _, err = h.append(batchOf(wire.BatchHeader{}, "small", 1), 0)
	must(t, err)
	must(t, h.roll(false))
	must(t, h.close())
	l, _, err := segment.OpenLog(fsys, transcriptDir, smallConfig(), segment.OpenOptions{Clean: true, RecoveryPoint: 1})
	must(t, err)
	if got := l.Segments()[0].Size(); got != 73 {
		t.Errorf("the sealed segment has %d bytes", got)
	}
	verifyClean(t, fsys, transcriptDir, segment.VerifyOptions{Records: true})
}
