package segment_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/segment/segmenttest"
)

const dumpedDir = "testdata/kafka/segdump-0"

func dump(t testing.TB, fsys segment.FS, name string, opt segment.DumpOptions) (string, int) {
	t.Helper()
	var out bytes.Buffer
	problems, err := segment.Dump(&out, fsys, name, opt)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), problems
}

// TestDumpAsKafka compares with what DumpLogSegments --deep-iteration --print-data-log of Kafka 4.1.1 printed for files that
// Kafka 4.1.1 wrote: five codecs, transactions with both markers, null keys and values, headers.
func TestDumpAsKafka(t *testing.T) {
	outputs, err := filepath.Glob("testdata/kafka/dump/*.dump")
	if err != nil || len(outputs) != 9 {
		t.Fatalf("%d outputs of Kafka (%v), want 9", len(outputs), err)
	}
	for _, output := range outputs {
		name := strings.TrimSuffix(path.Base(output), ".dump")
		want, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		got, problems := dump(t, osfs.FS{}, dumpedDir+"/"+name, segment.DumpOptions{Data: true})
		got = strings.TrimPrefix(got, "Dumping "+dumpedDir+"/"+name+"\n")
		if problems != 0 || got != string(want) {
			t.Errorf("%s: %d problems\n%s\nwant\n%s", name, problems, got, want)
		}
	}
}

func TestDumpOtherFiles(t *testing.T) {
	for name, want := range map[string]string{
		dumpedDir + "/leader-epoch-checkpoint":            "epoch: 0 startOffset: 0",
		dumpedDir + "/partition.metadata":                 "version: 0 topicId: X5mGsGurQWaxgbBrGEXRhA",
		"testdata/kafka/recovery-point-offset-checkpoint": "topic: segdump partition: 1 offset: 60",
		"testdata/kafka/bootstrap.checkpoint":             "| offset: 0 CreateTime: 1795963979090 keySize: 4 valueSize: 11 sequence: -1 headerKeys: [] controlType: SNAPSHOT_HEADER(3)",
	} {
		got, problems := dump(t, osfs.FS{}, name, segment.DumpOptions{Records: true})
		if problems != 0 || !slices.Contains(strings.Split(got, "\n"), want) {
			t.Errorf("%s: %d problems; no line %q in\n%s", name, problems, want, got)
		}
	}
	if _, err := segment.Dump(&bytes.Buffer{}, osfs.FS{}, "testdata/kafka/meta.properties", segment.DumpOptions{}); !errors.Is(err, segment.ErrDumpKind) {
		t.Errorf("dump of meta.properties: %v", err)
	}
}

func TestDumpJSON(t *testing.T) {
	entries, err := os.ReadDir(dumpedDir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range entries {
		got, _ := dump(t, osfs.FS{}, dumpedDir+"/"+e.Name(), segment.DumpOptions{JSON: true, Data: true})
		for _, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Fatalf("%s: %q: %v", e.Name(), line, err)
			}
			kinds[object["type"].(string)]++
		}
	}
	for kind, want := range map[string]int{
		"file": 11, "batch": 16, "record": 39, "offsetIndexEntry": 14, "timeIndexEntry": 13, "abortedTransaction": 1, "producer": 12,
		"leaderEpoch": 1, "partitionMetadata": 1,
	} {
		if kinds[kind] != want {
			t.Errorf("%d lines of kind %s, want %d", kinds[kind], kind, want)
		}
	}
}

