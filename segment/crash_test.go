package segment_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// crashRun is a log's life that is cut at every operation: what it has promised so far, and all that it would ever hold.
type crashRun struct {
	cfg      segment.Config
	syncRoll bool // rolls sync, and the caller's syncs of the .log alone raise the recovery point
	logSyncs bool // rolls don't sync, and syncs of .log files and names raise the recovery point, with a flush now and then
	created  bool
	promised wire.Offset // synced: must be there after a crash
	start    wire.Offset // the log may begin here at most
	records  map[wire.Offset]string
}

const crashDir = "/logs/c-0"

// run appends forty batches of one to three records, flushes now and then, deletes old segments twice, and stops cleanly.
func (c *crashRun) run(fsys segment.FS) error {
	c.created, c.promised, c.start = false, 0, 0
	c.records = make(map[wire.Offset]string)
	if err := errors.Join(fsys.MkdirAll("/logs", 0o755), fsys.SyncDir("/")); err != nil {
		return err
	}
	h, err := createHarness(fsys, crashDir, c.cfg)
	if err != nil {
		return err
	}
	c.created = true
	for i := range 40 {
		if err := c.step(h, i); err != nil {
			return err
		}
	}
	if err := h.close(); err != nil {
		return err
	}
	c.promised = h.log.LogEndOffset()
	return nil
}

func (c *crashRun) step(h *harness, i int) error {
	b := crashBatch(i)
	if c.syncRoll && h.log.NeedsRoll(b, h.now) {
		if err := h.roll(true); err != nil {
			return err
		}
	}
	p := h.log.LogEndOffset()
	for n := range int(b.RecordCount()) {
		c.records[p+wire.Offset(n)] = fmt.Sprintf("%d/%d@%d=batch %d", int(p)+n, i/15, 1000+i*7%5, i)
	}
	if _, v, err := h.append(b, wire.LeaderEpoch(i/15)); err != nil || v != (segment.Verdict{}) {
		return errors.Join(err, verdictError(v))
	}
	switch {
	case c.logSyncs && i%13 != 12:
		if i%3 == 2 {
			return c.logSync(h)
		}
	case !c.syncRoll && (i%7 == 6 || c.logSyncs):
		if err := h.flush(); err != nil {
			return err
		}
		c.promised = h.log.LogEndOffset()
	case i%7 == 6:
		if err := h.file.Sync(); err != nil {
			return err
		}
		c.promised = h.log.LogEndOffset()
		h.log.Synced(c.promised)
	case i%20 == 19:
		return c.retain(h)
	}
	return nil
}

