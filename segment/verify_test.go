package segment_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/wire"
)

func TestVerifyKafkasDirectory(t *testing.T) {
	entries, err := os.ReadDir(dumpedDir)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	report, err := segment.VerifyDir(osfs.FS{}, dumpedDir, segment.VerifyOptions{Records: true})
	if err != nil || report.ProblemCount != 0 {
		t.Fatalf("%v %v", report.Problems, err)
	}
	if report.Segments != 2 || report.Batches != 16 || report.Records != 39 || report.StartOffset != 0 || report.EndOffset != 39 || report.Bytes != 1557+464 {
		t.Errorf("report %+v", report)
	}
}

func TestVerifyFindsProblems(t *testing.T) {
	const dir = "logs/segdump-0/"
	const log32 = dir + "00000000000000000032.log"
	for name, test := range map[string]struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		"flipped bit":         {log0, func(b []byte) []byte { b[400] ^= 1; return b }, "00000000000000000000.log at byte 326"},
		"lost batch":          {log0, func(b []byte) []byte { return append(b[:326:326], b[406:]...) }, "its base offset is 6, not 5"},
		"lost tail":           {log0, func(b []byte) []byte { return b[:1426] }, "it begins at offset 32, the log before it ends at 30"},
		"torn tail":           {log32, func(b []byte) []byte { return b[:len(b)-7] }, "71 bytes follow the last batch"},
		"batch twice":         {log32, func(b []byte) []byte { return append(b, b[386:]...) }, "its base offset is 38, not 39"},
		"batch of the next":   {log0, func(b []byte) []byte { return append(b, b[1345:1426]...) }, "its base offset is 29, not 32"},
		"index":               {index0, func(b []byte) []byte { b[3] ^= 1; return b }, "Index offset: 4, log offset: 5"},
		"time index":          {times0, func(b []byte) []byte { b[7] ^= 1; return b }, "Index timestamp: 1700000005001"},
		"epoch":               {dir + "leader-epoch-checkpoint", func([]byte) []byte { return []byte("0\n2\n0 0\n1 20\n") }, "its leader epoch is 0, leader-epoch-checkpoint says 1 at offset 23"},
		"epoch falls":         {log0, func(b []byte) []byte { wire.RecordBatch(b).SetPartitionLeaderEpoch(1); return b }, "its leader epoch is 0, the batch before it has 1"},
		"epoch file":          {dir + "leader-epoch-checkpoint", func([]byte) []byte { return []byte("?") }, "leader-epoch-checkpoint: checkpoint: line 1"},
		"snapshot":            {dir + "00000000000000000039.snapshot", func(b []byte) []byte { b[40] ^= 1; return b }, "00000000000000000039.snapshot: segment: malformed producer snapshot"},
		"metadata":            {dir + "partition.metadata", func(b []byte) []byte { return b[:9] }, "partition.metadata: segment: malformed"},
		"record behind a sum": {log0, func(b []byte) []byte { return resealed(b, 61) }, "00000000000000000000.log at byte 0"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := copyOfKafkas(t)
			edit(t, fsys, test.file, test.change)
			report, err := segment.VerifyDir(fsys, "logs/segdump-0", segment.VerifyOptions{Records: true})
			if err != nil {
				t.Fatal(err)
			}
			if !hasProblem(report, test.want) {
				t.Fatalf("no problem %q in %v", test.want, report.Problems)
			}
		})
	}
}

// resealed changes a byte of the first batch and makes its checksum match again.
func resealed(b []byte, at int) []byte {
	b[at] ^= 0x40
	wire.RecordBatch(b[:326]).SetMaxTimestamp(wire.RecordBatch(b).MaxTimestamp())
	return b
}

func hasProblem(report segment.VerifyReport, text string) bool {
	for _, p := range report.Problems {
		if strings.Contains(p.String(), text) {
			return true
		}
	}
	return false
}

func TestVerifyMissingAndForeignFiles(t *testing.T) {
	fsys := copyOfKafkas(t)
	for _, name := range []string{index0, times0} {
		if err := fsys.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := fsys.WriteFileAtomic("logs/segdump-0/notes.txt", nil); err != nil {
		t.Fatal(err)
	}
	report, err := segment.VerifyDir(fsys, "logs/segdump-0", segment.VerifyOptions{})
	if err != nil || report.ProblemCount != 3 || !hasProblem(report, "notes.txt") || !hasProblem(report, "index: it is missing") {
		t.Fatalf("%v %v", report.Problems, err)
	}
	if _, err := segment.VerifyDir(fsys, "logs/none-0", segment.VerifyOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("verify of a missing directory: %v", err)
	}
}

func TestVerifyTakesWhatIsAllowed(t *testing.T) {
	fsys := copyOfKafkas(t)
	edit(t, fsys, log0, func(b []byte) []byte { return append(b[:326:326], b[406:]...) })
	edit(t, fsys, index0, func(b []byte) []byte { return nil })
	edit(t, fsys, times0, func(b []byte) []byte { return nil })
	if report, err := segment.VerifyDir(fsys, "logs/segdump-0", segment.VerifyOptions{Compacted: true}); err != nil || report.ProblemCount != 0 {
		t.Errorf("compacted: %v %v", report.Problems, err)
	}
	fsys = copyOfKafkas(t)
	const active = "logs/segdump-0/00000000000000000032"
	edit(t, fsys, active+".log", func(b []byte) []byte { return b[:len(b)-7] })
	if report, err := segment.VerifyDir(fsys, "logs/segdump-0", segment.VerifyOptions{Live: true}); err != nil || report.ProblemCount != 0 {
		t.Errorf("live: %v %v", report.Problems, err)
	}
}

func TestVerifyOwnLog(t *testing.T) {
	fsys := newFS(t)
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 500, 100
	log := newLog(t, fsys, cfg)
	var entries []segment.JournalEntry
	for i := range 20 {
		entries = append(entries, journalled(batchAt(wire.Offset(3*i), wire.LeaderEpoch(i/7), 3, "value")))
	}
	if err := journalOf(fsys, smallJournal, entries...); err != nil {
		t.Fatal(err)
	}
	if _, err := replay(fsys, smallJournal, log); err != nil {
		t.Fatal(err)
	}
	report, err := segment.VerifyDir(fsys, "logs/t-0", segment.VerifyOptions{Records: true})
	if err != nil || report.ProblemCount != 0 || report.EndOffset != 60 || report.Segments < 3 {
		t.Fatalf("%+v %v", report, err)
	}
}

func FuzzVerifyDir(f *testing.F) {
	for _, name := range []string{log0, index0, times0, "logs/segdump-0/leader-epoch-checkpoint"} {
		data, err := os.ReadFile("testdata/kafka/" + strings.TrimPrefix(name, "logs/"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.TrimPrefix(name, "logs/segdump-0/"), data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if strings.Contains(name, "/") {
			return
		}
		fsys := copyOfKafkas(t)
		if fsys.WriteFileAtomic("logs/segdump-0/"+name, data) != nil {
			return
		}
		if _, err := segment.VerifyDir(fsys, "logs/segdump-0", segment.VerifyOptions{Records: true, Compacted: len(data)%2 == 0}); err != nil {
			t.Fatal(err)
		}
	})
}
