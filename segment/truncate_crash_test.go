package segment_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// truncation is a follower's log that is cut at off, or emptied so that it begins there, and then goes on with what the leader sends.
type truncation struct {
	off   wire.Offset
	fully bool
	known bool             // the log is replicated: its producers are known without reading it
	next  wire.LeaderEpoch // of what the leader sends

	phase   truncationPhase
	flushed wire.Offset // what is on disk before the cut
	before  string      // what is visible before it
	after   string      // after it
	sent    string      // after it and all that the leader sends
	point   wire.Offset // what the checkpoint files have
	start   wire.Offset
}

type truncationPhase int

const (
	filling truncationPhase = iota
	cutting
	goingOn
	synced
)

const truncationDir = "/logs/t-0"

func truncationConfig() segment.Config {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 700, 120
	return cfg
}

// fill makes a log of thirty batches under four epochs, the last ten of which are not on disk.
func (c *truncation) fill(fsys segment.FS) (*harness, error) {
	*c = truncation{off: c.off, fully: c.fully, known: c.known, next: c.next}
	if err := errors.Join(fsys.MkdirAll("/logs", 0o755), fsys.SyncDir("/")); err != nil {
		return nil, err
	}
	h, err := createHarness(fsys, truncationDir, truncationConfig())
	if err != nil {
		return nil, err
	}
	h.log.SetReplicated(c.known)
	for i := range 30 {
		if _, v, err := h.append(crashBatch(i), wire.LeaderEpoch(i/8)); err != nil || v != (segment.Verdict{}) {
			return nil, errors.Join(err, verdictError(v))
		}
		if i == 19 {
			if err := h.flush(); err != nil {
				return nil, err
			}
			c.flushed = h.log.LogEndOffset()
		}
	}
	c.before, err = h.visible()
	return h, err
}

func (c *truncation) plan(h *harness) (segment.TruncatePlan, bool) {
	if c.fully {
		return h.log.PlanTruncateFully(c.off), true
	}
	return h.log.PlanTruncate(c.off)
}

func (c *truncation) run(fsys segment.FS) error {
	h, err := c.fill(fsys)
	if err != nil {
		return err
	}
	plan, _ := c.plan(h)
	if c.start = h.log.LogStartOffset(); c.start <= h.log.Segments()[0].BaseOffset() {
		c.start = 0 // a node writes no more than it must
	}
	c.phase, c.point = cutting, plan.RecoveryPoint()
	if err := h.truncate(&plan); err != nil {
		return err
	}
	if c.after, err = h.visible(); err != nil {
		return err
	}
	c.phase = goingOn
	if c.sent, err = c.goOn(h); err != nil {
		return err
	}
	if err := h.flush(); err != nil {
		return err
	}
	c.phase = synced
	return nil
}

// goOn appends what the leader sends: more than a segment.
func (c *truncation) goOn(h *harness) (string, error) {
	for range 8 {
		if _, _, err := h.append(batchOf(wire.BatchHeader{}, "next", 1003), c.next); err != nil {
			return "", err
		}
	}
	return h.visible()
}

func (c *truncation) check(t *testing.T, fsys *segmenttest.FS, cut int) {
	t.Helper()
	if c.phase == filling {
		return
	}
	l, rep, err := segment.OpenLog(fsys, truncationDir, truncationConfig(), segment.OpenOptions{RecoveryPoint: c.point, LogStartOffset: c.start})
	if err != nil || rep.Damage != nil {
		t.Fatalf("cut at %d: %v, %+v", cut, err, rep)
	}
	h, err := attach(fsys, l)
	must(t, err)
	got, err := h.visible()
	must(t, err)
	if !c.allowed(got, l.LogStartOffset()) {
		t.Fatalf("cut at %d, in phase %d, the log is from %d:\n%s", cut, c.phase, l.LogStartOffset(), got)
	}
	if got != "" { // else an epoch may have its end at the log's start
		checkEpochs(t, l, got)
	}
	if c.phase == cutting {
		c.again(t, h, got)
	}
}

