package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// movedRun is a crashRun whose log is moved from /one to /two while it is appended to, and goes on there.
type movedRun struct{ crashRun }

var movedTP, movedID = wire.TopicPartition{Topic: "c"}, wire.TopicID{7}

func (c *movedRun) run(fsys segment.FS) error {
	c.created, c.promised, c.start = false, 0, 0
	c.records = make(map[wire.Offset]string)
	if err := errors.Join(fsys.MkdirAll("/one", 0o755), fsys.MkdirAll("/two", 0o755), fsys.SyncDir("/")); err != nil {
		return err
	}
	h, err := createHarness(fsys, "/one/c-0", c.cfg)
	if err != nil {
		return err
	}
	c.created = true
	return errors.Join(c.steps(h, 0, 20), c.move(h))
}

func (c *movedRun) steps(h *harness, from, to int) error {
	for i := from; i < to; i++ {
		if err := c.step(h, i); err != nil {
			return err
		}
	}
	return nil
}

// move copies what there is, then what came in meanwhile, and puts the copy in the log's place; the log is closed there.
func (c *movedRun) move(h *harness) error {
	dir, _ := segment.FutureDir("/two", movedTP, movedID)
	f, err := segment.NewFutureLog(h.fs, dir, wire.TopicID{0: 1, 15: 2})
	if err != nil {
		return err
	}
	if err := copyLog(f, h, false); err != nil {
		return err
	}
	if err := c.steps(h, 20, 32); err != nil {
		return err
	}
	if err := copyLog(f, h, true); err != nil {
		return err
	}
	if _, err := f.TakePlace(h.log.Dir()); err != nil {
		return err
	}
	c.promised = h.log.LogEndOffset()
	h.log.Moved(f.Dir())
	if h.log.RecoveryPoint() != c.promised || f.EndOffset() != c.promised || f.Size() != h.log.Size() {
		return fmt.Errorf("recovery point %d, copied to %d, %d bytes of %d; promised %d", h.log.RecoveryPoint(), f.EndOffset(), f.Size(), h.log.Size(), c.promised)
	}
	moved, err := attach(h.fs, h.log)
	if err != nil {
		return err
	}
	if err := c.steps(moved, 32, 40); err != nil {
		return err
	}
	if err := moved.close(); err != nil {
		return err
	}
	c.promised = moved.log.LogEndOffset()
	return nil
}

// copyLog copies all that h has written.
func copyLog(f *segment.FutureLog, h *harness, still bool) error {
	plan := h.log.PlanCopy(h.log.ActiveSegment().Size(), h.log.LogEndOffset(), still)
	for {
		c, err := f.Open(&plan)
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		if err := c.Run(func(int) error { return nil }); err != nil {
			return err
		}
	}
	if behind := f.Behind(&plan); behind != 0 {
		return fmt.Errorf("%d bytes behind", behind)
	}
	return f.Finish(&plan)
}

// check finds the log that counts: there is exactly one, in either directory.
func (c *movedRun) check(t *testing.T, fsys *segmenttest.FS, cut int) {
	t.Helper()
	var logs []string
	aside := make(map[string]string)
	for _, root := range []string{"/one", "/two"} {
		entries, err := fsys.ReadDir(root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if tp, id, suffix, ok := segment.ParseSetAside(e.Name); ok && tp == movedTP && id == movedID {
				aside[suffix] = root + "/" + e.Name
			} else if _, ok := segment.ParsePartitionDir(e.Name); ok {
				logs = append(logs, root+"/"+e.Name)
			}
		}
	}
	if len(logs) == 0 && aside[segment.FutureDirSuffix] != "" && aside[segment.DeleteDirSuffix] != "" {
		must(t, fsys.Rename(aside[segment.FutureDirSuffix], "/two/c-0"))
		logs = []string{"/two/c-0"}
	}
	if len(logs) == 0 && !c.created {
		return
	}
	if len(logs) != 1 {
		t.Fatalf("cut at %d: %v are called the log, %v set aside", cut, logs, aside)
	}
	c.checkIn(t, fsys, logs[0], cut)
}

