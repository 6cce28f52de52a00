package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// testdata/kafka/dirty-0 is a compacted partition that Apache Kafka 4.1.1 wrote (all codecs, tombstones, headers, committed and
// aborted transactions; delete.retention.ms=3600000, index.interval.bytes=300), and cleaned-0 is the same partition after Kafka's
// log cleaner, both copied while the broker ran.
const (
	dirtyDir   = "testdata/kafka/dirty-0"
	cleanedDir = "testdata/kafka/cleaned-0"
)

func compactConfig() segment.Config {
	cfg := segment.DefaultConfig()
	cfg.Compact, cfg.Delete = true, false
	cfg.IndexIntervalBytes, cfg.DeleteRetentionMS = 300, 3600_000
	return cfg
}

var cleanOptions = segment.CleanOptions{DedupeBytes: 1 << 20, LoadFactor: 0.9}

// clean does what a node does with a cleaning, and gives the job's result.
func (h *harness) clean(now, hw int64, opt segment.CleanOptions) (segment.CleanResult, error) {
	if err := h.flush(); err != nil {
		return segment.CleanResult{}, err
	}
	plan := h.log.PlanClean(wire.Timestamp(now), wire.Offset(hw))
	job, err := plan.Start(h.fs, opt)
	if err != nil {
		return segment.CleanResult{}, err
	}
	for {
		g, ok, err := job.Next()
		if err != nil {
			return job.Result(), err
		}
		if !ok {
			h.log.CleanDone(job.Through())
			return job.Result(), nil
		}
		swap, ok := h.log.PlanSwap(g)
		if !ok {
			if err := g.Discard(h.fs); err != nil {
				return job.Result(), err
			}
			continue
		}
		if err := swap.Run(h.fs); err != nil {
			return job.Result(), err
		}
		h.log.Cleaned(swap)
	}
}

func allBatches(t *testing.T, fsys segment.FS, name string) []wire.RecordBatch {
	t.Helper()
	data, err := fsys.ReadFile(name)
	must(t, err)
	var out []wire.RecordBatch
	for len(data) > 0 {
		b, tail, err := wire.ReadRecordBatch(data)
		must(t, err)
		must(t, b.Check())
		out, data = append(out, b), tail
	}
	return out
}

// describeBatch is all of a batch but how its codec packed it.
func describeBatch(b wire.RecordBatch) string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%x count %d", []byte(b[12+4+1+4:57]), b.RecordCount())
	fmt.Fprintf(&out, " offset %d epoch %d", b.BaseOffset(), b.PartitionLeaderEpoch())
	it, err := b.Records(nil)
	for rec, ok := it.Next(); ok && err == nil; rec, ok = it.Next() {
		fmt.Fprintf(&out, "\n  %+v", rec)
	}
	if it.Err() != nil || err != nil {
		fmt.Fprintf(&out, " %v %v", err, it.Err())
	}
	return out.String()
}

// TestCleanAsKafka cleans what Kafka cleaned, and compares batch by batch.
func TestCleanAsKafka(t *testing.T) {
	const name = "/logs/k-0/00000000000000000000"
	kafka := loadDir(t, cleanedDir)
	want := allBatches(t, kafka, name+".log")
	now := int64(0)
	for _, b := range want {
		if b.HasDeleteHorizon() {
			now = int64(b.BaseTimestamp()) - 3600_000
		}
	}
	fsys := loadDir(t, dirtyDir)
	l, rep, err := segment.OpenLog(fsys, "/logs/k-0", compactConfig(), segment.OpenOptions{NowMS: wire.Timestamp(now)})
	if err != nil || rep.Damage != nil || rep.TruncatedAt >= 0 {
		t.Fatal(rep, err)
	}
	h, err := attach(fsys, l)
	must(t, err)
	must(t, h.flush())
	c := l.Cleanable(wire.Timestamp(now), l.LogEndOffset())
	if c.FirstDirty != 0 || c.FirstUncleanable != 82 || c.CleanBytes != 0 || c.Ratio() != 1 || c.Overdue {
		t.Errorf("%+v", c)
	}
	res, err := h.clean(now, int64(l.LogEndOffset()), cleanOptions)
	must(t, err)
	t.Logf("%+v", res)
	got := allBatches(t, fsys, name+".log")
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = describeBatch(got[i])
		}
		if i < len(want) {
			w = describeBatch(want[i])
		}
		if g != w {
			t.Errorf("batch %d:\n%s\nKafka has\n%s", i, g, w)
		}
	}
	for _, suffix := range []string{".txnindex"} {
		g, err := fsys.ReadFile(name + suffix)
		must(t, err)
		w, err := kafka.ReadFile(name + suffix)
		if err != nil || !bytes.Equal(g, w) {
			t.Errorf("%s: %x, Kafka has %x; %v", suffix, g, w, err)
		}
	}
	if n := len(l.Segments()); n != 2 || l.CleanerOffset() != 82 {
		t.Errorf("%d segments, clean to %d", n, l.CleanerOffset())
	}
	must(t, h.close())
	verifyClean(t, fsys, "/logs/k-0", segment.VerifyOptions{Compacted: true, Records: true})
}

