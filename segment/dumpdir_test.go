package segment_test

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

func dumpDir(t *testing.T, fsys segment.FS, dir string, opt segment.DumpDirOptions) (string, int) {
	t.Helper()
	var out bytes.Buffer
	problems, err := segment.DumpDir(&out, fsys, dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), problems
}

func TestDumpDirOfKafkas(t *testing.T) {
	const whole = "Verified " + dumpedDir + " segments: 2 batches: 16 records: 39 bytes: 2021 startOffset: 0 endOffset: 39 problems: 0\n"
	if out, problems := dumpDir(t, osfs.FS{}, dumpedDir, segment.DumpDirOptions{}); out != whole || problems != 0 {
		t.Errorf("%d problems\n%s", problems, out)
	}
	if out, problems := dumpDir(t, osfs.FS{}, "testdata/kafka", segment.DumpDirOptions{Compacted: true}); strings.Count(out, "Verified ") != 5 || !strings.Contains(out, whole) || problems != 0 {
		t.Errorf("%d problems\n%s", problems, out)
	}
}

// A batch that is missing is a problem, but where the log was compacted: as its log directory's checkpoint says, or who asks.
func TestDumpDirOfCompacted(t *testing.T) {
	fsys := copyOfKafkas(t)
	edit(t, fsys, log0, func(b []byte) []byte { return append(b[:326:326], b[406:]...) })
	edit(t, fsys, index0, func([]byte) []byte { return nil })
	edit(t, fsys, times0, func([]byte) []byte { return nil })
	const gap = "its base offset is 6, not 5"
	for _, dir := range []string{"logs", "logs/segdump-0"} {
		if out, problems := dumpDir(t, fsys, dir, segment.DumpDirOptions{}); problems != 1 || !strings.Contains(out, gap) || !strings.Contains(out, " problems: 1\n") {
			t.Errorf("%s: %d problems\n%s", dir, problems, out)
		}
		if out, problems := dumpDir(t, fsys, dir, segment.DumpDirOptions{Compacted: true}); problems != 0 {
			t.Errorf("%s: %d problems\n%s", dir, problems, out)
		}
	}
	for other, want := range map[string]int{"segdump": 0, "segdamp": 1} {
		cleaned := segment.AppendOffsetCheckpoint(nil, map[wire.TopicPartition]wire.Offset{{Topic: other, Partition: 0}: 32})
		if err := fsys.WriteFileAtomic("logs/"+segment.CleanerCheckpoint, cleaned); err != nil {
			t.Fatal(err)
		}
		if out, problems := dumpDir(t, fsys, "logs/segdump-0", segment.DumpDirOptions{}); problems != want {
			t.Errorf("%s is compacted: %d problems\n%s", other, problems, out)
		}
	}
}

