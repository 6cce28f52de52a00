package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// historyRecord is a record as it was appended.
type historyRecord struct {
	key, text string // text is all that must never change: time, value, headers
	value     string
	tombstone bool
}

// history is a log's life, kept beside the log: what a reader of the whole of it would have seen.
type history struct {
	rng      *rand.Rand
	seq      map[wire.ProducerID]wire.Sequence
	records  map[wire.Offset]historyRecord
	batches  []historyBatch
	now      int64 // milliseconds
	rounds   []cleanRound
	retained int64 // delete.retention.ms
}

type historyBatch struct {
	base, last wire.Offset
	id         wire.ProducerID // -1: none
	txn        bool
	marker     bool
	commit     bool
}

type cleanRound struct {
	at      int64
	through wire.Offset
}

func newHistory(seed uint64) *history {
	return &history{
		rng: rand.New(rand.NewPCG(seed, 3)), seq: map[wire.ProducerID]wire.Sequence{},
		records: map[wire.Offset]historyRecord{}, now: 1_000_000, retained: 5000,
	}
}

func (y *history) config() segment.Config {
	cfg := smallConfig()
	cfg.Compact, cfg.Delete, cfg.DeleteRetentionMS = true, false, y.retained
	return cfg
}

// batch makes the next one: data of ten keys with values of three sizes, or the end of a transaction. Producer 0 is none, 1 and
// 2 are idempotent, the others transactional.
func (y *history) batch() wire.RecordBatch {
	id := wire.ProducerID(y.rng.IntN(6))
	y.now += int64(y.rng.IntN(200))
	if id > 2 && y.rng.IntN(3) == 0 {
		return wire.AppendTxnMarker(nil, id, 0, y.rng.IntN(2) == 0, 0, wire.Timestamp(y.now))
	}
	h := wire.BatchHeader{
		Idempotent: id > 0, ProducerID: id, BaseSequence: y.seq[id], Transactional: id > 2, Codec: wire.Compression(y.rng.IntN(5)),
		BaseTimestamp: wire.Timestamp(y.now),
	}
	recs := make([]wire.Record, 1+y.rng.IntN(4))
	for i := range recs {
		recs[i] = wire.Record{
			OffsetDelta: int32(i), TimestampDelta: int64(y.rng.IntN(100) - 50), Key: []byte(fmt.Sprint("key ", y.rng.IntN(10))),
			Value: []byte(fmt.Sprint("value ", y.rng.Uint32(), strings.Repeat(".", 30*y.rng.IntN(3)))),
		}
		if y.rng.IntN(4) == 0 {
			recs[i].Value = nil
		}
		if y.rng.IntN(4) == 0 {
			recs[i].Headers = []wire.RecordHeader{{Key: []byte("a"), Value: []byte("b")}, {Key: []byte{}}}
		}
	}
	y.seq[id] += wire.Sequence(len(recs))
	return wire.AppendRecordBatch(nil, h, recs)
}

func (y *history) note(b wire.RecordBatch) {
	marker, isMarker := wire.ReadTxnMarker(b)
	y.batches = append(y.batches, historyBatch{
		base: b.BaseOffset(), last: b.LastOffset(), id: b.ProducerID(), txn: b.IsTransactional(), marker: isMarker, commit: marker.Commit,
	})
	if isMarker {
		return
	}
	for off, r := range recordsOf(b) {
		y.records[off] = r
	}
}

func recordsOf(b wire.RecordBatch) map[wire.Offset]historyRecord {
	out := map[wire.Offset]historyRecord{}
	it, err := b.Records(nil)
	for rec, ok := it.Next(); ok && err == nil; rec, ok = it.Next() {
		out[b.BaseOffset()+wire.Offset(rec.OffsetDelta)] = historyRecord{
			key: string(rec.Key), value: string(rec.Value), tombstone: rec.Value == nil,
			text: fmt.Sprintf("%d %q %t %+v", b.RecordTimestamp(rec), rec.Value, rec.Value == nil, rec.Headers),
		}
	}
	if err = errors.Join(err, it.Err()); err != nil {
		panic(err)
	}
	return out
}

// append appends one batch of the history to the log.
func (y *history) append(h *harness) error {
	b := y.batch()
	if h.log.NeedsRoll(b, h.now) {
		if err := h.roll(y.rng.IntN(2) == 0); err != nil {
			return err
		}
	}
	p := h.log.Append(b, 0, h.now)
	if _, err := h.file.WriteAt(p.Bytes, int64(p.Position)); err != nil {
		return err
	}
	h.log.ReleaseBelow(h.log.LogEndOffset())
	y.note(p.Bytes)
	return nil
}