// TestMoveCrashEverywhere cuts the power at every operation of a log's life with a move in it.
func TestMoveCrashEverywhere(t *testing.T) {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 700, 120
	outcomes := 2
	if testing.Short() {
		outcomes = 1
	}
	for name, c := range map[string]*movedRun{
		"flush":     {crashRun{cfg: cfg}},
		"log syncs": {crashRun{cfg: cfg, logSyncs: true}},
	} {
		t.Run(name, func(t *testing.T) { segmenttest.CutEverywhere(t, outcomes, c.run, c.check) })
	}
}

// movable is a log with aborted transactions, producer snapshots and an open transaction in small segments.
func movable(t *testing.T) (*segmenttest.FS, *harness, *txnWriter) {
	fsys := newLogsFS(t, 3)
	must(t, fsys.MkdirAll("/two", 0o755))
	cfg := smallConfig()
	cfg.SegmentBytes = 600
	h, err := createHarness(fsys, "/logs/c-0", cfg)
	must(t, err)
	w := &txnWriter{rng: rand.New(rand.NewPCG(5, 1)), next: map[wire.ProducerID]wire.Sequence{}}
	appendTxns(t, h, w, 60)
	return fsys, h, w
}

func appendTxns(t *testing.T, h *harness, w *txnWriter, batches int) {
	t.Helper()
	for range batches {
		if _, v, err := h.append(w.batch(), 1); err != nil || v.Code != wire.None {
			t.Fatal(v, err)
		}
	}
}

// TestMovedLogIsTheSame: every file of the copy is the log's, and the log that goes on in it knows what it knew: producers, aborted
// transactions, leader epochs, indexes.
func TestMovedLogIsTheSame(t *testing.T) {
	fsys, h, w := movable(t)
	dir, _ := segment.FutureDir("/two", movedTP, movedID)
	f, err := segment.NewFutureLog(fsys, dir, wire.TopicID{0: 1, 15: 2})
	must(t, err)
	must(t, copyLog(f, h, false))
	appendTxns(t, h, w, 30)
	must(t, h.flush())
	must(t, copyLog(f, h, false))
	appendTxns(t, h, w, 10)
	must(t, copyLog(f, h, true))
	aside, err := f.TakePlace(h.log.Dir())
	must(t, err)
	h.log.Moved(f.Dir())
	wantSameFiles(t, fsys, aside, f.Dir())
	moved, err := attach(fsys, h.log)
	must(t, err)
	want := fmt.Sprint(h.log.Producers())
	modelOf(t, moved).check(t, moved, w.rng, moved.log.LogEndOffset())
	appendTxns(t, moved, w, 30)
	must(t, moved.close())
	verifyClean(t, fsys, f.Dir(), segment.VerifyOptions{})
	again, rep, err := segment.OpenLog(fsys, f.Dir(), *h.log.Config(), segment.OpenOptions{})
	must(t, err)
	if got := fmt.Sprint(again.Producers()); got == want || got != fmt.Sprint(moved.log.Producers()) || rep.Damage != nil || len(rep.RebuiltIndexes) > 0 {
		t.Errorf("opened again: %s, want %v; %+v", got, moved.log.Producers(), rep)
	}
}

// wantSameFiles compares two directories, but for leader-epoch-checkpoint, which memory may be ahead of.
func wantSameFiles(t *testing.T, fsys segment.FS, one, two string) {
	t.Helper()
	list := func(dir string) (names []string) {
		entries, err := fsys.ReadDir(dir)
		must(t, err)
		for _, e := range entries {
			names = append(names, e.Name)
		}
		return names
	}
	names := list(one)
	if other := list(two); !slices.Equal(names, other) {
		t.Fatalf("files %v, copied %v", names, other)
	}
	for _, name := range names {
		a, err := fsys.ReadFile(path.Join(one, name))
		must(t, err)
		b, err := fsys.ReadFile(path.Join(two, name))
		must(t, err)
		if name != segment.LeaderEpochCheckpoint && !bytes.Equal(a, b) {
			t.Errorf("%s: %d bytes, copied %d", name, len(a), len(b))
		}
	}
}

