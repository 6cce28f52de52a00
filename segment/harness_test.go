package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// harness does what a node does with a log's plans: it writes, rolls, loads indexes and reads.
type harness struct {
	fs   segment.FS
	dir  string
	log  *segment.Log
	file segment.File // the active segment's .log
	now  wire.Timestamp
}

func createHarness(fsys segment.FS, dir string, cfg segment.Config) (*harness, error) {
	l, err := segment.CreateLog(fsys, dir, cfg, wire.TopicID{0: 1, 15: 2}, 0)
	if err != nil {
		return nil, err
	}
	return attach(fsys, l)
}

func attach(fsys segment.FS, l *segment.Log) (*harness, error) {
	f, err := fsys.OpenFile(l.ActiveSegment().LogName(), segment.ReadWrite, 0)
	return &harness{fs: fsys, dir: l.Dir(), log: l, file: f, now: 1_000_000}, err
}

func (h *harness) roll(sync bool) error { return h.runRoll(h.log.PlanRoll(), sync) }

func (h *harness) runRoll(p segment.RollPlan, sync bool) error {
	f, err := p.Run(h.fs, sync)
	if err != nil {
		h.log.RollAbandoned(p)
		return err
	}
	h.log.Rolled(p)
	h.file.Close()
	h.file = f
	return nil
}

// replicate writes a batch as a follower does.
func (h *harness) replicate(b wire.RecordBatch) (segment.AppendPlan, error) {
	if h.log.NeedsRollReplicated(b, h.now) {
		if err := h.runRoll(h.log.PlanRollReplicated(b), false); err != nil {
			return segment.AppendPlan{}, err
		}
	}
	p := h.log.AppendReplicated(b, h.now)
	_, err := h.file.WriteAt(p.Bytes, int64(p.Position))
	return p, err
}

// append checks and writes a batch as a leader does.
func (h *harness) append(b wire.RecordBatch, epoch wire.LeaderEpoch) (segment.AppendPlan, segment.Verdict, error) {
	v := h.log.CheckProducer(b)
	if v.Code != wire.None || v.Duplicate {
		return segment.AppendPlan{}, v, nil
	}
	if h.log.NeedsRoll(b, h.now) {
		if err := h.roll(false); err != nil {
			return segment.AppendPlan{}, v, err
		}
	}
	p := h.log.Append(b, epoch, h.now)
	if _, err := h.file.WriteAt(p.Bytes, int64(p.Position)); err != nil {
		h.log.Undo(p)
		return p, v, err
	}
	return p, v, nil
}

// truncate runs a plan of PlanTruncate or PlanTruncateFully.
func (h *harness) truncate(p *segment.TruncatePlan) error {
	f, err := p.Run(h.fs)
	if err != nil {
		return err
	}
	h.log.Truncated(*p)
	h.file.Close()
	h.file = f
	return nil
}

func (h *harness) flush() error { return h.runFlush(h.log.PlanFlush()) }
func (h *harness) close() error { return h.runFlush(h.log.PlanClose()) }

func (h *harness) runFlush(p segment.FlushPlan) error {
	if err := p.Run(h.fs); err != nil {
		return err
	}
	h.log.Flushed(p)
	return nil
}

// plan asks for a fetch and loads the index if that is needed.
func (h *harness) plan(from, bound wire.Offset) (segment.FetchPlan, bool, error) {
	p := h.log.PlanFetch(from, bound)
	if p.Status != segment.FetchNeedIndex {
		return p, false, nil
	}
	x, err := p.LoadIndex(h.fs)
	if err != nil {
		return p, true, err
	}
	h.log.IndexLoaded(x)
	return h.log.PlanFetch(from, bound), true, nil
}

// fetch gives the batches from the one that holds from to the one below bound, of one segment.
func (h *harness) fetch(from, bound wire.Offset) ([]wire.RecordBatch, segment.FetchPlan, error) {
	p, _, err := h.plan(from, bound)
	if err != nil || p.Status != segment.FetchReady {
		return nil, p, err
	}
	f, err := h.fs.OpenFile(p.Segment.LogName(), segment.ReadOnly, 0)
	if err != nil {
		return nil, p, err
	}
	defer f.Close()
	at, err := p.Locate(f)
	if err != nil || at.Start >= at.End {
		return nil, p, err
	}
	batches, err := readBatches(f, at.Start, at.End)
	return batches, p, err
}

func readBatches(r io.ReaderAt, start, end wire.Position) ([]wire.RecordBatch, error) {
	buf := make([]byte, end-start)
	if n, err := r.ReadAt(buf, int64(start)); n < len(buf) {
		return nil, err
	}
	var out []wire.RecordBatch
	for len(buf) > 0 {
		b, tail, err := wire.ReadRecordBatch(buf)
		if err != nil {
			return out, err
		}
		if err := b.Check(); err != nil {
			return out, err
		}
		out, buf = append(out, b), tail
	}
	return out, nil
}

// visible is the whole log as a consumer sees it: offset, epoch, timestamp and value of each record.
func (h *harness) visible() (string, error) {
	var out bytes.Buffer
	end := h.log.LogEndOffset()
	for off := h.log.LogStartOffset(); off < end; {
		batches, p, err := h.fetch(off, end)
		if errors.Is(err, segment.ErrNoBatch) {
			off = p.Segment.NextOffset()
			continue
		}
		if err != nil {
			return out.String(), fmt.Errorf("fetch at %d (%v): %w", off, p.Status, err)
		}
		if len(batches) == 0 {
			return out.String(), fmt.Errorf("fetch at %d of %d: %v, nothing", off, end, p.Status)
		}
		for _, b := range batches {
			writeRecords(&out, b)
			off = b.NextOffset()
		}
	}
	return out.String(), nil
}

func writeRecords(out io.Writer, b wire.RecordBatch) {
	it, err := b.Records(nil)
	for rec, ok := it.Next(); ok && err == nil; rec, ok = it.Next() {
		fmt.Fprintf(out, "%d/%d@%d=%s\n", b.BaseOffset()+wire.Offset(rec.OffsetDelta), b.PartitionLeaderEpoch(),
			b.BaseTimestamp()+wire.Timestamp(rec.TimestampDelta), rec.Value)
	}
}

func (h *harness) open(name string) (segment.File, error) {
	return h.fs.OpenFile(name, segment.ReadOnly, 0)
}

// batchOf makes a batch of records with these timestamps.
func batchOf(h wire.BatchHeader, value string, timestamps ...wire.Timestamp) wire.RecordBatch {
	h.BaseTimestamp = timestamps[0]
	recs := make([]wire.Record, len(timestamps))
	for i, ts := range timestamps {
		recs[i] = wire.Record{OffsetDelta: int32(i), TimestampDelta: int64(ts - timestamps[0]), Value: []byte(value)}
	}
	return wire.RecordBatch(wire.AppendRecordBatch(nil, h, recs))
}

func smallConfig() segment.Config {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes = 1000, 150
	return cfg
}

// newLogsFS is a crashable file system with an empty directory /logs.
func newLogsFS(t testing.TB, seed uint64) *segmenttest.FS {
	t.Helper()
	fsys := segmenttest.New(seed)
	if err := fsys.MkdirAll("/logs", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := fsys.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	return fsys
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