// allowed: the log before the cut, or cut anywhere from the cut on; after the cut what the leader sent, in order.
func (c *truncation) allowed(got string, start wire.Offset) bool {
	switch {
	case c.phase == cutting && c.fully:
		return strings.HasPrefix(c.before[len(upTo(c.before, start)):], got)
	case c.phase == cutting:
		return strings.HasPrefix(c.before, got) && strings.HasPrefix(got, upTo(c.before, min(c.flushed, c.off-2))) // a batch has three records
	case c.phase == goingOn:
		return strings.HasPrefix(got, c.after) && (c.sent == "" || strings.HasPrefix(c.sent, got))
	}
	return got == c.sent
}

// upTo are the lines of records below an offset.
func upTo(visible string, end wire.Offset) string {
	length := 0
	for line := range strings.Lines(visible) {
		number, _, _ := strings.Cut(line, "/")
		if off, err := strconv.Atoi(number); err != nil || wire.Offset(off) >= end {
			break
		}
		length += len(line)
	}
	return visible[:length]
}

// checkEpochs: the epoch cache is that of the records.
func checkEpochs(t *testing.T, l *segment.Log, visible string) {
	t.Helper()
	var want segment.LeaderEpochCache
	for line := range strings.Lines(visible) {
		var off, epoch int64
		if _, err := fmt.Sscanf(line, "%d/%d@", &off, &epoch); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want.Assign(wire.LeaderEpoch(epoch), wire.Offset(off))
	}
	if got := string(l.EpochCheckpoint()); got != string(want.AppendTo(nil)) {
		t.Fatalf("epochs\n%s, want\n%s of\n%s", got, want.AppendTo(nil), visible)
	}
}

// again: the follower finds out again that the log is to be cut.
func (c *truncation) again(t *testing.T, h *harness, got string) {
	t.Helper()
	if plan, ok := c.plan(h); ok {
		must(t, h.truncate(&plan))
	}
	after, err := h.visible()
	must(t, err)
	if !strings.HasPrefix(got, after) || wire.Offset(strings.Count(after, "\n")) > c.off {
		t.Fatalf("cut again at %d:\n%s", c.off, after)
	}
	if _, err := c.goOn(h); err != nil {
		t.Fatal(err)
	}
}

var truncations = map[string]*truncation{
	"in the active segment": {off: 56, next: 4, known: true},
	"in a sealed segment":   {off: 25, next: 4},
	"in a batch":            {off: 28, next: 5, known: true},
	"all but a batch":       {off: 1, next: 9},
	"to an earlier epoch":   {off: 12, next: 1, known: true},
	"all":                   {off: 0, next: 0, fully: true},
	"to a later start":      {off: 1000, next: 7, fully: true},
	"to a start within":     {off: 30, next: 7, fully: true},
}

// TestTruncateCutEverywhere cuts the power at every operation of truncations and of what comes after them.
func TestTruncateCutEverywhere(t *testing.T) {
	outcomes := 2
	if testing.Short() {
		outcomes = 1
	}
	for name, c := range truncations {
		t.Run(name, func(t *testing.T) { segmenttest.CutEverywhere(t, outcomes, c.run, c.check) })
	}
}

// TestTruncateAgainAfterFault fails each operation of a cut in turn: it says so, and may be run again.
func TestTruncateAgainAfterFault(t *testing.T) {
	for name, c := range truncations {
		t.Run(name, func(t *testing.T) {
			whole := segmenttest.New(1)
			must(t, c.run(whole))
			want := c.after
			for n := 0; ; n++ {
				fsys := segmenttest.New(1)
				h, err := c.fill(fsys)
				must(t, err)
				plan, _ := c.plan(h)
				seen, failed := 0, false
				fsys.Inject(func(op segmenttest.Op) (int, error) {
					if seen++; seen != n+1 {
						return 0, nil
					}
					failed = true
					return op.Len / 2, syscall.ENOSPC
				})
				_, err = plan.Run(fsys)
				if failed != errors.Is(err, syscall.ENOSPC) && err != nil {
					t.Fatalf("operation %d: %v", n, err)
				}
				fsys.Inject(nil)
				must(t, h.truncate(&plan))
				if got, err := h.visible(); err != nil || got != want {
					t.Fatalf("operation %d failed, run again:\n%s (%v), want\n%s", n, got, err, want)
				}
				if !failed {
					return
				}
			}
		})
	}
}