// cut forgets what a power cut took.
func (y *history) cut(end wire.Offset) {
	y.batches = slices.DeleteFunc(y.batches, func(b historyBatch) bool { return b.last >= end })
	maps.DeleteFunc(y.records, func(off wire.Offset, _ historyRecord) bool { return off >= end })
	y.seq = map[wire.ProducerID]wire.Sequence{}
}

// committed gives the offsets of the records that a read_committed reader of the whole history sees below a bound.
func (y *history) committed(bound wire.Offset) map[wire.Offset]bool {
	out := map[wire.Offset]bool{}
	open := map[wire.ProducerID][]historyBatch{}
	add := func(b historyBatch) {
		for off := b.base; off <= b.last; off++ {
			out[off] = true
		}
	}
	for _, b := range y.batches {
		switch {
		case b.marker:
			if b.commit {
				for _, data := range open[b.id] {
					add(data)
				}
			}
			delete(open, b.id)
		case b.txn:
			open[b.id] = append(open[b.id], b)
		default:
			add(b)
		}
	}
	maps.DeleteFunc(out, func(off wire.Offset, _ bool) bool { return off >= bound })
	return out
}

// final is the map that records lead to, applied in the order of offsets.
func final(records map[wire.Offset]historyRecord, visible func(wire.Offset) bool) map[string]string {
	out := map[string]string{}
	for _, off := range slices.Sorted(maps.Keys(records)) {
		if r := records[off]; !visible(off) {
			continue
		} else if r.tombstone {
			delete(out, r.key)
		} else {
			out[r.key] = r.value
		}
	}
	return out
}

// readCommitted reads the log as a read_committed consumer does: fetch after fetch, skipping aborted transactions by the answer's
// list, up to the last stable offset.
func readCommitted(t *testing.T, h *harness) (map[wire.Offset]historyRecord, wire.Offset) {
	t.Helper()
	end := h.log.LogEndOffset()
	stable := h.log.LastStableOffset(end)
	out := map[wire.Offset]historyRecord{}
	for off := h.log.LogStartOffset(); off < stable; {
		batches, p, err := h.fetch(off, stable)
		if errors.Is(err, segment.ErrNoBatch) {
			off = p.Segment.NextOffset()
			continue
		}
		must(t, err)
		if len(batches) == 0 || batches[0].LastOffset() < off {
			t.Fatalf("a fetch at %d of %d gives nothing that leads on: %v", off, stable, p.Status)
		}
		upTo := batches[len(batches)-1].NextOffset()
		list, err := h.log.PlanAborted(off, upTo).Run(h.fs)
		must(t, err)
		consume(batches, list, off, out)
		off = upTo
	}
	return out, stable
}

// consume does what a consumer does with a fetch response.
func consume(batches []wire.RecordBatch, list []wire.AbortedTransaction, from wire.Offset, out map[wire.Offset]historyRecord) {
	skip := map[wire.ProducerID]bool{}
	for _, b := range batches {
		for len(list) > 0 && list[0].FirstOffset <= b.LastOffset() {
			skip[list[0].ProducerID] = true
			list = list[1:]
		}
		if b.IsControl() {
			if m, ok := wire.ReadTxnMarker(b); ok && !m.Commit {
				delete(skip, b.ProducerID())
			}
			continue
		}
		if b.IsTransactional() && skip[b.ProducerID()] {
			continue
		}
		for off, r := range recordsOf(b) {
			if off >= from {
				out[off] = r
			}
		}
	}
}

// check compares the log with the history.
func (y *history) check(t *testing.T, h *harness) {
	t.Helper()
	got, stable := readCommitted(t, h)
	visible := y.committed(stable)
	all := func(wire.Offset) bool { return true }
	want := final(y.records, func(off wire.Offset) bool { return visible[off] })
	if have := final(got, all); !maps.Equal(have, want) {
		t.Fatalf("the log leads to %v, the history to %v", have, want)
	}
	for off, r := range got {
		if y.records[off].text != r.text || y.records[off].key != r.key || !visible[off] {
			t.Fatalf("offset %d: %+v, appended was %+v, visible %t", off, r, y.records[off], visible[off])
		}
	}
	y.checkTombstones(t, got, visible)
	y.checkTimes(t, h)
	y.checkClean(t, got)
}

