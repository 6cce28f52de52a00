package segment_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

const journalName = "state/journal-0"

// crashedJournal drives a journal through random appends, syncs, checkpoints, growth and power cuts, and knows what a reader
// must then find: every entry that was synced, none that was never appended, none that is from before the checkpoint.
type crashedJournal struct {
	t       *testing.T
	rng     *rand.Rand
	fs      *segmenttest.FS
	journal *segment.Journal
	file    segment.File
	salt    uint64

	appended []segment.JournalEntry // of this incarnation; appended[i] has sequence number i+1
	synced   uint64
	syncing  uint64
	// The reader begins behind the last checkpoint. While one runs it may or may not be the last.
	floor, floorMax uint64
	pending         *segment.JournalCheckpoint
	offset          wire.Offset // of the next entry; never used twice, so that a stale entry cannot look like a new one
}

func (c *crashedJournal) config() segment.JournalConfig {
	c.salt++
	return segment.JournalConfig{TrackBytes: 4096 << c.rng.IntN(2), Bytes: int64(2+c.rng.IntN(4)) * 4096, Salt: c.salt}
}

// open recovers after a crash and compares; then the journal is a new one.
func (c *crashedJournal) open() {
	j, f, err := segment.OpenJournal(c.fs, journalName, c.config(), func(r *segment.JournalReader) error {
		var got []segment.JournalEntry
		for e, ok := r.Next(); ok; e, ok = r.Next() {
			e.Batch = slices.Clone(e.Batch)
			got = append(got, e)
		}
		c.compare(got, r.Err())
		return r.Err()
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.journal, c.file = j, f
	c.appended, c.synced, c.syncing, c.floor, c.floorMax, c.pending = nil, 0, 0, 1, 1, nil
}

func (c *crashedJournal) compare(got []segment.JournalEntry, err error) {
	if err != nil {
		c.t.Fatalf("reader: %v", err)
	}
	for _, from := range slices.Compact([]uint64{c.floor, c.floorMax}) {
		want := c.appended[from-1:]
		if len(got) <= len(want) && uint64(len(got))+from-1 >= c.synced && slices.EqualFunc(got, want[:len(got)], sameEntry) {
			return
		}
	}
	c.t.Fatalf("found %d entries from %v on; appended %d, synced %d, checkpoint at %d or %d",
		len(got), offsets(got), len(c.appended), c.synced, c.floor, c.floorMax)
}

func sameEntry(a, b segment.JournalEntry) bool {
	return a.TopicID == b.TopicID && a.Partition == b.Partition && a.BaseOffset == b.BaseOffset &&
		a.LeaderEpoch == b.LeaderEpoch && bytes.Equal(a.Batch, b.Batch)
}

func offsets(entries []segment.JournalEntry) (list []wire.Offset) {
	for _, e := range entries {
		list = append(list, e.BaseOffset)
	}
	return list
}

func (c *crashedJournal) entry() segment.JournalEntry {
	c.offset++
	batch := make([]byte, c.rng.IntN(1+[...]int{16, 300, 3000}[c.rng.IntN(3)]))
	for i := 0; i+8 <= len(batch); i += 8 {
		binary.BigEndian.PutUint64(batch[i:], c.rng.Uint64())
	}
	return segment.JournalEntry{
		TopicID: wire.TopicID{byte(c.rng.IntN(3))}, Partition: wire.PartitionIndex(c.rng.IntN(3)),
		BaseOffset: c.offset, LeaderEpoch: 1, Batch: batch,
	}
}

// append writes up to five entries; the write may be cut anywhere between two buffers when the power goes.
func (c *crashedJournal) append() (cut bool) {
	entries := make([]segment.JournalEntry, 1+c.rng.IntN(5))
	for i := range entries {
		entries[i] = c.entry()
	}
	for len(entries) > 0 {
		plan, n := c.journal.PlanAppend(entries)
		if n == 0 {
			return false // full: the node syncs the segments instead
		}
		c.appended = append(c.appended, entries[:n]...)
		at := int64(plan.Position)
		for _, buf := range plan.Bufs {
			if c.rng.IntN(200) == 0 {
				return true
			}
			c.write(buf, at)
			at += int64(len(buf))
		}
		c.journal.Written(plan)
		entries = entries[n:]
	}
	return false
}

func (c *crashedJournal) write(buf []byte, at int64) {
	if _, err := c.file.WriteAt(buf, at); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crashedJournal) beginSync() {
	if !c.journal.NeedsSync() {
		return
	}
	c.syncing = c.journal.BeginSync()
	c.sync()
}

// sync is the fdatasync itself; whoever may call it promises no more than what was known when it began.
func (c *crashedJournal) sync() {
	if err := c.file.Sync(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crashedJournal) endSync() {
	if c.syncing == 0 {
		return
	}
	c.journal.Synced(c.syncing)
	c.synced, c.syncing = max(c.synced, c.syncing), 0
}

func (c *crashedJournal) checkpoint() {
	switch {
	case c.pending == nil && c.journal.NeedsCheckpoint():
		plan := c.journal.PlanCheckpoint()
		c.pending, c.floorMax = &plan, plan.Through+1
	case c.pending != nil:
		if err := c.pending.Run(c.file); err != nil {
			c.t.Fatal(err)
		}
		c.journal.Checkpointed(*c.pending)
		c.floor, c.pending = c.floorMax, nil
		c.synced = max(c.synced, c.floor-1)
	}
}

func (c *crashedJournal) grow() {
	if !c.journal.NeedsGrowth() {
		return
	}
	g := c.journal.PlanGrowth()
	if err := g.Run(c.file); err != nil {
		c.t.Fatal(err)
	}
	c.journal.Grown(g)
}

// life is one run of the node, up to the power cut.
func (c *crashedJournal) life() {
	for range c.rng.IntN(120) {
		switch c.rng.IntN(8) {
		case 0, 1, 2:
			if c.append() {
				return
			}
		case 3, 4:
			c.beginSync()
		case 5:
			c.endSync()
		case 6:
			c.checkpoint()
		case 7:
			c.grow()
		}
	}
}

func TestJournalSurvivesPowerCuts(t *testing.T) {
	for seed := range uint64(150) {
		c := &crashedJournal{t: t, rng: rand.New(rand.NewPCG(seed, 1)), fs: segmenttest.New(seed)}
		if err := c.fs.MkdirAll("state", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := c.fs.SyncDir("/"); err != nil {
			t.Fatal(err)
		}
		c.floor, c.floorMax = 1, 1
		for range 12 {
			c.open()
			c.life()
			c.fs = c.fs.Crash()
		}
	}
}

// TestOpenJournalCutEverywhere: creation and renewal leave a journal that opens, wherever they are cut, and renewal never
// voids an entry that nobody has recovered.
func TestOpenJournalCutEverywhere(t *testing.T) {
	cfg := segment.JournalConfig{TrackBytes: 4096, Bytes: 8192, Salt: 1}
	entry := segment.JournalEntry{BaseOffset: 7, Batch: wire.RecordBatch("batch")}
	recovered := false
	run := func(fsys segment.FS) error {
		recovered = false
		j, f, err := segment.OpenJournal(fsys, "journal-0", cfg, nil)
		if err != nil {
			return err
		}
		plan, _ := j.PlanAppend([]segment.JournalEntry{entry})
		if _, err := f.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		_, _, err = segment.OpenJournal(fsys, "journal-0", cfg, func(r *segment.JournalReader) error {
			_, ok := r.Next()
			recovered = ok
			return nil
		})
		return err
	}
	synced := 0
	segmenttest.CutEverywhere(t, 10, run, func(t *testing.T, fsys *segmenttest.FS, cut int) {
		found := false
		_, _, err := segment.OpenJournal(fsys, "journal-0", cfg, func(r *segment.JournalReader) error {
			_, found = r.Next()
			return nil
		})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if recovered && !found && cut != -1 {
			synced++ // the renewal's head got to the disk before the cut: fine, it was recovered
		}
	})
	if synced == 0 {
		t.Error("no cut fell behind the renewal")
	}
}

// TestJournalGrowthOnFullDisk: the journal goes on at the size it has.
func TestJournalGrowthOnFullDisk(t *testing.T) {
	fsys := segmenttest.New(1)
	j, f, err := segment.CreateJournal(fsys, "journal-0", segment.JournalConfig{TrackBytes: 4096, Bytes: 1 << 20, Salt: 1})
	if err != nil {
		t.Fatal(err)
	}
	fsys.SetCapacity(18000)
	write := func() {
		plan, n := j.PlanAppend([]segment.JournalEntry{{Batch: make([]byte, 3000)}})
		if n == 0 {
			t.Fatal("full")
		}
		if _, err := f.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position)); err != nil {
			t.Fatal(err)
		}
		j.Written(plan)
	}
	write()
	write()
	g := j.PlanGrowth()
	if err := g.Run(f); !errors.Is(err, segment.ErrNoGrowth) {
		t.Fatalf("growth on a full disk: %v", err)
	}
	fsys.SetCapacity(0)
	fsys.Inject(segmenttest.FailNth(segmenttest.OpSync, "journal-0", 0, false, syscall.EIO))
	if err := g.Run(f); !errors.Is(err, syscall.EIO) || errors.Is(err, segment.ErrNoGrowth) {
		t.Fatalf("growth that cannot be synced: %v", err)
	}
	j.GrowthFailed()
	if j.NeedsGrowth() {
		t.Fatal("tries again")
	}
	if j.Checkpointed(j.PlanCheckpoint()); j.Full() {
		t.Fatal("the journal is of no use after a failed growth")
	}
	write()
}
