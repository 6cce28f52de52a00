package harness

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

// WantDumpsAgree holds Apache Kafka's DumpLogSegments and `ringmill dump` against each other on every segment under a log
// directory, batch by batch, and the former against its own complaints.
func WantDumpsAgree(tb testing.TB, logDir string) {
	tb.Helper()
	for files := range slices.Chunk(dumpable(tb, logDir), dumpFilesMax) {
		wantDumpsAgree(tb, files)
	}
}

// dumpFilesMax keeps the list of files, which is one argument, below the 128 KiB that Linux allows (MAX_ARG_STRLEN).
const dumpFilesMax = 400

func wantDumpsAgree(tb testing.TB, files []string) {
	tb.Helper()
	kafka := Command{Timeout: 2 * time.Minute, Argv: Java(tb, "kafka.tools.DumpLogSegments", "--deep-iteration",
		"--files", strings.Join(files, ","))}.Output(tb)
	for _, complaint := range []string{"Found", "invalid", "Invalid", "corrupt", "isvalid: false", "Exception"} {
		if at := strings.Index(kafka, complaint); at >= 0 {
			tb.Errorf("DumpLogSegments complains: …%.300s", kafka[max(0, at-100):])
		}
	}
	ours := Command{Argv: RingmillCommand(tb, append([]string{"dump"}, logs(files)...)...)}.Output(tb)
	kafkaBatches, ourBatches := batchLines(kafka), batchLines(ours)
	if len(kafkaBatches) != len(ourBatches) {
		tb.Fatalf("DumpLogSegments lists %d batches, ringmill dump %d", len(kafkaBatches), len(ourBatches))
	}
	for i := range kafkaBatches {
		if kafkaBatches[i] != ourBatches[i] {
			tb.Fatalf("batch %d\nKafka:    %s\nringmill: %s", i, kafkaBatches[i], ourBatches[i])
		}
	}
}

// dumpable are the files that DumpLogSegments reads, in a stable order.
func dumpable(tb testing.TB, logDir string) []string {
	tb.Helper()
	var files []string
	for _, ext := range []string{"log", "index", "timeindex", "snapshot"} {
		found, err := filepath.Glob(filepath.Join(logDir, "*-*", "*."+ext))
		if err != nil {
			tb.Fatal(err)
		}
		files = append(files, found...)
	}
	sort.Strings(files)
	if len(files) == 0 {
		tb.Fatalf("no segment under %s", logDir)
	}
	return files
}

func logs(files []string) []string {
	var out []string
	for _, f := range files {
		if strings.HasSuffix(f, ".log") {
			out = append(out, f)
		}
	}
	return out
}

var batchFields = regexp.MustCompile(`\b(baseOffset|lastOffset|count|baseSequence|lastSequence|producerId|producerEpoch|partitionLeaderEpoch|isTransactional|isControl|position|CreateTime|LogAppendTime|size|magic|compresscodec|crc): (\S+)`)

// batchLines reduces a dump to the fields of its batches, whatever stands between them.
func batchLines(dump string) []string {
	var out []string
	for line := range strings.Lines(dump) {
		if !strings.HasPrefix(line, "baseOffset: ") {
			continue
		}
		var fields []string
		for _, m := range batchFields.FindAllStringSubmatch(line, -1) {
			fields = append(fields, fmt.Sprintf("%s=%s", m[1], m[2]))
		}
		sort.Strings(fields)
		out = append(out, strings.Join(fields, " "))
	}
	return out
}