// keyed makes a batch of records, each "key=value" or "key" for a tombstone.
func keyed(h wire.BatchHeader, pairs ...string) wire.RecordBatch {
	recs := make([]wire.Record, len(pairs))
	for i, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		recs[i] = wire.Record{OffsetDelta: int32(i), Key: []byte(k)}
		if ok {
			recs[i].Value = []byte(v)
		}
	}
	return wire.AppendRecordBatch(nil, h, recs)
}

// compacted makes a log of these batches with a roll at the end, and cleans it.
func compacted(t *testing.T, batches ...wire.RecordBatch) *harness {
	t.Helper()
	h, err := createHarness(newLogsFS(t, 1), transcriptDir, compactConfig())
	must(t, err)
	for _, b := range batches {
		_, v, err := h.append(b, 0)
		must(t, err)
		must(t, verdictError(v))
	}
	must(t, h.roll(false))
	_, err = h.clean(1000, int64(h.log.LogEndOffset()), cleanOptions)
	must(t, err)
	return h
}

// offsetsAt is what a client gets that fetches at an offset: the offsets of the records it can use, and where it goes on.
func offsetsAt(t *testing.T, h *harness, at wire.Offset) (usable []wire.Offset, next wire.Offset) {
	t.Helper()
	batches, p, err := h.fetch(at, h.log.LogEndOffset())
	if errors.Is(err, segment.ErrNoBatch) {
		return nil, p.Segment.NextOffset()
	}
	must(t, err)
	for next = at; len(batches) > 0; batches = batches[1:] {
		for _, off := range slices.Sorted(maps.Keys(recordsOf(batches[0]))) {
			if off >= at && !batches[0].IsControl() {
				usable = append(usable, off)
			}
		}
		next = batches[0].NextOffset()
	}
	return usable, next
}

// TestFaultsCompactedFetch are faults that clients met on compacted topics: wherever a fetch begins, it leads on, to the log's end.
func TestFaultsCompactedFetch(t *testing.T) {
	for name, c := range map[string]struct {
		log  func(t *testing.T) *harness
		at   wire.Offset
		want []wire.Offset
		next wire.Offset
	}{
		// The reader stands at 3, records 0 to 12 of one batch were compacted away.
		"tulios/kafkajs#562": {func(t *testing.T) *harness {
			old, fresh := make([]string, 13), make([]string, 13)
			for i := range old {
				old[i], fresh[i] = fmt.Sprintf("k%d=old", i), fmt.Sprintf("k%d=new", i)
			}
			return compacted(t, keyed(wire.BatchHeader{}, old...), keyed(wire.BatchHeader{}, fresh...))
		}, 3, []wire.Offset{13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}, 26},
		// A batch of 32 to 40, 41 was compacted, and the reader stands at 41.
		"IBM/sarama#1005": {func(t *testing.T) *harness {
			var first []string
			for i := range 32 {
				first = append(first, fmt.Sprintf("a%d=x", i))
			}
			return compacted(t, keyed(wire.BatchHeader{}, first...), keyed(wire.BatchHeader{}, first[:9]...),
				keyed(wire.BatchHeader{}, "gone=1"), keyed(wire.BatchHeader{}, "gone=2", "b=3"))
		}, 41, []wire.Offset{42, 43}, 44},
		// Batches of which no record survives: of the last round's end and of a producer only headers are left.
		"confluentinc/librdkafka#1472": {func(t *testing.T) *harness {
			h := wire.BatchHeader{Idempotent: true, ProducerID: 4}
			return compacted(t, keyed(wire.BatchHeader{}, "a=1"), keyed(h, "a=2", "b=2"), keyed(wire.BatchHeader{}, "a=3", "b=3"),
				keyed(wire.BatchHeader{}, "a=4", "b=4"))
		}, 0, []wire.Offset{5, 6}, 7},
		// Unique keys in a transaction: the position reaches the end offset though the last offset is a marker.
		"redpanda-data/redpanda#8698": {func(t *testing.T) *harness {
			h := wire.BatchHeader{Idempotent: true, ProducerID: 4, Transactional: true}
			return compacted(t, keyed(h, "a=1", "b=2", "c=3"), marker(4, true, 5))
		}, 0, []wire.Offset{0, 1, 2}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			h := c.log(t)
			usable, next := offsetsAt(t, h, c.at)
			if !slices.Equal(usable, c.want) || next != c.next {
				t.Errorf("a fetch at %d gives %d and goes on at %d, want %d and %d", c.at, usable, next, c.want, c.next)
			}
			for at := wire.Offset(0); at < h.log.LogEndOffset(); at++ {
				if _, next := offsetsAt(t, h, at); next <= at {
					t.Errorf("a fetch at %d goes on at %d", at, next)
				}
			}
		})
	}
}

