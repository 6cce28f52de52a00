package segment_test

import (
	"bytes"
	"fmt"
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