// TestCopyFollowsTheLog: segments that retention drops, compaction replaces or an earlier run left go from the copy.
func TestCopyFollowsTheLog(t *testing.T) {
	h, err := createHarness(newLogsFS(t, 1), "/logs/c-0", compactConfig())
	must(t, err)
	for i := range 30 {
		_, _, err := h.append(keyed(wire.BatchHeader{}, fmt.Sprint("key", i%3, "=", i)), 0)
		must(t, err)
		if i%7 == 6 {
			must(t, h.roll(true))
		}
	}
	must(t, h.flush())
	must(t, h.fs.MkdirAll("/two", 0o755))
	dir, _ := segment.FutureDir("/two", movedTP, movedID)
	must(t, h.fs.MkdirAll(dir, 0o755))
	for _, left := range []string{"00000000000000000099.log", "00000000000000000000.txnindex", "00000000000000000000.log", "x.tmp", "00000000000000000001.log.cleaned"} {
		must(t, h.fs.WriteFileAtomic(dir+"/"+left, []byte(strings.Repeat("left", 500))))
	}
	f, err := segment.NewFutureLog(h.fs, dir, wire.TopicID{0: 1, 15: 2})
	must(t, err)
	must(t, copyLog(f, h, false))
	_, err = h.clean(10_000, int64(h.log.LogEndOffset()), cleanOptions)
	must(t, err)
	before := f.Size()
	must(t, copyLog(f, h, true))
	if f.Size() != h.log.Size() || f.Size() >= before {
		t.Errorf("%d bytes copied, the log has %d, before it was compacted %d", f.Size(), h.log.Size(), before)
	}
	aside, err := f.TakePlace(h.log.Dir())
	must(t, err)
	wantSameFiles(t, h.fs, aside, f.Dir())
}

// TestCopyFails: a full disk is told apart from a log that cannot be read, and TakePlace gives the log its name back.
func TestCopyFails(t *testing.T) {
	var target *segment.FutureLogError
	fsys, h, _ := movable(t)
	dir, _ := segment.FutureDir("/two", movedTP, movedID)
	f, err := segment.NewFutureLog(fsys, dir, wire.TopicID{1})
	must(t, err)
	fsys.Inject(segmenttest.FailNth(segmenttest.OpWrite, "/two/", 2, true, syscall.ENOSPC))
	if err := copyLog(f, h, true); !errors.As(err, &target) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	fsys.Inject(segmenttest.FailNth(segmenttest.OpRead, "/logs/", 0, true, syscall.EIO))
	if err := copyLog(f, h, true); err == nil || errors.As(err, &target) {
		t.Errorf("a log that cannot be read: %v", err)
	}
	fsys.Inject(nil)
	must(t, copyLog(f, h, true))
	fsys.Inject(segmenttest.FailNth(segmenttest.OpRename, "/two/", 0, true, syscall.EIO))
	var between *segment.TakePlaceError
	if _, err := f.TakePlace("/logs/c-0"); !errors.As(err, &between) || between.Taken || between.LogDir != "/two" {
		t.Errorf("a rename that fails: %+v", err)
	}
	fsys.Inject(nil)
	if _, err := fsys.Stat("/logs/c-0/" + path.Base(h.log.ActiveSegment().LogName())); err != nil {
		t.Errorf("the log has not its name back: %v", err)
	}
	if _, ok := segment.FutureDir("/two", wire.TopicPartition{Topic: strings.Repeat("x", 213)}, movedID); !ok {
		t.Error("a name of 255 bytes is too long")
	}
	if _, ok := segment.FutureDir("/two", wire.TopicPartition{Topic: strings.Repeat("x", 214)}, movedID); ok {
		t.Error("a name of 256 bytes is not too long")
	}
}