// TestCleanGaps: offsets may be further apart than an index can say (AutoMQ#3339): nothing goes, and segments are joined only where
// their offsets fit.
func TestCleanGaps(t *testing.T) {
	const wide = math.MaxInt32
	bases := []wire.Offset{0, 1, 5 + wide, 6 + wide, 7 + 3*wide, 7 + 5*wide, 8 + 5*wide, 8 + 6*wide}
	h, err := createHarness(newLogsFS(t, 1), transcriptDir, compactConfig())
	must(t, err)
	for i, base := range bases {
		b := keyed(wire.BatchHeader{BaseOffset: base}, fmt.Sprintf("k%d=%d", i, i), "shared="+fmt.Sprint(i))
		b.SetBaseOffset(base)
		if i > 0 && base != bases[i-1]+1 || i%2 == 1 {
			r := h.log.PlanRollAt(max(base, h.log.LogEndOffset()))
			f, err := r.Run(h.fs, true)
			must(t, err)
			h.log.Rolled(r)
			h.file = f
		}
		b.SetBaseOffset(max(base, h.log.LogEndOffset()))
		p := h.log.AppendReplicated(b, h.now)
		_, err := h.file.WriteAt(p.Bytes, int64(p.Position))
		must(t, err)
	}
	must(t, h.roll(false))
	end := h.log.LogEndOffset()
	_, err = h.clean(1000, int64(end), cleanOptions)
	must(t, err)
	if h.log.LogEndOffset() != end {
		t.Errorf("the log ends at %d, it ended at %d", h.log.LogEndOffset(), end)
	}
	for range 2 {
		got, _ := readCommitted(t, h)
		found := final(got, func(wire.Offset) bool { return true })
		for i := range bases {
			if found[fmt.Sprint("k", i)] != fmt.Sprint(i) {
				t.Errorf("key %d: %q", i, found[fmt.Sprint("k", i)])
			}
		}
		if found["shared"] != fmt.Sprint(len(bases)-1) || len(got) != len(bases)+1 {
			t.Errorf("%v of %d records", found, len(got))
		}
		for _, s := range h.log.Segments() {
			for _, b := range allBatches(t, h.fs, s.LogName()) {
				if b.LastOffset()-s.BaseOffset() > math.MaxInt32 {
					t.Errorf("offset %d in segment %d", b.LastOffset(), s.BaseOffset())
				}
			}
		}
		l, rep, err := segment.OpenLog(h.fs, transcriptDir, compactConfig(), segment.OpenOptions{})
		if err != nil || rep.Damage != nil || rep.TruncatedAt >= 0 || l.LogEndOffset() != end {
			t.Fatal(rep, err)
		}
		h, err = attach(h.fs, l)
		must(t, err)
	}
}