// copyOfKafkas gives Kafka's directory in memory under logs/segdump-0.
func copyOfKafkas(t testing.TB) *segmenttest.FS {
	t.Helper()
	fsys := segmenttest.New(1)
	if err := fsys.MkdirAll("logs/segdump-0", 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dumpedDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(dumpedDir + "/" + e.Name())
		if err == nil {
			err = fsys.WriteFileAtomic("logs/segdump-0/"+e.Name(), data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return fsys
}

// edit changes a file in place.
func edit(t testing.TB, fsys segment.FS, name string, change func(data []byte) []byte) {
	t.Helper()
	data, err := fsys.ReadFile(name)
	if err == nil {
		err = fsys.WriteFileAtomic(name, change(data))
	}
	if err != nil {
		t.Fatal(err)
	}
}

const (
	log0   = "logs/segdump-0/00000000000000000000.log"
	index0 = "logs/segdump-0/00000000000000000000.index"
	times0 = "logs/segdump-0/00000000000000000000.timeindex"
)

func TestDumpFindsProblems(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(data []byte) []byte { data[at] ^= 1; return data }
	}
	for name, test := range map[string]struct {
		damaged, dumped string
		change          func([]byte) []byte
		want            string
	}{
		"flipped bit in a record": {log0, log0, flip(400), "isvalid: false"},
		"torn tail":               {log0, log0, func(b []byte) []byte { return b[:len(b)-7] }, "Found 124 invalid bytes at the end of 00000000000000000000.log"},
		"batch twice":             {log0, log0, func(b []byte) []byte { return append(b, b[:326]...) }, "base offset 0 is below 32"},
		"index offset":            {index0, index0, flip(3), "Index offset: 4, log offset: 5"},
		"index position":          {index0, index0, flip(7), "no batch begins at position 327"},
		"index beyond the log":    {index0, index0, func(b []byte) []byte { return append(b, 0, 0, 1, 0, 0, 1, 0, 0) }, "beyond the last batch"},
		"index falls":             {index0, index0, func(b []byte) []byte { return append(b, b[:8]...) }, "does not rise"},
		"index torn":              {index0, index0, func(b []byte) []byte { return b[:len(b)-3] }, "no multiple of 8"},
		"time":                    {times0, times0, flip(7), "Index timestamp: 1700000005001, log timestamp: 1700000005000"},
		"time's offset":           {times0, times0, func(b []byte) []byte { b[11] = 3; return b }, "Indexed offset: 3, found log offset: 4"},
		"time falls":              {times0, times0, func(b []byte) []byte { return append(b, b[:12]...) }, "Previously indexed timestamp: 1700000031000"},
		"log beside":              {log0, index0, func(b []byte) []byte { return b[:500] }, "beyond the last batch"},
		"snapshot":                {"logs/segdump-0/00000000000000000032.snapshot", "logs/segdump-0/00000000000000000032.snapshot", flip(50), "checksum"},
		"epochs":                  {"logs/segdump-0/leader-epoch-checkpoint", "logs/segdump-0/leader-epoch-checkpoint", flip(0), "unknown version"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := copyOfKafkas(t)
			edit(t, fsys, test.damaged, test.change)
			got, problems := dump(t, fsys, test.dumped, segment.DumpOptions{Records: true})
			if problems == 0 || !strings.Contains(got, test.want) {
				t.Fatalf("%d problems; no %q in\n%s", problems, test.want, got)
			}
		})
	}
}

func TestDumpTakesPreallocatedIndexes(t *testing.T) {
	fsys := copyOfKafkas(t)
	for _, name := range []string{index0, times0} {
		want, _ := dump(t, fsys, name, segment.DumpOptions{})
		edit(t, fsys, name, func(b []byte) []byte { return append(b, make([]byte, 24*1000)...) })
		if got, problems := dump(t, fsys, name, segment.DumpOptions{}); got != want || problems != 0 {
			t.Errorf("%s with zeros: %d problems\n%s", name, problems, got)
		}
	}
}

func TestDumpJournal(t *testing.T) {
	fsys := segmenttest.New(1)
	if err := journalOf(fsys, smallJournal, journalled(batchAt(5, 2, 2, "value"))); err != nil {
		t.Fatal(err)
	}
	got, problems := dump(t, fsys, "journal-0", segment.DumpOptions{Data: true})
	const want = `Dumping journal-0
incarnation: 1 serial: 1 trackBytes: 8192 tracks: 2 floor: 1
sequence: 1 journalPosition: 8192 topicId: AQAAAAAAAAAAAAAAAAAAAA partition: 0 baseOffset: 5 leaderEpoch: 2 size: 89
baseOffset: 5 lastOffset: 6 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 2 ` +
		`isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1000 size: 89 magic: 2 ` +
		`compresscodec: none crc: 1041706658 isvalid: true
| offset: 5 CreateTime: 1000 keySize: -1 valueSize: 7 sequence: -1 headerKeys: [] payload: value-0
| offset: 6 CreateTime: 1000 keySize: -1 valueSize: 7 sequence: -1 headerKeys: [] payload: value-1
`
	if got != want || problems != 0 {
		t.Errorf("%d problems\n%s\nwant\n%s", problems, got, want)
	}
}

func TestDumpTextIsSafeForTerminals(t *testing.T) {
	fsys := segmenttest.New(1)
	if err := journalOf(fsys, smallJournal, journalled(batchAt(0, 0, 1, "\x1b]0;evil\x07\nbaseOffset: é\xff\xfe"))); err != nil {
		t.Fatal(err)
	}
	got, _ := dump(t, fsys, "journal-0", segment.DumpOptions{Data: true})
	if !strings.Contains(got, `payload: \x1b]0;evil\a\nbaseOffset: é`+"\ufffd\ufffd-0\n") {
		t.Errorf("dump is\n%q", got)
	}
	got, _ = dump(t, fsys, "journal-0", segment.DumpOptions{Data: true, JSON: true})
	if !strings.Contains(got, `"payload":{"base64":"G10wO2V2aWwHCmJhc2VPZmZzZXQ6IMOp//4tMA=="}`) {
		t.Errorf("dump is\n%s", got)
	}
}

func FuzzDump(f *testing.F) {
	for _, suffix := range []string{".log", ".index", ".timeindex", ".txnindex", ".snapshot"} {
		data, err := os.ReadFile(dumpedDir + "/00000000000000000032" + suffix)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("00000000000000000032"+suffix, data)
	}
	f.Add("leader-epoch-checkpoint", []byte("0\n1\n0 0\n"))
	f.Add("journal-0", make([]byte, 20000))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if strings.Contains(name, "/") {
			return
		}
		fsys := copyOfKafkas(t)
		if fsys.WriteFileAtomic("logs/segdump-0/"+name, data) != nil {
			return
		}
		var out bytes.Buffer
		if _, err := segment.Dump(&out, fsys, "logs/segdump-0/"+name, segment.DumpOptions{Data: true, JSON: len(data)%2 == 0}); err != nil &&
			!errors.Is(err, segment.ErrDumpKind) && !errors.Is(err, segment.ErrJournalVersion) {
			t.Fatal(err)
		}
	})
}
