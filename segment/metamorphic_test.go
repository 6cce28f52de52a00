package segment_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// TestSameAppendsSameLog plays the same appends with other segment sizes, index intervals, codecs, flushes, kills and clean
// restarts. What a consumer sees, what lookups by time and epoch answer, and what the producers' next batches get, is always the
// same: how a log is cut into files is nobody's business.
func TestSameAppendsSameLog(t *testing.T) {
	want := playVariant(t, rand.New(rand.NewPCG(1, 1)), variant{segmentBytes: 1 << 30, interval: 4096})
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		v := variant{
			segmentBytes: 200 + rng.Int64N(3000), interval: 1 + rng.IntN(1000), indexBytes: 24 + rng.IntN(200),
			codec: wire.Compression(rng.IntN(5)), restarts: rng.IntN(2) == 0, releases: rng.IntN(2) == 0,
		}
		if got := playVariant(t, rng, v); got != want {
			line, wantLine := firstDifference(got, want)
			t.Fatalf("seed %d, %+v: %q, want %q", seed, v, line, wantLine)
		}
	}
}

func firstDifference(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i], y[i]
		}
	}
	return fmt.Sprint(len(x), " lines"), fmt.Sprint(len(y), " lines")
}

// variant is what must not matter.
type variant struct {
	segmentBytes         int64
	interval, indexBytes int
	codec                wire.Compression
	restarts, releases   bool
}

func playVariant(t *testing.T, rng *rand.Rand, v variant) string {
	t.Helper()
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = v.segmentBytes, v.interval
	if v.indexBytes > 0 {
		cfg.IndexBytes = v.indexBytes
	}
	fsys := newLogsFS(t, 1)
	h, err := createHarness(fsys, "/logs/m-0", cfg)
	must(t, err)
	for i := range 120 {
		b := metamorphicBatch(i, v.codec)
		_, verdict, err := h.append(b, wire.LeaderEpoch(i/25))
		must(t, err)
		if verdict != (segment.Verdict{}) {
			t.Fatalf("batch %d: %+v", i, verdict)
		}
		if v.releases && rng.IntN(5) == 0 {
			h.log.ReleaseBelow(h.log.LogEndOffset())
			h.log.ReleaseMemory()
		}
		if v.restarts && rng.IntN(10) == 0 {
			fsys, h = restart(t, rng, fsys, h, cfg)
		}
	}
	return observe(t, h)
}

// metamorphicBatch is the i-th batch: three producers and none in turn, timestamps that go up and down.
func metamorphicBatch(i int, codec wire.Compression) wire.RecordBatch {
	stamps := make([]wire.Timestamp, 1+i%4)
	for n := range stamps {
		stamps[n] = wire.Timestamp(10_000 + 100*i - 777*(i%3) + 13*(n%2))
	}
	h := wire.BatchHeader{Codec: codec, Idempotent: i%4 != 3, ProducerID: wire.ProducerID(i % 4)}
	h.BaseSequence = wire.Sequence(i / 4 * (1 + i%4))
	return batchOf(h, fmt.Sprintf("batch %d", i), stamps...)
}

// restart is a kill, a clean stop, or a flush and a power cut, which then loses nothing.
func restart(t *testing.T, rng *rand.Rand, fsys *segmenttest.FS, h *harness, cfg segment.Config) (*segmenttest.FS, *harness) {
	t.Helper()
	opt := segment.OpenOptions{RecoveryPoint: h.log.RecoveryPoint(), NowMS: 10_000}
	switch rng.IntN(3) {
	case 0:
		fsys.Kill()
	case 1:
		must(t, h.close())
		opt.Clean, opt.RecoveryPoint = true, h.log.LogEndOffset()
	case 2:
		must(t, h.flush())
		opt.RecoveryPoint = h.log.RecoveryPoint()
		fsys = fsys.Crash()
	}
	l, rep, err := segment.OpenLog(fsys, h.dir, cfg, opt)
	must(t, err)
	if rep.TruncatedAt >= 0 || rep.Damage != nil || rep.RebuiltIndexes != nil {
		t.Fatalf("%+v", rep)
	}
	next, err := attach(fsys, l)
	must(t, err)
	return fsys, next
}

// observe asks the log everything that clients may ask.
func observe(t *testing.T, h *harness) string {
	t.Helper()
	out, err := h.visible()
	must(t, err)
	end := h.log.LogEndOffset()
	for ts := wire.Timestamp(8_000); ts < 23_000; ts += 97 {
		off, at, epoch, found, err := h.log.PlanTimeLookup(ts, end).Run(h.open)
		must(t, err)
		out += fmt.Sprintln(ts, off, at, epoch, found)
	}
	off, at, epoch, found, err := h.log.PlanMaxTimestamp(end).Run(h.open)
	must(t, err)
	out += fmt.Sprintln("max", off, at, epoch, found)
	for e := wire.LeaderEpoch(0); e < 7; e++ {
		epoch, off := h.log.EndOffsetForEpoch(e)
		out += fmt.Sprintln("epoch", e, epoch, off)
	}
	for bound := wire.Offset(0); bound <= end; bound += 3 {
		for from := wire.Offset(0); from < end; from += 7 {
			out += observeFetch(t, h, from, bound)
		}
	}
	for i := 112; i < 124; i++ {
		out += fmt.Sprintf("batch %d: %+v\n", i, observeVerdict(h, i))
	}
	return out
}

// observeFetch is the first batch of a fetch, whatever segment it comes from. The last batch is a matter of the segment's end.
func observeFetch(t *testing.T, h *harness, from, bound wire.Offset) string {
	t.Helper()
	batches, p, err := h.fetch(from, bound)
	must(t, err)
	if p.Status != segment.FetchReady || len(batches) == 0 {
		return fmt.Sprintln(from, bound, segment.FetchEmpty)
	}
	if last := batches[len(batches)-1]; last.NextOffset() > bound {
		t.Fatalf("fetch at %d below %d gives up to %d", from, bound, last.LastOffset())
	}
	return fmt.Sprintln(from, bound, batches[0].BaseOffset())
}

// observeVerdict leaves out what a clean stop forgets: all but the newest batch of a producer.
func observeVerdict(h *harness, i int) segment.Verdict {
	v := h.log.CheckProducer(metamorphicBatch(i, wire.CompressionNone))
	if i < 116 {
		v = segment.Verdict{}
	}
	return v
}
