package segment_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// kafkaFile is a file that Apache Kafka wrote.
func kafkaFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(kafkaDir, name))
	must(t, err)
	return data
}

// FuzzOpenLog opens a directory whose files are arbitrary: no panic, no endless loop, never an offset below the recovery point
// given out again, and what was opened once is opened again as the same log, fetched to its end, and appended to.
func FuzzOpenLog(f *testing.F) {
	log0, index0, time0 := kafkaFile(f, "00000000000000000000.log"), kafkaFile(f, "00000000000000000000.index"), kafkaFile(f, "00000000000000000000.timeindex")
	log64, snapshot := kafkaFile(f, "00000000000000000064.log"), kafkaFile(f, "00000000000000000064.snapshot")
	meta := kafkaFile(f, "partition.metadata")
	f.Add(log0, index0, time0, log64, snapshot, meta, []byte("0\n1\n0 0\n"), uint16(64), false)
	f.Add(log0, index0, time0, log64, snapshot, meta, []byte("0\n1\n0 0\n"), uint16(129), true)
	f.Add(log0[:500], index0, time0, log64[:100], snapshot[:20], []byte("x"), []byte(nil), uint16(3), false)
	f.Add(make([]byte, 4096), make([]byte, 80), make([]byte, 72), []byte(nil), []byte(nil), meta, []byte("0\n0\n"), uint16(0), false)
	f.Fuzz(func(t *testing.T, log0, index0, time0, log64, snapshot, meta, epochs []byte, point uint16, clean bool) {
		fsys := newLogsFS(t, 1)
		must(t, fsys.MkdirAll("/logs/k-0", 0o755))
		files := [...][]byte{log0, index0, time0, log64, snapshot, meta, epochs}
		for i, name := range [...]string{
			"00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex",
			"00000000000000000064.log", "00000000000000000064.snapshot", "partition.metadata", segment.LeaderEpochCheckpoint,
		} {
			must(t, fsys.WriteFileAtomic("/logs/k-0/"+name, files[i]))
		}
		opt := segment.OpenOptions{RecoveryPoint: wire.Offset(point), Clean: clean}
		l, _, err := segment.OpenLog(fsys, "/logs/k-0", kafkaConfig(), opt)
		if err != nil {
			return
		}
		if l.LogEndOffset() < opt.RecoveryPoint || l.LogStartOffset() > l.LogEndOffset() {
			t.Fatalf("recovery point %d, log %d to %d", point, l.LogStartOffset(), l.LogEndOffset())
		}
		h, err := attach(fsys, l)
		must(t, err)
		drain(t, h)
		end := l.LogEndOffset()
		if _, _, err := h.append(batchOf(wire.BatchHeader{}, "after", 1), 1<<30); err != nil {
			t.Fatal(err)
		}
		must(t, h.close())
		again, rep, err := segment.OpenLog(fsys, "/logs/k-0", kafkaConfig(), segment.OpenOptions{RecoveryPoint: end + 1, Clean: true})
		must(t, err)
		if again.LogEndOffset() != end+1 {
			t.Fatalf("end %d, want %d, %+v", again.LogEndOffset(), end+1, rep)
		}
	})
}

// drain fetches from every offset that the log claims; damage is a typed error.
func drain(t *testing.T, h *harness) {
	t.Helper()
	end := h.log.LogEndOffset()
	for off, n := h.log.LogStartOffset(), 0; off < end && n < 300; n++ {
		batches, p, err := h.fetch(off, end)
		var damage *segment.CorruptionError
		var batch *wire.BatchError
		switch {
		case errors.Is(err, segment.ErrNoBatch):
			if p.Segment.NextOffset() <= off {
				t.Fatalf("at %d sent back to %d", off, p.Segment.NextOffset())
			}
			off = p.Segment.NextOffset()
		case errors.As(err, &damage), errors.As(err, &batch), err != nil && p.Segment != nil:
			off = p.Segment.NextOffset()
		case err != nil:
			t.Fatal(err)
		case len(batches) == 0:
			off = p.Segment.NextOffset()
		default: // the base offset is outside of the checksum, so it may be any
			if off = max(off, batches[len(batches)-1].NextOffset()); off < p.Segment.NextOffset() && off == p.From {
				off = p.Segment.NextOffset()
			}
		}
	}
	for _, ts := range []wire.Timestamp{-1, 0, 1_700_000_000_000, 1 << 62} {
		_, _, _, _, err := h.log.PlanTimeLookup(ts, end).Run(h.open)
		var damage *segment.CorruptionError
		if err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
	}
}

// FuzzReadProducerSnapshot: what is read is written back as it was; anything else is ErrSnapshot.
func FuzzReadProducerSnapshot(f *testing.F) {
	f.Add(kafkaFile(f, "00000000000000000064.snapshot"))
	f.Add(kafkaFile(f, "00000000000000000193.snapshot"))
	f.Add(segment.AppendProducerSnapshot(nil, nil))
	f.Add([]byte{0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := segment.ReadProducerSnapshot(data)
		if err != nil {
			if !errors.Is(err, segment.ErrSnapshot) {
				t.Fatal(err)
			}
			return
		}
		if again := segment.AppendProducerSnapshot(nil, entries); !bytes.Equal(again, data) {
			t.Fatalf("%x, read and written %x", data, again)
		}
	})
}

// FuzzReadPartitionMetadata: what is read is written back as it was, but for line breaks at the end.
func FuzzReadPartitionMetadata(f *testing.F) {
	f.Add(kafkaFile(f, "partition.metadata"))
	f.Add([]byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := segment.ReadPartitionMetadata(data)
		if err != nil {
			if !errors.Is(err, segment.ErrTopicID) {
				t.Fatal(err)
			}
			return
		}
		again, err := segment.ReadPartitionMetadata(segment.AppendPartitionMetadata(nil, id))
		if err != nil || again != id {
			t.Fatalf("%q gives %v, then %v: %v", data, id, again, err)
		}
	})
}

// FuzzFindBatch walks arbitrary bytes: no panic, no endless loop, an answer within the range.
func FuzzFindBatch(f *testing.F) {
	f.Add(kafkaFile(f, "00000000000000000000.log"), int64(17), uint16(0))
	f.Add(kafkaFile(f, "00000000000000000064.log"), int64(100), uint16(100))
	f.Add(binary.BigEndian.AppendUint64(make([]byte, 61), 1<<63), int64(0), uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, target int64, start uint16) {
		end := wire.Position(len(data))
		pos, size, err := segment.FindBatch(bytes.NewReader(data), wire.Offset(target), wire.Position(start), end)
		var damage *segment.CorruptionError
		switch {
		case err == nil && (pos < wire.Position(start) || pos+wire.Position(size) > end || size < wire.RecordBatchOverhead):
			t.Fatalf("%d bytes at %d of %d", size, pos, end)
		case err != nil && !errors.As(err, &damage) && !errors.Is(err, segment.ErrNoBatch):
			t.Fatal(err)
		}
	})
}