// checkTimes: a lookup by time finds the first record of the log that is late enough, and the latest of all.
func (y *history) checkTimes(t *testing.T, h *harness) {
	t.Helper()
	var offsets []wire.Offset
	var times []wire.Timestamp
	for _, s := range h.log.Segments() {
		for _, b := range allBatches(t, h.fs, s.LogName()) {
			it, err := b.Records(nil)
			must(t, err)
			for rec, ok := it.Next(); ok; rec, ok = it.Next() {
				offsets, times = append(offsets, b.BaseOffset()+wire.Offset(rec.OffsetDelta)), append(times, b.RecordTimestamp(rec))
			}
		}
	}
	end := h.log.LogEndOffset()
	for range 4 {
		target := wire.Timestamp(y.now - y.rng.Int64N(30_000))
		i := slices.IndexFunc(times, func(ts wire.Timestamp) bool { return ts >= target })
		off, ts, _, found, err := h.log.PlanTimeLookup(target, end).Run(h.open)
		if err != nil || found != (i >= 0) || found && (off != offsets[i] || ts != times[i]) {
			t.Fatalf("time %d: offset %d at %d (%t), want number %d of %d; %v", target, off, ts, found, i, len(offsets), err)
		}
	}
	if len(times) == 0 {
		return
	}
	latest := slices.Max(times)
	off, ts, _, found, err := h.log.PlanMaxTimestamp(end).Run(h.open)
	if i := slices.Index(times, latest); err != nil || !found || ts != latest || off != offsets[i] {
		t.Fatalf("latest: offset %d at %d (%t), want %d at %d; %v", off, ts, found, offsets[i], latest, err)
	}
}

// checkTombstones: a key's newest record that is a tombstone may be missing only if it was found that long ago.
func (y *history) checkTombstones(t *testing.T, got map[wire.Offset]historyRecord, visible map[wire.Offset]bool) {
	t.Helper()
	newest := map[string]wire.Offset{}
	for off := range visible {
		if k := y.records[off].key; off >= newest[k] {
			newest[k] = off
		}
	}
	for key, off := range newest {
		if _, there := got[off]; there || !y.records[off].tombstone {
			continue
		}
		if !slices.ContainsFunc(y.rounds, func(r cleanRound) bool { return r.through > off && r.at+y.retained <= y.now }) {
			t.Fatalf("the tombstone of %q at %d is gone too early, at %d; %+v", key, off, y.now, y.rounds)
		}
	}
}

// checkClean: below the end of the last round no key comes twice.
func (y *history) checkClean(t *testing.T, got map[wire.Offset]historyRecord) {
	t.Helper()
	if len(y.rounds) == 0 {
		return
	}
	seen := map[string]wire.Offset{}
	for _, off := range slices.Sorted(maps.Keys(got)) {
		if off >= y.rounds[len(y.rounds)-1].through {
			return
		}
		if before, twice := seen[got[off].key]; twice {
			t.Fatalf("%q is at %d and at %d in the clean part", got[off].key, before, off)
		}
		seen[got[off].key] = off
	}
}

func (y *history) clean(h *harness, opt segment.CleanOptions) error {
	if _, err := h.clean(y.now, int64(h.log.LogEndOffset()), opt); err != nil {
		return err
	}
	y.rounds = append(y.rounds, cleanRound{y.now, h.log.CleanerOffset()})
	return nil
}

// TestCleanRandom: whatever the history, the compacted log read from its start leads to the same map as the history; through
// rolls, rounds with maps that are too small, stops, kills and power cuts.
func TestCleanRandom(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 8
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			y := newHistory(seed)
			fsys := newLogsFS(t, seed)
			h, err := createHarness(fsys, transcriptDir, y.config())
			must(t, err)
			for range 60 {
				for range y.rng.IntN(12) {
					must(t, y.append(h))
				}
				y.step(t, &fsys, &h)
				y.check(t, h)
			}
			must(t, h.close())
			verifyClean(t, fsys, transcriptDir, segment.VerifyOptions{Records: true, Compacted: true})
		})
	}
}

func (y *history) step(t *testing.T, fsys **segmenttest.FS, h **harness) {
	t.Helper()
	switch op := y.rng.IntN(8); op {
	case 0, 1, 2, 3:
		opt := cleanOptions
		if op == 0 {
			opt.DedupeBytes = 24 * int64(2+y.rng.IntN(8)) // a few keys
		}
		y.now += int64(y.rng.IntN(4000))
		must(t, y.clean(*h, opt))
	case 4:
		(*h).log.ReleaseMemory()
	case 5:
		y.now += 10_000
	default:
		y.reopen(t, fsys, h, op == 6)
	}
}

