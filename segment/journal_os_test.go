package segment_test

import (
	"crypto/rand"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
)

// TestJournalOnDisk goes many times round a journal on the real file system, and reads it at the second start.
func TestJournalOnDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "journal-0")
	due := 0 // entries since the last checkpoint
	entry := journalled(batchAt(0, 0, 100, "a value of some length, so that the tracks fill up"))
	for range 2 {
		cfg := segment.JournalConfig{TrackBytes: 64 << 10, Bytes: 256 << 10, Salt: salt(t)}
		found := 0
		want := due
		j, f, err := segment.OpenJournal(osfs.FS{}, name, cfg, func(jr *segment.JournalReader) error {
			for _, ok := jr.Next(); ok; _, ok = jr.Next() {
				found++
			}
			return jr.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		if found != want {
			t.Fatalf("found %d entries, want %d", found, want)
		}
		due = 0
		for range 200 {
			plan, n := j.PlanAppend([]segment.JournalEntry{entry})
			if n == 0 {
				t.Fatal("full in spite of checkpoints")
			}
			if _, err := f.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position)); err != nil {
				t.Fatal(err)
			}
			j.Written(plan)
			due++
			if j.NeedsGrowth() {
				g := j.PlanGrowth()
				if err := g.Run(f); err != nil {
					t.Fatal(err)
				}
				j.Grown(g)
			}
			if j.NeedsCheckpoint() {
				c := j.PlanCheckpoint()
				if err := c.Run(f); err != nil {
					t.Fatal(err)
				}
				j.Checkpointed(c)
				due = 0
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if size, _ := (osfs.FS{}).Stat(name); size != 8192+128<<10 { // as it began: the checkpoints keep up
			t.Fatalf("the file has %d bytes", size)
		}
	}
}

func salt(t *testing.T) uint64 {
	t.Helper()
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	return binary.BigEndian.Uint64(b[:])
}

func BenchmarkJournalPlanAppend(b *testing.B) {
	fsys := osfs.FS{}
	j, f, err := segment.CreateJournal(fsys, filepath.Join(b.TempDir(), "journal-0"), segment.JournalConfig{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	entries := slices.Repeat([]segment.JournalEntry{journalled(batchAt(0, 0, 10, "value"))}, 64)
	b.ReportAllocs()
	for b.Loop() {
		plan, n := j.PlanAppend(entries)
		if n == 0 {
			j.Checkpointed(j.PlanCheckpoint())
			continue
		}
		j.Written(plan)
	}
}

func BenchmarkCreateJournal(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		name := filepath.Join(dir, "journal-0")
		_, f, err := segment.CreateJournal(osfs.FS{}, name, segment.JournalConfig{})
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
		if err := (osfs.FS{}).Remove(name); err != nil {
			b.Fatal(err)
		}
	}
}