// logSync syncs the .log files from the recovery point on, and their names.
func (c *crashRun) logSync(h *harness) error {
	for _, s := range h.log.Segments() {
		if s.NextOffset() < h.log.RecoveryPoint() {
			continue
		}
		f, err := h.fs.OpenFile(s.LogName(), segment.ReadWrite, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	if err := h.fs.SyncDir(h.dir); err != nil {
		return err
	}
	c.promised = h.log.LogEndOffset()
	h.log.Synced(c.promised)
	return nil
}

func verdictError(v segment.Verdict) error {
	if v == (segment.Verdict{}) {
		return nil
	}
	return fmt.Errorf("verdict %+v", v)
}

func crashBatch(i int) wire.RecordBatch {
	stamps := make([]wire.Timestamp, 1+i%3)
	for n := range stamps {
		stamps[n] = wire.Timestamp(1000 + i*7%5)
	}
	h := wire.BatchHeader{Codec: wire.Compression(i % 5), Idempotent: i%2 == 0, ProducerID: 5}
	h.BaseSequence = 0
	for n := 0; n < i; n += 2 {
		h.BaseSequence += wire.Sequence(1 + n%3)
	}
	return batchOf(h, fmt.Sprintf("batch %d", i), stamps...)
}

func (c *crashRun) retain(h *harness) error {
	cfg := *h.log.Config()
	cfg.RetentionBytes = h.log.Size() / 2
	h.log.SetConfig(cfg)
	segs := h.log.PlanRetention(h.now, c.promised)
	h.log.DropSegments(segs)
	c.start = h.log.LogStartOffset()
	return segment.DeleteSegments(h.fs, segs)
}

// check opens what the crash left, with the recovery point that was promised and with none, and compares.
func (c *crashRun) check(t *testing.T, fsys *segmenttest.FS, cut int) {
	t.Helper()
	if _, err := fsys.ReadDir(crashDir); errors.Is(err, fs.ErrNotExist) && !c.created {
		return
	}
	c.checkIn(t, fsys, crashDir, cut)
}

func (c *crashRun) checkIn(t *testing.T, fsys *segmenttest.FS, dir string, cut int) {
	t.Helper()
	l, rep, err := segment.OpenLog(fsys, dir, c.cfg, segment.OpenOptions{RecoveryPoint: c.promised, Clean: cut < 0})
	if err != nil {
		t.Fatalf("cut at %d: %v", cut, err)
	}
	if end := l.LogEndOffset(); end < c.promised || l.LogStartOffset() > c.start || rep.Damage != nil {
		t.Fatalf("cut at %d: %d to %d, promised %d to %d, %+v", cut, l.LogStartOffset(), end, c.start, c.promised, rep)
	}
	h, err := attach(fsys, l)
	must(t, err)
	c.compare(t, h, cut)
	end := l.LogEndOffset()
	c.goOn(t, h, cut)
	fsys.Kill()
	again, rep, err := segment.OpenLog(fsys, dir, c.cfg, segment.OpenOptions{})
	if err != nil || again.LogEndOffset() != end+1 || rep.TruncatedAt >= 0 || rep.Damage != nil {
		t.Fatalf("cut at %d, opened again: %v, end %d, want %d, %+v", cut, err, again.LogEndOffset(), end+1, rep)
	}
}

// compare: what is visible are the records that were appended, without a gap.
func (c *crashRun) compare(t *testing.T, h *harness, cut int) {
	t.Helper()
	got, err := h.visible()
	if err != nil {
		t.Fatalf("cut at %d: %v", cut, err)
	}
	off := h.log.LogStartOffset()
	for line := range strings.Lines(got) {
		if want := c.records[off] + "\n"; line != want {
			t.Fatalf("cut at %d, offset %d: %q, want %q", cut, off, line, want)
		}
		off++
	}
	if off != h.log.LogEndOffset() {
		t.Fatalf("cut at %d: records to %d, log to %d", cut, off, h.log.LogEndOffset())
	}
	c.compareTimes(t, h, cut)
}

// compareTimes: a lookup by time finds the first record that is late enough, so the time indexes are right.
func (c *crashRun) compareTimes(t *testing.T, h *harness, cut int) {
	t.Helper()
	for target := wire.Timestamp(1000); target <= 1004; target++ {
		want := h.log.LogStartOffset()
		for want < h.log.LogEndOffset() && timestampOf(c.records[want]) < target {
			want++
		}
		got, _, _, found, err := h.log.PlanTimeLookup(target, h.log.LogEndOffset()).Run(h.open)
		if err != nil || found != (want < h.log.LogEndOffset()) || found && got != want {
			t.Fatalf("cut at %d: timestamp %d at offset %d (%t), want %d; %v", cut, target, got, found, want, err)
		}
	}
}

func timestampOf(record string) wire.Timestamp {
	_, rest, _ := strings.Cut(record, "@")
	n, err := strconv.ParseInt(strings.TrimRight(rest[:4], "="), 10, 64)
	if err != nil {
		panic(err)
	}
	return wire.Timestamp(n)
}

// goOn appends one more batch. The idempotent producer's last batch, if it is there, is known.
func (c *crashRun) goOn(t *testing.T, h *harness, cut int) {
	t.Helper()
	for i := 38; i >= 0; i -= 2 {
		b := crashBatch(i)
		if strings.HasSuffix(c.records[h.log.LogEndOffset()-1], fmt.Sprintf("=batch %d", i)) {
			if v := h.log.CheckProducer(b); !v.Duplicate || v.BaseOffset != h.log.LogEndOffset()-wire.Offset(b.RecordCount()) {
				t.Fatalf("cut at %d: a retry of batch %d gives %+v", cut, i, v)
			}
		}
	}
	if _, _, err := h.append(batchOf(wire.BatchHeader{}, "after", 1), 9); err != nil {
		t.Fatalf("cut at %d: %v", cut, err)
	}
}

// TestCrashEverywhere cuts the power at every operation of a log's life, and looks at three outcomes of each cut.
func TestCrashEverywhere(t *testing.T) {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 700, 120
	outcomes := 3
	if testing.Short() {
		outcomes = 1
	}
	for name, c := range map[string]*crashRun{
		"flush":        {cfg: cfg},
		"synced rolls": {cfg: cfg, syncRoll: true},
		"log syncs":    {cfg: cfg, logSyncs: true},
	} {
		t.Run(name, func(t *testing.T) { segmenttest.CutEverywhere(t, outcomes, c.run, c.check) })
	}
}

// TestCrashInRecovery: recovery itself may be cut at any operation, and the next one finds the same log.
func TestCrashInRecovery(t *testing.T) {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 700, 120
	c := &crashRun{cfg: cfg}
	want := ""
	crashed := func() *segmenttest.FS {
		fsys := segmenttest.New(3)
		must(t, c.run(fsys))
		c.promised = 30
		name := lastLog(t, fsys)
		must(t, fsys.Damage(name, 70, 1))
		must(t, fsys.Remove(strings.TrimSuffix(name, ".log")+".index"))
		must(t, fsys.SyncDir(crashDir))
		return fsys
	}
	for cut := 0; ; cut++ {
		fsys := crashed()
		fsys.CutAt(fsys.Ops() + cut)
		_, _, err := segment.OpenLog(fsys, crashDir, cfg, segment.OpenOptions{RecoveryPoint: c.promised})
		done := err == nil
		if !done {
			if !errors.Is(err, segmenttest.ErrPowerCut) {
				t.Fatal(err)
			}
			fsys = fsys.Crash()
		} else {
			fsys.CutAt(-1)
		}
		l, rep, err := segment.OpenLog(fsys, crashDir, cfg, segment.OpenOptions{RecoveryPoint: c.promised})
		if err != nil || rep.Damage != nil {
			t.Fatalf("cut at %d: %v, %+v", cut, err, rep)
		}
		h, err := attach(fsys, l)
		must(t, err)
		c.compare(t, h, cut)
		got, _ := h.visible()
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("cut at %d: another log\n%s\nwant\n%s", cut, got, want)
		}
		if done {
			return
		}
	}
}

func lastLog(t *testing.T, fsys segment.FS) string {
	t.Helper()
	files, err := fsys.ReadDir(crashDir)
	must(t, err)
	last := ""
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".log") {
			last = crashDir + "/" + f.Name
		}
	}
	return last
}

// TestFullDisk: writes that fail are undone, the log goes on when there is room, and nothing of them is visible.
func TestFullDisk(t *testing.T) {
	fsys := newLogsFS(t, 1)
	cfg := smallConfig()
	h, err := createHarness(fsys, crashDir, cfg)
	must(t, err)
	c := &crashRun{cfg: cfg, records: make(map[wire.Offset]string)}
	fsys.SetCapacity(2000)
	failed := 0
	for i := 0; i < 40; i++ {
		err := c.step(h, i)
		if errors.Is(err, syscall.ENOSPC) {
			failed++
			fsys.SetCapacity(2000 + int64(failed)*500)
			i-- // the producer tries again
			continue
		}
		must(t, err)
	}
	if failed == 0 {
		t.Fatal("the disk was never full")
	}
	c.start = h.log.LogStartOffset()
	c.compare(t, h, 0)
	fsys.Kill()
	c.promised = h.log.LogEndOffset()
	c.check(t, fsys, 0)
}