// TestCleanInterrupted: ended at any step, a cleaning leaves the log as it was, no file of its own, and the next one succeeds.
func TestCleanInterrupted(t *testing.T) {
	enough := errors.New("enough")
	for stop := 1; ; stop++ {
		y := newHistory(3)
		h, err := createHarness(newLogsFS(t, 1), transcriptDir, y.config())
		must(t, err)
		for range 60 {
			must(t, y.append(h))
		}
		steps, opt := 0, cleanOptions
		opt.Step = func(int) error {
			if steps++; steps == stop {
				return enough
			}
			return nil
		}
		_, err = h.clean(y.now, int64(h.log.LogEndOffset()), opt)
		if err != nil && !errors.Is(err, enough) {
			t.Fatal(err)
		}
		files, listErr := h.fs.ReadDir(transcriptDir)
		must(t, listErr)
		for _, f := range files {
			if strings.HasSuffix(f.Name, ".cleaned") || strings.HasSuffix(f.Name, ".swap") {
				t.Errorf("stopped at step %d: %s is left", stop, f.Name)
			}
		}
		done := err == nil
		y.check(t, h)
		must(t, y.clean(h, cleanOptions))
		y.check(t, h)
		if done {
			return
		}
	}
}

// TestCleanRetained: retention takes a segment while a cleaned one is made of it: that one is discarded.
func TestCleanRetained(t *testing.T) {
	h := compactedInTwo(t)
	must(t, h.flush())
	plan := h.log.PlanClean(1000, h.log.LogEndOffset())
	job, err := plan.Start(h.fs, cleanOptions)
	must(t, err)
	g, ok, err := job.Next()
	if err != nil || !ok || g.Sources() != 2 {
		t.Fatalf("%+v, %t, %v", g, ok, err)
	}
	first := h.log.Segments()[:1]
	h.log.AdvanceStart(2)
	h.log.DropSegments(first)
	must(t, segment.DeleteSegments(h.fs, first))
	if _, ok := h.log.PlanSwap(g); ok {
		t.Fatal("a swap with a segment that is gone")
	}
	must(t, g.Discard(h.fs))
	verifyClean(t, h.fs, transcriptDir, segment.VerifyOptions{Compacted: true})
}

// compactedInTwo is a dirty log of two sealed segments and an active one.
func compactedInTwo(t *testing.T) *harness {
	h, err := createHarness(newLogsFS(t, 1), transcriptDir, compactConfig())
	must(t, err)
	h.now = 100
	for range 2 {
		_, _, err := h.append(keyed(wire.BatchHeader{BaseTimestamp: 100}, "a=1", "b=2"), 0)
		must(t, err)
		must(t, h.roll(false))
	}
	return h
}