// An end that is torn is one unless the log may be open; checkpoints beside the logs are looked at; logs that are deleted are not.
func TestDumpDirFindsProblems(t *testing.T) {
	fsys := copyOfKafkas(t)
	edit(t, fsys, "logs/segdump-0/00000000000000000032.log", func(b []byte) []byte { return b[:len(b)-7] })
	edit(t, fsys, "logs/segdump-0/00000000000000000032.index", func([]byte) []byte { return nil })
	edit(t, fsys, "logs/segdump-0/00000000000000000032.timeindex", func([]byte) []byte { return nil })
	if out, problems := dumpDir(t, fsys, "logs", segment.DumpDirOptions{JSON: true}); problems == 0 || !strings.Contains(out, `{"type":"problem","file":"segdump-0/00000000000000000032.log","position":`) || !strings.Contains(out, "71 bytes follow the last batch") {
		t.Errorf("%d problems\n%s", problems, out)
	}
	if out, problems := dumpDir(t, fsys, "logs", segment.DumpDirOptions{Live: true}); problems != 0 {
		t.Errorf("%d problems\n%s", problems, out)
	}
	if err := fsys.WriteFileAtomic("logs/"+segment.RecoveryPointCheckpoint, []byte("?")); err != nil {
		t.Fatal(err)
	}
	if out, problems := dumpDir(t, fsys, "logs", segment.DumpDirOptions{Live: true}); problems != 1 || !strings.Contains(out, "\nPROBLEM: "+segment.RecoveryPointCheckpoint+": ") && !strings.HasPrefix(out, "PROBLEM: "+segment.RecoveryPointCheckpoint+": ") {
		t.Errorf("%d problems\n%s", problems, out)
	}
	if _, err := segment.DumpDir(new(bytes.Buffer), fsys, "nowhere", segment.DumpDirOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := segment.DumpDir(new(bytes.Buffer), osfs.FS{}, "testdata/fuzz", segment.DumpDirOptions{}); !errors.Is(err, segment.ErrDumpKind) {
		t.Errorf("a directory of other things: %v", err)
	}
	full := errors.New("full")
	if _, err := segment.DumpDir(failingWriter{full}, fsys, "logs", segment.DumpDirOptions{}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// A log that cannot be read is an error, and the others are verified all the same.
func TestDumpDirGoesOn(t *testing.T) {
	fsys := copyOfKafkas(t)
	for _, e := range []string{"logs/a-0", "logs/b-0"} {
		copyDir(t, fsys, "logs/segdump-0", e)
	}
	broken := errors.New("broken")
	fsys.Inject(segmenttest.FailNth(segmenttest.OpRead, "/a-0/00000000000000000000.log", 0, true, broken))
	var out bytes.Buffer
	problems, err := segment.DumpDir(&out, fsys, "logs", segment.DumpDirOptions{})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "logs/a-0") || problems != 0 || strings.Contains(out.String(), "a-0") || strings.Count(out.String(), "Verified ") != 2 {
		t.Errorf("%d problems, %v\n%s", problems, err, out.String())
	}
}

// A copy of a compacted log, and one that was set aside, may lack what the log may.
func TestDumpDirOfACompactedCopy(t *testing.T) {
	fsys := copyOfKafkas(t)
	edit(t, fsys, log0, func(b []byte) []byte { return append(b[:326:326], b[406:]...) })
	edit(t, fsys, index0, func([]byte) []byte { return nil })
	edit(t, fsys, times0, func([]byte) []byte { return nil })
	cleaned := segment.AppendOffsetCheckpoint(nil, map[wire.TopicPartition]wire.Offset{{Topic: "segdump", Partition: 0}: 32})
	if err := fsys.WriteFileAtomic("logs/"+segment.CleanerCheckpoint, cleaned); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{segment.FutureDirSuffix, segment.StrayDirSuffix} {
		copyDir(t, fsys, "logs/segdump-0", "logs/segdump-0."+strings.Repeat("0", 32)+suffix)
	}
	if out, problems := dumpDir(t, fsys, "logs", segment.DumpDirOptions{}); problems != 0 || strings.Count(out, "Verified ") != 3 {
		t.Errorf("%d problems\n%s", problems, out)
	}
}

// goes removes a name once a directory has been listed, as a node does that has the log open.
type goes struct {
	*segmenttest.FS
	listed, name string
}

func (g goes) ReadDir(dir string) ([]segment.DirEntry, error) {
	entries, err := g.FS.ReadDir(dir)
	if dir == g.listed {
		err = errors.Join(err, g.RemoveAll(g.name))
	}
	return entries, err
}

// What a node removes while its logs are verified is no problem where it may have them open, and one where it may not.
func TestDumpDirOfALiveNode(t *testing.T) {
	for _, c := range []struct {
		listed, name string
		logs         int
	}{
		{"logs/segdump-0", "logs/segdump-0/00000000000000000000.log", 2},
		{"logs/segdump-0", "logs/segdump-0/00000000000000000000.index", 2},
		{"logs/segdump-0", "logs/segdump-0/00000000000000000000.timeindex", 2},
		{"logs/segdump-0", "logs/segdump-0/00000000000000000032.snapshot", 2},
		{"logs", "logs/segdump-0", 1},
	} {
		for _, live := range []bool{true, false} {
			fsys := copyOfKafkas(t)
			copyDir(t, fsys, "logs/segdump-0", "logs/z-0")
			var out bytes.Buffer
			problems, err := segment.DumpDir(&out, goes{fsys, c.listed, c.name}, "logs", segment.DumpDirOptions{Live: live})
			if want := map[bool]int{true: c.logs, false: 1}[live]; problems != 0 || live != (err == nil) || !live && !errors.Is(err, fs.ErrNotExist) || strings.Count(out.String(), "Verified ") != want {
				t.Errorf("%s, live %v: %d problems, %v\n%s", c.name, live, problems, err, out.String())
			}
		}
	}
}

func copyDir(t *testing.T, fsys segment.FS, from, to string) {
	t.Helper()
	entries, err := fsys.ReadDir(from)
	if err := errors.Join(err, fsys.MkdirAll(to, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := fsys.ReadFile(from + "/" + e.Name)
		if err := errors.Join(err, fsys.WriteFileAtomic(to+"/"+e.Name, text)); err != nil {
			t.Fatal(err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
