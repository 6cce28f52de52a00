package segment_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// testdata/kafka/killed-0 is a partition that Apache Kafka 4.1.1 wrote (segment.index.bytes=80, index.interval.bytes=200; kcat
// with idempotence, forty lines with each codec), copied while the broker ran: what kill -9 leaves. The indexes of its active
// segment are preallocated and end in zeros.
const (
	kafkaDir = "testdata/kafka/killed-0"
	kafkaEnd = 200
)

func kafkaConfig() segment.Config {
	cfg := segment.DefaultConfig()
	cfg.IndexBytes, cfg.IndexIntervalBytes = 80, 200
	return cfg
}

// loadDir copies a directory of the disk into a file system in memory, durable.
func loadDir(t testing.TB, from string) *segmenttest.FS {
	t.Helper()
	fsys := newLogsFS(t, 1)
	must(t, fsys.MkdirAll("/logs/k-0", 0o755))
	must(t, fsys.SyncDir("/logs"))
	files, err := os.ReadDir(from)
	must(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(from, f.Name()))
		must(t, err)
		must(t, fsys.WriteFileAtomic("/logs/k-0/"+f.Name(), data))
	}
	return fsys
}

func openKafka(t *testing.T, fsys segment.FS, opt segment.OpenOptions) *harness {
	t.Helper()
	l, rep, err := segment.OpenLog(fsys, "/logs/k-0", kafkaConfig(), opt)
	must(t, err)
	if l.LogEndOffset() != kafkaEnd || l.LogStartOffset() != 0 || rep.TruncatedAt >= 0 || rep.Damage != nil || rep.RebuiltIndexes != nil {
		t.Fatalf("%d to %d, %+v", l.LogStartOffset(), l.LogEndOffset(), rep)
	}
	h, err := attach(fsys, l)
	must(t, err)
	return h
}

// sameFiles fails if a file of Kafka's directory is not as Kafka wrote it. The active segment's indexes may lack the zeros.
func sameFiles(t *testing.T, fsys segment.FS, dir string) {
	t.Helper()
	files, err := os.ReadDir(kafkaDir)
	must(t, err)
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(kafkaDir, f.Name()))
		must(t, err)
		got, err := fsys.ReadFile(dir + "/" + f.Name())
		must(t, err)
		if strings.HasPrefix(f.Name(), "00000000000000000193.") {
			want, got = bytes.TrimRight(want, "\x00"), bytes.TrimRight(got, "\x00")
		}
		if f.Name() == segment.PartitionMetadataFile {
			got, _, _ = bytes.Cut(got, []byte("\ncrc32c: ")) // ours has one line more
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", f.Name(), got, want)
		}
	}
}

// TestOpenKafkaDirectory opens what Kafka wrote with no checkpoint at all: every segment is scanned, every index and every
// snapshot that is made again has Kafka's bytes.
func TestOpenKafkaDirectory(t *testing.T) {
	fsys := loadDir(t, kafkaDir)
	h := openKafka(t, fsys, segment.OpenOptions{})
	if got := h.log.TopicID().String(); got == strings.Repeat("A", 22) {
		t.Error("no topic id")
	}
	if n := len(h.log.Producers()); n != 5 {
		t.Errorf("%d producers, want those of five runs", n)
	}
	records, err := h.visible()
	must(t, err)
	for i, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		lines := strings.Split(records, "\n")[i*40 : i*40+40]
		for n, line := range lines {
			if !strings.HasSuffix(line, "="+codec+" line "+strconv.Itoa(n+1)) {
				t.Fatalf("record %d is %q", i*40+n, line)
			}
		}
	}
	sameFiles(t, fsys, "/logs/k-0")
	must(t, h.close())
	sameFiles(t, fsys, "/logs/k-0")
	openKafka(t, fsys, segment.OpenOptions{Clean: true, RecoveryPoint: kafkaEnd})
}