// reopen stops the log in one of three ways. Without snapshots the producers come from the batches alone, and are the same.
func (y *history) reopen(t *testing.T, fsys **segmenttest.FS, h **harness, crash bool) {
	t.Helper()
	opt := segment.OpenOptions{NowMS: wire.Timestamp(y.now), CleanerOffset: (*h).log.CleanerOffset()}
	clean := !crash && y.rng.IntN(2) == 0
	if clean {
		must(t, (*h).close())
	} else if !crash {
		must(t, (*h).flush())
	}
	opt.Clean, opt.RecoveryPoint = clean, (*h).log.RecoveryPoint()
	before := (*h).log.Producers()
	if crash {
		*fsys = (*fsys).Crash()
	} else {
		(*fsys).Kill()
	}
	if !clean && !crash {
		removeSnapshots(t, *fsys)
	}
	l, rep, err := segment.OpenLog(*fsys, transcriptDir, y.config(), opt)
	if err != nil || rep.Damage != nil {
		t.Fatal(rep, err)
	}
	if crash {
		y.cut(l.LogEndOffset())
	} else {
		sameProducers(t, before, l.Producers())
	}
	*h, err = attach(*fsys, l)
	must(t, err)
}

func removeSnapshots(t *testing.T, fsys segment.FS) {
	t.Helper()
	files, err := fsys.ReadDir(transcriptDir)
	must(t, err)
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".snapshot") {
			must(t, fsys.Remove(transcriptDir+"/"+f.Name))
		}
	}
}

// sameProducers: epochs, sequence numbers and open transactions survive compaction. (Kafka's cleaner may take the marker that had
// the coordinator's epoch and the time.)
func sameProducers(t *testing.T, before, after []segment.ActiveProducer) {
	t.Helper()
	text := func(list []segment.ActiveProducer) string {
		var out bytes.Buffer
		for _, p := range list {
			fmt.Fprintf(&out, "%d: epoch %d sequence %d open from %d\n", p.ID, p.Epoch, p.LastSequence, p.TxnStartOffset)
		}
		return out.String()
	}
	if b, a := text(before), text(after); a != b {
		t.Fatalf("the log knows\n%s\nbefore the stop it knew\n%s", a, b)
	}
}

// TestCleanCrash cuts the power at every operation of a log that is cleaned twice.
func TestCleanCrash(t *testing.T) {
	var y *history
	promised, cleaner := wire.Offset(0), wire.Offset(0)
	run := func(fsys segment.FS) error {
		y, promised, cleaner = newHistory(7), 0, 0
		if err := errors.Join(fsys.MkdirAll("/logs", 0o755), fsys.SyncDir("/")); err != nil {
			return err
		}
		h, err := createHarness(fsys, crashDir, y.config())
		if err != nil {
			return err
		}
		for round := range 3 {
			for range 20 {
				if err := y.append(h); err != nil {
					return err
				}
			}
			if err := h.flush(); err != nil {
				return err
			}
			promised = h.log.LogEndOffset()
			y.now += 20_000
			opt := cleanOptions
			if round == 1 {
				opt.DedupeBytes = 24 * 5
			}
			y.rounds = append(y.rounds, cleanRound{y.now, promised}) // what it may have done
			if _, err := h.clean(y.now, int64(promised), opt); err != nil {
				return err
			}
			cleaner = h.log.CleanerOffset()
		}
		return nil
	}
	outcomes := 3
	if testing.Short() {
		outcomes = 1
	}
	segmenttest.CutEverywhere(t, outcomes, run, func(t *testing.T, fsys *segmenttest.FS, cut int) {
		if promised == 0 {
			return
		}
		y := *y // a copy for this outcome
		y.batches, y.records, y.rounds = slices.Clone(y.batches), maps.Clone(y.records), slices.Clone(y.rounds)
		for _, point := range []wire.Offset{promised, 0} {
			l, rep, err := segment.OpenLog(fsys, crashDir, y.config(), segment.OpenOptions{RecoveryPoint: point, CleanerOffset: cleaner})
			if err != nil || rep.Damage != nil || l.LogEndOffset() < promised {
				t.Fatalf("cut at %d: end %d of %d, %v, %+v", cut, l.LogEndOffset(), promised, err, rep)
			}
			h, err := attach(fsys, l)
			must(t, err)
			y.cut(l.LogEndOffset())
			y.rounds = slices.DeleteFunc(y.rounds, func(r cleanRound) bool { return r.through == 0 })
			got, stable := readCommitted(t, h)
			visible := y.committed(stable)
			want := final(y.records, func(off wire.Offset) bool { return visible[off] })
			if have := final(got, func(wire.Offset) bool { return true }); !maps.Equal(have, want) {
				t.Fatalf("cut at %d: the log leads to %v, the history to %v", cut, have, want)
			}
			fsys.Kill()
		}
		verifyClean(t, fsys, crashDir, segment.VerifyOptions{Records: true, Compacted: true})
	})
}