// TestCleanable: what may be cleaned, and when it is due.
func TestCleanable(t *testing.T) {
	h := compactedInTwo(t)
	l := h.log
	check := func(what string, now, hw int64, want segment.Cleanable) {
		t.Helper()
		if got := l.Cleanable(wire.Timestamp(now), wire.Offset(hw)); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	size := int64(l.Segments()[0].Size())
	check("nothing is on disk", 1000, 4, segment.Cleanable{})
	must(t, h.flush())
	check("all", 1000, 4, segment.Cleanable{FirstUncleanable: 4, CleanableBytes: 2 * size})
	check("high watermark", 1000, 3, segment.Cleanable{FirstUncleanable: 2, CleanableBytes: size})
	cfg := *l.Config()
	cfg.MinCompactionLagMS = 900
	l.SetConfig(cfg)
	check("too young", 999, 4, segment.Cleanable{})
	check("old enough", 1000, 4, segment.Cleanable{FirstUncleanable: 4, CleanableBytes: 2 * size})
	cfg.MinCompactionLagMS, cfg.MaxCompactionLagMS = 0, 500
	l.SetConfig(cfg)
	check("not overdue", 600, 4, segment.Cleanable{FirstUncleanable: 4, CleanableBytes: 2 * size})
	check("overdue", 601, 4, segment.Cleanable{FirstUncleanable: 4, CleanableBytes: 2 * size, Overdue: true})
	l.CleanDone(2)
	check("half", 600, 4, segment.Cleanable{FirstDirty: 2, FirstUncleanable: 4, CleanBytes: size, CleanableBytes: size})
	if c := l.Cleanable(600, 4); c.Ratio() != 0.5 || c.Due(0.5) || !c.Due(0.49) || !l.Cleanable(601, 4).Due(1) {
		t.Errorf("ratio %v", c.Ratio())
	}
	l.CleanDone(5)
	check("a checkpoint beyond the log", 600, 4, segment.Cleanable{FirstUncleanable: 4, CleanableBytes: 2 * size})
	_, _, err := h.append(batchOf(wire.BatchHeader{Idempotent: true, ProducerID: 1, Transactional: true}, "x", 1), 0)
	must(t, err)
	must(t, h.roll(true))
	must(t, h.flush())
	l.CleanDone(wire.NoOffset)
	check("an open transaction", 600, 5, segment.Cleanable{FirstUncleanable: 4, CleanableBytes: 2 * size})
}

// TestCleanedSegmentsExpire: a segment of which compaction has left no record does not hold back those behind it.
func TestCleanedSegmentsExpire(t *testing.T) {
	h := compactedInTwo(t)
	_, _, err := h.append(keyed(wire.BatchHeader{BaseTimestamp: 2000}, "a=3"), 0)
	must(t, err)
	cfg := *h.log.Config()
	cfg.Delete, cfg.RetentionMS, cfg.SegmentBytes = true, 1000, 100 // too small to join segments
	h.log.SetConfig(cfg)
	_, err = h.clean(1000, 5, cleanOptions)
	must(t, err)
	for range 2 {
		if segs := h.log.Segments(); len(segs) != 3 || segs[0].MaxTimestamp() >= 0 || segs[1].MaxTimestamp() != 100 {
			t.Fatalf("%d segments, the first of time %d", len(segs), segs[0].MaxTimestamp())
		}
		if got := h.log.PlanRetention(1050, 5); len(got) != 0 {
			t.Errorf("%d segments go before their time", len(got))
		}
		if got := h.log.PlanRetention(1200, 5); len(got) != 2 {
			t.Errorf("%d segments go, want 2", len(got))
		}
		must(t, h.close())
		l, _, err := segment.OpenLog(h.fs, transcriptDir, cfg, segment.OpenOptions{Clean: true, RecoveryPoint: 5})
		must(t, err)
		h, err = attach(h.fs, l)
		must(t, err)
	}
}

// TestCleanDamaged: a log with bytes that are no batch is not cleaned, and not changed.
func TestCleanDamaged(t *testing.T) {
	h := compactedInTwo(t)
	must(t, h.flush())
	f, err := h.fs.OpenFile(h.log.Segments()[1].LogName(), segment.ReadWrite, 0)
	must(t, err)
	_, err = f.WriteAt([]byte{0xff}, 70)
	must(t, err)
	_, err = h.clean(1000, 4, cleanOptions)
	var damage *segment.CorruptionError
	if !errors.As(err, &damage) || damage.Segment != 2 || damage.Offset != 2 {
		t.Error(err)
	}
	if len(h.log.Segments()) != 3 {
		t.Error("segments went")
	}
}

// TestCleanKeepsUndecodable: a batch whose records make no sense stays, byte by byte, and takes nothing away.
func TestCleanKeepsUndecodable(t *testing.T) {
	for _, deltas := range [][2]byte{{0, 0}, {2, 0}, {0, 6}, {1, 2}} { // zig-zag: 0 0, 1 0, 0 3, -1 1
		bad := slices.Clone(keyed(wire.BatchHeader{}, "a=1", "b=1"))
		bad[61+3], bad[61+9+3] = deltas[0], deltas[1]
		bad.SetMaxTimestamp(0) // with a checksum that matches
		want := slices.Clone(bad)
		h := compacted(t, keyed(wire.BatchHeader{}, "a=0", "c=0"), bad, keyed(wire.BatchHeader{}, "c=3"), keyed(wire.BatchHeader{}, "d=4"))
		want.SetBaseOffset(2)
		got := allBatches(t, h.fs, h.log.Segments()[0].LogName())
		if len(got) != 4 || got[0].RecordCount() != 1 || !bytes.Equal(got[1], want) || got[2].RecordCount() != 1 {
			t.Errorf("offset deltas %v: %x", deltas, got)
		}
	}
	bad := keyed(wire.BatchHeader{Codec: wire.CompressionZstd}, "a=1")
	bad = slices.Clone(bad)
	bad[len(bad)-5] ^= 0xff
	bad[len(bad)-3] ^= 0xff
	bad[61] = 0
	bad.SetMaxTimestamp(0) // with a checksum that matches
	want := slices.Clone(bad)
	h := compacted(t, bad, keyed(wire.BatchHeader{}, "a=2", "b=3"), keyed(wire.BatchHeader{}, "b=4"))
	got := allBatches(t, h.fs, h.log.Segments()[0].LogName())
	if len(got) != 3 || !bytes.Equal(got[0], want) || got[1].RecordCount() != 1 {
		t.Errorf("%x", got)
	}
}
