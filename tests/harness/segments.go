package harness

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"
)

// StoredBatch is what a test wants to know of a batch in a .log file, read here by hand: the reader under test
// must not be the judge of the writer under test.
type StoredBatch struct {
	File        string
	BaseOffset  int64
	LastOffset  int64
	Codec       int // 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd: attributes, bits 0-2
	RecordCount int32
}

// Stored reads the headers of all batches of a partition from the node's files, in offset order.
func (n *Node) Stored(tb testing.TB, topic string, partition int) []StoredBatch {
	tb.Helper()
	if n.LogDir == "" {
		tb.Skip("needs the node's files; RINGMILL_TEST_PEER names a node whose folder is not known")
	}
	var batches []StoredBatch
	for _, file := range SegmentFiles(tb, n.LogDir, topic, partition) {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		batches = append(batches, headers(tb, file, data)...)
	}
	return batches
}

// SegmentFiles are a partition's .log files in offset order.
func SegmentFiles(tb testing.TB, logDir, topic string, partition int) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(logDir, fmt.Sprintf("%s-%d", topic, partition), "*.log"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no segments of %s-%d under %s: %v", topic, partition, logDir, err)
	}
	sort.Strings(files)
	return files
}

// headers walks RecordBatch v2 headers: base offset 8, length 4, epoch 4, magic 1, CRC 4, attributes 2, last offset delta 4,
// timestamps 16, producer 14, count 4. A zeroed or torn tail ends the walk: segments may be preallocated.
func headers(tb testing.TB, file string, data []byte) []StoredBatch {
	tb.Helper()
	const header = 61
	var batches []StoredBatch
	for len(data) >= header {
		length := 12 + int(int32(binary.BigEndian.Uint32(data[8:])))
		if length < header || length > len(data) {
			break
		}
		if data[16] != 2 {
			tb.Fatalf("%s: magic %d after %d batches", file, data[16], len(batches))
		}
		base := int64(binary.BigEndian.Uint64(data))
		batches = append(batches, StoredBatch{
			File:        file,
			BaseOffset:  base,
			LastOffset:  base + int64(int32(binary.BigEndian.Uint32(data[23:]))),
			Codec:       int(data[22] & 7),
			RecordCount: int32(binary.BigEndian.Uint32(data[57:])),
		})
		data = data[length:]
	}
	return batches
}
