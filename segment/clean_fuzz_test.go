package segment_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// FuzzClean: whatever records batches with good checksums hold, the cleaner ends, keeps the log's bounds, and leaves a log that
// opens without damage; or it says where the log is damaged.
func FuzzClean(f *testing.F) {
	names, err := filepath.Glob(dirtyDir + "/*.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint16(100))
	}
	f.Fuzz(func(t *testing.T, data []byte, slots uint16) {
		const end = 1 << 20
		data = withChecksums(data)
		fsys := newLogsFS(t, 1)
		must(t, fsys.MkdirAll(transcriptDir, 0o755))
		for base, content := range map[int][]byte{0: data, end: nil} {
			must(t, fsys.WriteFileAtomic(fmt.Sprintf("%s/%020d.log", transcriptDir, base), content))
		}
		cfg := compactConfig()
		l, rep, err := segment.OpenLog(fsys, transcriptDir, cfg, segment.OpenOptions{RecoveryPoint: end})
		if err != nil {
			return
		}
		h, err := attach(fsys, l)
		must(t, err)
		var damage *segment.CorruptionError
		if _, err = h.clean(1000, end, segment.CleanOptions{DedupeBytes: int64(slots), LoadFactor: 0.9}); err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
		if l.LogEndOffset() != end || l.LogStartOffset() != 0 {
			t.Fatalf("%d to %d", l.LogStartOffset(), l.LogEndOffset())
		}
		_, again, err := segment.OpenLog(fsys, transcriptDir, cfg, segment.OpenOptions{})
		if err != nil || again.Damage != nil || again.TruncatedAt >= 0 && rep.Damage == nil && damage == nil {
			t.Fatalf("%+v, %v, damage before %v", again, err, rep.Damage)
		}
	})
}

// withChecksums gives each batch of data the checksum of what it holds.
func withChecksums(data []byte) []byte {
	out := slices.Clone(data)
	for rest := out; len(rest) > 0; {
		b, tail, err := wire.ReadRecordBatch(rest)
		if err != nil {
			break
		}
		b.SetMaxTimestamp(b.MaxTimestamp())
		rest = tail
	}
	return out
}
