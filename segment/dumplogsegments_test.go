package segment_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/osfs"
	"github.com/ringmill/ringmill/wire"
)

// dumpLogSegments runs Kafka's tool on files and gives what it printed; anything on its standard error fails the test. Kafka's
// jars are found in $KAFKA_LIBS or where the conformance suite keeps them.
func dumpLogSegments(t *testing.T, files []string, args ...string) string {
	t.Helper()
	out, complaints := runDumpLogSegments(t, files, args...)
	if len(complaints) > 0 {
		t.Fatalf("DumpLogSegments: %s", strings.Join(complaints, "\n"))
	}
	return out
}

func runDumpLogSegments(t *testing.T, files []string, args ...string) (out string, complaints []string) {
	t.Helper()
	libs := os.Getenv("KAFKA_LIBS")
	if libs == "" {
		cache, err := os.UserCacheDir()
		must(t, err)
		libs = filepath.Join(cache, "ringmill-conformance", "kafka", "libs")
	}
	if jars, _ := filepath.Glob(filepath.Join(libs, "kafka*.jar")); len(jars) == 0 {
		t.Skipf("Kafka's jars are not in %s; set KAFKA_LIBS to compare with its DumpLogSegments", libs)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		t.Skip("no java to run Kafka's DumpLogSegments with")
	}
	args = append([]string{"-cp", libs + "/*", "kafka.tools.DumpLogSegments", "--files", strings.Join(files, ",")}, args...)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(java, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	complaints = slices.DeleteFunc(strings.Split(strings.TrimSpace(stderr.String()), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "SLF4J") || strings.Contains(line, "StatusLogger")
	})
	if err != nil {
		t.Fatalf("DumpLogSegments: %v\n%s", err, strings.Join(complaints, "\n"))
	}
	return stdout.String(), complaints
}

// kindsLog writes batches of every kind that a log may hold, over several segments.
func kindsLog(t *testing.T, cfg segment.Config) *harness {
	t.Helper()
	h, err := createHarness(osfs.FS{}, filepath.Join(t.TempDir(), "kinds-0"), cfg)
	must(t, err)
	codecs := []wire.Compression{
		wire.CompressionNone, wire.CompressionGzip, wire.CompressionSnappy, wire.CompressionLZ4, wire.CompressionZstd,
	}
	for i := range 60 {
		ts := wire.Timestamp(1_700_000_000_000 + int64(i*37%11)*1000)
		for _, b := range []wire.RecordBatch{
			batchOf(wire.BatchHeader{Codec: codecs[i%5]}, "plain", ts, ts+5, ts+2),
			batchOf(wire.BatchHeader{Codec: codecs[i%5], Idempotent: true, ProducerID: 3, BaseSequence: wire.Sequence(2 * i)}, "idempotent", ts, ts),
			batchOf(wire.BatchHeader{Idempotent: true, ProducerID: 4, BaseSequence: wire.Sequence(i), Transactional: true}, "transactional", ts),
			marker(4, i%2 == 0, ts),
		} {
			_, v, err := h.append(b, wire.LeaderEpoch(i/10))
			must(t, err)
			if v != (segment.Verdict{}) {
				t.Fatalf("verdict %+v", v)
			}
		}
	}
	return h
}

// marker is the control batch that ends a transaction.
func marker(pid wire.ProducerID, commit bool, ts wire.Timestamp) wire.RecordBatch {
	key, value := []byte{0, 0, 0, 0}, make([]byte, 6)
	if commit {
		key[3] = 1
	}
	binary.BigEndian.PutUint32(value[2:], 7)
	h := wire.BatchHeader{
		Idempotent: true, ProducerID: pid, BaseSequence: -1, Transactional: true, Control: true, BaseTimestamp: ts,
	}
	return wire.RecordBatch(wire.AppendRecordBatch(nil, h, []wire.Record{{Key: key, Value: value}}))
}

