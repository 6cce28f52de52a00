package harness

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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

	bytes int // with its header
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

// SegmentFiles are a partition's .log files in offset order. There is one at least.
func SegmentFiles(tb testing.TB, logDir, topic string, partition int) []string {
	tb.Helper()
	files := segmentFiles(tb, logDir, topic, partition)
	if len(files) == 0 {
		tb.Fatalf("no segments of %s-%d under %s", topic, partition, logDir)
	}
	return files
}

// segmentFiles are those that there are now: a replica that is fetched anew from the beginning has none for a moment.
func segmentFiles(tb testing.TB, logDir, topic string, partition int) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(logDir, fmt.Sprintf("%s-%d", topic, partition), "*.log"))
	if err != nil {
		tb.Fatal(err)
	}
	sort.Strings(files)
	return files
}

// StoredBytes are those of all segments of a partition that the node's files hold now, in offset order. The node may be at work on
// them: what a file holds that went away meanwhile is missing.
func (n *Node) StoredBytes(tb testing.TB, topic string, partition int) (all []byte) {
	tb.Helper()
	n.eachSegment(tb, topic, partition, func(_ string, data []byte) { all = append(all, data...) })
	return all
}

// eachSegment calls f with what each segment of a partition holds that is there now; nothing of one that goes away meanwhile.
func (n *Node) eachSegment(tb testing.TB, topic string, partition int, f func(file string, data []byte)) {
	tb.Helper()
	for _, file := range segmentFiles(tb, n.LogDir, topic, partition) {
		data, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			tb.Fatal(err)
		}
		f(file, data)
	}
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
			bytes:       length,
		})
		data = data[length:]
	}
	return batches
}

// StoredSum tells up to which offset a node's files have a partition, and gives a checksum of all their batches, whatever segments
// they are in. Replicas that have the same records have the same sum. The node may be at work on the files: of what is written anew
// there may be nothing.
func (n *Node) StoredSum(tb testing.TB, topic string, partition int) (end int64, sum string) {
	tb.Helper()
	digest := sha256.New()
	n.eachSegment(tb, topic, partition, func(file string, data []byte) {
		for _, b := range headers(tb, file, data) {
			end = b.LastOffset + 1
			digest.Write(data[:b.bytes])
			data = data[b.bytes:]
		}
	})
	return end, hex.EncodeToString(digest.Sum(nil)[:12])
}