// TestRecoveryPointsOfKafkaDirectory opens it with each recovery point, also those inside of batches.
func TestRecoveryPointsOfKafkaDirectory(t *testing.T) {
	want := ""
	for at := wire.Offset(0); at <= kafkaEnd; at++ {
		fsys := loadDir(t, kafkaDir)
		h := openKafka(t, fsys, segment.OpenOptions{RecoveryPoint: at})
		got, err := h.visible()
		must(t, err)
		if at == 0 {
			want = got
		}
		if got != want || len(h.log.Producers()) != 5 {
			t.Fatalf("recovery point %d: other records or producers", at)
		}
		sameFiles(t, fsys, "/logs/k-0")
	}
}

// TestAppendWritesKafkasBytes appends Kafka's batches to a log of our own: it rolls where Kafka did, and every file is Kafka's,
// byte for byte, but for the checksum of partition.metadata.
func TestAppendWritesKafkasBytes(t *testing.T) {
	fsys := loadDir(t, kafkaDir)
	kafka := openKafka(t, fsys, segment.OpenOptions{})
	l, err := segment.CreateLog(fsys, "/logs/own-0", kafkaConfig(), kafka.log.TopicID(), 0)
	must(t, err)
	own, err := attach(fsys, l)
	must(t, err)
	for off := wire.Offset(0); off < kafkaEnd; {
		batches, _, err := kafka.fetch(off, kafkaEnd)
		must(t, err)
		for _, b := range batches {
			off = b.NextOffset()
			_, v, err := own.append(b, b.PartitionLeaderEpoch())
			must(t, err)
			if v.Code != wire.None || v.Duplicate {
				t.Fatalf("verdict %+v at %d", v, b.BaseOffset())
			}
		}
	}
	must(t, own.flush())
	sameFiles(t, fsys, "/logs/own-0")
}

// TestSwapIsFinished: a segment that was cleaned but not yet renamed takes the place of those that it was made of.
func TestSwapIsFinished(t *testing.T) {
	fsys := loadDir(t, kafkaDir)
	read := func(name string) []byte {
		data, err := fsys.ReadFile("/logs/k-0/" + name)
		must(t, err)
		return data
	}
	both := append(read("00000000000000000000.log"), read("00000000000000000064.log")...)
	must(t, fsys.WriteFileAtomic("/logs/k-0/00000000000000000000.log.swap", both))
	must(t, fsys.WriteFileAtomic("/logs/k-0/00000000000000000000.index.swap", nil))
	l, rep, err := segment.OpenLog(fsys, "/logs/k-0", kafkaConfig(), segment.OpenOptions{RecoveryPoint: kafkaEnd})
	must(t, err)
	if len(l.Segments()) != 3 || int(l.Segments()[0].Size()) != len(both) || l.LogEndOffset() != kafkaEnd {
		t.Fatalf("%d segments, end %d, %+v", len(l.Segments()), l.LogEndOffset(), rep)
	}
	if _, err := fsys.Stat("/logs/k-0/00000000000000000064.log"); err == nil {
		t.Error("the segment that was replaced is still there")
	}
}

// TestOldFormatIsRefused: a message of magic 1 stops the opening, and nothing is changed.
func TestOldFormatIsRefused(t *testing.T) {
	fsys := newLogsFS(t, 1)
	must(t, fsys.MkdirAll("/logs/k-0", 0o755))
	// Offset 0, size 24, CRC-32, magic 1, attributes 0, timestamp 1000, null key, value "ab".
	old := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0x40, 0x71, 0x29, 0xac, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0xe8, 255, 255, 255, 255, 0, 0, 0, 2, 'a', 'b'}
	old = append(old, make([]byte, 100)...)
	must(t, fsys.WriteFileAtomic("/logs/k-0/00000000000000000000.log", old))
	_, _, err := segment.OpenLog(fsys, "/logs/k-0", kafkaConfig(), segment.OpenOptions{})
	if !errors.Is(err, segment.ErrOldFormat) {
		t.Fatalf("error %v", err)
	}
	if now, _ := fsys.ReadFile("/logs/k-0/00000000000000000000.log"); !bytes.Equal(now, old) {
		t.Error("the log was changed")
	}
}