// checkDump has Kafka's tool read every file of the log.
func checkDump(t *testing.T, h *harness) {
	t.Helper()
	var logs, indexes, others []string
	files, err := os.ReadDir(h.dir)
	must(t, err)
	for _, f := range files {
		name := filepath.Join(h.dir, f.Name())
		switch filepath.Ext(name) {
		case ".log":
			logs = append(logs, name)
		case ".index", ".timeindex":
			indexes = append(indexes, name)
		case ".snapshot", ".txnindex":
			others = append(others, name)
		}
	}
	out := dumpLogSegments(t, slices.Concat(logs, indexes, others), "--deep-iteration", "--print-data-log")
	if bad := strings.Count(out, "isvalid: false"); bad > 0 || strings.Contains(out, "invalid bytes") {
		t.Errorf("%d batches are not valid\n%s", bad, out)
	}
	if got, want := strings.Count(out, "\n| offset: "), int(h.log.LogEndOffset()); got != want {
		t.Errorf("%d records, want %d", got, want)
	}
	checked := dumpLogSegments(t, indexes, "--index-sanity-check")
	if got := strings.Count(checked, "passed sanity check.") + strings.Count(checked, " is empty."); got != len(indexes) {
		t.Errorf("%d of %d indexes pass\n%s", got, len(indexes), checked)
	}
	if strings.Count(out, "producerId: 4 producerEpoch: 0 coordinatorEpoch: 7") == 0 {
		t.Errorf("no producer in the snapshots\n%s", out)
	}
	if got, want := strings.Count(out, "lastStableOffset: "), strings.Count(out, "endTxnMarker: ABORT"); got != want || want == 0 {
		t.Errorf("%d aborted transactions in the indexes, %d markers", got, want)
	}
}

// TestDumpLogSegments: Kafka's tool reads every file of ours without a complaint: while the log is open, and after a clean stop
// and the recovery of a torn tail.
func TestDumpLogSegments(t *testing.T) {
	if testing.Short() {
		t.Skip("starts half a dozen Java processes")
	}
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 5000, 500
	appendTime := cfg
	appendTime.MessageTimestampType = wire.LogAppendTime
	for name, cfg := range map[string]segment.Config{"CreateTime": cfg, "LogAppendTime": appendTime} {
		t.Run(name, func(t *testing.T) {
			h := kindsLog(t, cfg)
			must(t, h.flush())
			if name == "CreateTime" {
				checkDump(t, h)
			}
			must(t, h.close())
			_, err := h.file.WriteAt(bytes.Repeat([]byte("torn"), 30), int64(h.log.ActiveSegment().Size()))
			must(t, err)
			l, rep, err := segment.OpenLog(osfs.FS{}, h.dir, cfg, segment.OpenOptions{RecoveryPoint: 40})
			must(t, err)
			if l.LogEndOffset() != h.log.LogEndOffset() || rep.TruncatedBytes != 120 {
				t.Fatalf("end %d, want %d; %+v", l.LogEndOffset(), h.log.LogEndOffset(), rep)
			}
			checkDump(t, h)
		})
	}
}

// TestDumpLogSegmentsCleaned: after compaction Kafka's tool finds the records that the log serves, and indexes that fit them.
func TestDumpLogSegmentsCleaned(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Java processes")
	}
	y := newHistory(5)
	cfg := y.config()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 5000, 300
	h, err := createHarness(osfs.FS{}, filepath.Join(t.TempDir(), "cleaned-0"), cfg)
	must(t, err)
	for range 4 {
		for range 60 {
			must(t, y.append(h))
		}
		y.now += 10_000
		must(t, y.clean(h, cleanOptions))
		y.check(t, h)
	}
	must(t, h.flush())
	var files, indexes []string
	entries, err := os.ReadDir(h.dir)
	must(t, err)
	for _, f := range entries {
		if ext := filepath.Ext(f.Name()); ext == ".log" || ext == ".txnindex" || ext == ".snapshot" {
			files = append(files, filepath.Join(h.dir, f.Name()))
		} else if ext == ".index" || ext == ".timeindex" {
			indexes = append(indexes, filepath.Join(h.dir, f.Name()))
		}
	}
	out, complaints := runDumpLogSegments(t, files, "--deep-iteration", "--print-data-log")
	for _, line := range complaints { // of every compacted log the tool says where offsets are missing
		if !strings.HasPrefix(line, "Non-consecutive offsets in ") && !strings.Contains(line, " is followed by ") {
			t.Error(line)
		}
	}
	records := 0
	for _, s := range h.log.Segments() {
		for _, b := range allBatches(t, h.fs, s.LogName()) {
			records += int(b.RecordCount())
		}
	}
	if got := strings.Count(out, "\n| offset: "); got != records || strings.Contains(out, "isvalid: false") || strings.Contains(out, "invalid bytes") {
		t.Errorf("%d records, the log has %d\n%s", got, records, out)
	}
	checked := dumpLogSegments(t, indexes, "--index-sanity-check")
	if got := strings.Count(checked, "passed sanity check.") + strings.Count(checked, " is empty."); got != len(indexes) {
		t.Errorf("%d of %d indexes pass\n%s", got, len(indexes), checked)
	}
	if out := dumpLogSegments(t, indexes); strings.Contains(out, "Mismatches") || strings.Contains(out, "not found") {
		t.Error(out)
	}
}
