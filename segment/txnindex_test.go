package segment_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// testdata/kafka/aborted-0 is a partition that Apache Kafka 4.1.1 wrote (two transactional producers of franz-go, retention.ms=-1),
// copied while the broker ran; the zeros that it preallocates are cut. Transactions are open across the roll.
const abortedDir = "testdata/kafka/aborted-0"

// aborted makes a list of producers and first offsets.
func aborted(pairs ...int64) (list []wire.AbortedTransaction) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, wire.AbortedTransaction{ProducerID: wire.ProducerID(pairs[i]), FirstOffset: wire.Offset(pairs[i+1])})
	}
	return list
}

// kafkaAborted is what that broker answered to read_committed fetches of these ranges.
var kafkaAborted = []struct {
	from, upTo wire.Offset
	want       []wire.AbortedTransaction
}{
	{0, 4, aborted(77, 0, 78, 1)},
	{3, 4, aborted(77, 0, 78, 1)},
	{4, 11, aborted(77, 0, 78, 1, 78, 8)},
	{5, 11, aborted(78, 1, 78, 8)},
	{7, 11, aborted(78, 8)},
	{9, 11, aborted(78, 8)},
	{10, 11, nil},
	{0, 1, aborted(77, 0)}, // the range ends where the records do, see Locate
	{5, 8, aborted(78, 1)},
}

func openAborted(t *testing.T, fsys segment.FS, opt segment.OpenOptions) (*segment.Log, segment.RecoveryReport) {
	t.Helper()
	l, rep, err := segment.OpenLog(fsys, "/logs/k-0", segment.DefaultConfig(), opt)
	must(t, err)
	if l.LogStartOffset() != 0 || l.LogEndOffset() != 11 || rep.Damage != nil || rep.TruncatedAt >= 0 {
		t.Fatalf("%d to %d, %+v", l.LogStartOffset(), l.LogEndOffset(), rep)
	}
	return l, rep
}

func checkKafkaAborted(t *testing.T, fsys segment.FS, l *segment.Log) {
	t.Helper()
	for _, c := range kafkaAborted {
		got, err := l.PlanAborted(c.from, c.upTo).Run(fsys)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("[%d, %d): %v, Kafka answers %v; %v", c.from, c.upTo, got, c.want, err)
		}
	}
	if got := l.LastStableOffset(11); got != 11 {
		t.Errorf("last stable offset %d", got)
	}
}

func TestTxnIndexOfKafka(t *testing.T) {
	const name = "/logs/k-0/00000000000000000004.txnindex"
	want, err := os.ReadFile(abortedDir + "/00000000000000000004.txnindex")
	must(t, err)
	damaged := func(data []byte) []byte { data[40] ^= 1; return data }
	for label, c := range map[string]struct {
		change func([]byte) []byte
		opt    segment.OpenOptions
		made   bool // the file is reported as made again
	}{
		"as it is":         {},
		"recovery point":   {opt: segment.OpenOptions{RecoveryPoint: 11}},
		"clean":            {opt: segment.OpenOptions{Clean: true}},
		"gone":             {change: func([]byte) []byte { return nil }},
		"empty":            {change: func([]byte) []byte { return []byte{} }},
		"lacks one":        {change: func(d []byte) []byte { return d[:68] }},
		"torn":             {change: func(d []byte) []byte { return d[:80] }, made: true},
		"a bit":            {change: damaged},
		"another's":        {change: func(d []byte) []byte { return bytes.Repeat(d[:34], 5) }, made: true},
		"another's, clean": {change: func(d []byte) []byte { return bytes.Repeat(d[:34], 5) }, opt: segment.OpenOptions{Clean: true}, made: true},
	} {
		t.Run(label, func(t *testing.T) {
			fsys := loadDir(t, abortedDir)
			if c.change != nil {
				if data := c.change(bytes.Clone(want)); data == nil {
					must(t, fsys.Remove(name))
				} else {
					must(t, fsys.WriteFileAtomic(name, data))
				}
			}
			l, rep := openAborted(t, fsys, c.opt)
			checkKafkaAborted(t, fsys, l)
			if made := slices.Contains(rep.RebuiltIndexes, "00000000000000000004.txnindex"); made != c.made {
				t.Errorf("made again: %t", made)
			}
			got, err := fsys.ReadFile(name)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("the file: %x, Kafka wrote %x; %v", got, want, err)
			}
			if c.opt == (segment.OpenOptions{}) { // else the zeros of the other indexes stay
				verifyClean(t, fsys, "/logs/k-0", segment.VerifyOptions{Records: true})
			}
		})
	}
}

func verifyClean(t *testing.T, fsys segment.FS, dir string, opt segment.VerifyOptions) {
	t.Helper()
	rep, err := segment.VerifyDir(fsys, dir, opt)
	// a snapshot that is not the newest is left as a crash has torn it
	rep.Problems = slices.DeleteFunc(rep.Problems, func(p segment.Problem) bool { return strings.HasSuffix(p.File, ".snapshot") })
	if err != nil || len(rep.Problems) > 0 {
		t.Errorf("%v, %v", rep.Problems, err)
	}
}

// TestTxnIndexAppended: our own log of the same batches has the same files, and the last stable offset follows the markers.
func TestTxnIndexAppended(t *testing.T) {
	disk, ours := loadDir(t, abortedDir), newLogsFS(t, 2)
	h, err := createHarness(ours, "/logs/k-0", segment.DefaultConfig())
	must(t, err)
	// by what is appended up to an offset; the high watermark is there too, then one behind
	stable := map[wire.Offset][2]wire.Offset{
		1: {0, 0}, 4: {0, 0}, 5: {1, 0}, 6: {1, 1}, 7: {5, 1}, 8: {8, 5}, 9: {8, 8}, 10: {10, 8}, 11: {11, 10},
	}
	for _, base := range []string{"00", "04"} {
		data, err := disk.ReadFile("/logs/k-0/000000000000000000" + base + ".log")
		must(t, err)
		for len(data) > 0 {
			b, tail, err := wire.ReadRecordBatch(data)
			must(t, err)
			if data = tail; b.BaseOffset() == 4 {
				must(t, h.roll(false))
			}
			_, _, err = h.append(slices.Clone(b), 0)
			must(t, err)
			if want, ok := stable[b.NextOffset()]; ok {
				end := b.NextOffset()
				if got := [2]wire.Offset{h.log.LastStableOffset(end), h.log.LastStableOffset(end - 1)}; got != want {
					t.Errorf("log to %d: last stable offsets %d, want %d", end, got, want)
				}
			}
		}
	}
	checkKafkaAborted(t, ours, h.log)
	must(t, h.flush())
	for _, name := range []string{"00000000000000000004.txnindex", "00000000000000000004.snapshot", "00000000000000000004.log"} {
		want, err := disk.ReadFile("/logs/k-0/" + name)
		must(t, err)
		if got, err := ours.ReadFile("/logs/k-0/" + name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, Kafka wrote %x; %v", name, got, want, err)
		}
	}
	verifyClean(t, ours, "/logs/k-0", segment.VerifyOptions{})
}

// txnModel derives what a log should say about its transactions from its batches alone.
type txnModel struct{ ended, open []modelTxn }

type modelTxn struct {
	id          wire.ProducerID
	first, last wire.Offset
	aborted     bool
}

func modelOf(t *testing.T, h *harness) (m txnModel) {
	t.Helper()
	open := map[wire.ProducerID]wire.Offset{}
	for _, s := range h.log.Segments() {
		f, err := h.fs.OpenFile(s.LogName(), segment.ReadOnly, 0)
		must(t, err)
		batches, err := readBatches(f, 0, s.Size())
		must(t, err)
		must(t, f.Close())
		for _, b := range batches {
			id := b.ProducerID()
			first, known := open[id]
			if marker, ok := wire.ReadTxnMarker(b); ok {
				if known {
					m.ended = append(m.ended, modelTxn{id, first, b.LastOffset(), !marker.Commit})
				}
				delete(open, id)
			} else if b.IsTransactional() && !known {
				open[id] = b.BaseOffset()
			}
		}
	}
	for id, first := range open {
		m.open = append(m.open, modelTxn{id: id, first: first})
	}
	return m
}

func (m txnModel) stable(hw wire.Offset) wire.Offset {
	stable := hw
	for _, x := range m.open {
		stable = min(stable, x.first)
	}
	for _, x := range m.ended {
		if x.last >= hw {
			stable = min(stable, x.first)
		}
	}
	return stable
}

func (m txnModel) abortedIn(from, upTo wire.Offset) (list []wire.AbortedTransaction) {
	for _, x := range m.ended {
		if x.aborted && x.last >= from && x.first < upTo {
			list = append(list, wire.AbortedTransaction{ProducerID: x.id, FirstOffset: x.first})
		}
	}
	slices.SortFunc(list, func(a, b wire.AbortedTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return list
}

func (m txnModel) check(t *testing.T, h *harness, rng *rand.Rand, hw wire.Offset) {
	t.Helper()
	end := h.log.LogEndOffset()
	for range 8 {
		from := wire.Offset(rng.Int64N(int64(end) + 1))
		upTo := from + wire.Offset(rng.Int64N(int64(end-from)+1))
		got, err := h.log.PlanAborted(from, upTo).Run(h.fs)
		if want := m.abortedIn(from, upTo); err != nil || !slices.Equal(got, want) {
			t.Fatalf("[%d, %d) of %d: %v, want %v; %v", from, upTo, end, got, want, err)
		}
		at := hw + wire.Offset(rng.Int64N(int64(end-hw)+1))
		if got, want := h.log.LastStableOffset(at), m.stable(at); got != want {
			t.Fatalf("last stable offset %d with high watermark %d of %d, want %d", got, at, end, want)
		}
	}
}

// txnWriter appends batches of transactional and other producers in a random order.
type txnWriter struct {
	rng  *rand.Rand
	next map[wire.ProducerID]wire.Sequence
}

func (w *txnWriter) batch() wire.RecordBatch {
	id := wire.ProducerID(w.rng.IntN(6))
	switch {
	case w.rng.IntN(4) == 0:
		return wire.AppendTxnMarker(nil, id, 0, w.rng.IntN(2) == 0, 0, 1000)
	case id == 0:
		return batchOf(wire.BatchHeader{}, "plain", 1000)
	}
	stamps := slices.Repeat([]wire.Timestamp{1000}, 1+w.rng.IntN(3))
	h := wire.BatchHeader{
		Transactional: true, Idempotent: true, ProducerID: id, BaseSequence: w.next[id], Codec: wire.Compression(w.rng.IntN(5)),
	}
	w.next[id] += wire.Sequence(len(stamps))
	return batchOf(h, fmt.Sprint("of ", id), stamps...)
}

// TestTxnIndexRandom: over appends, undos, rolls, flushes, released memory, kills, power cuts and clean stops, a log says about
// its transactions what its batches say.
func TestTxnIndexRandom(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			fsys := newLogsFS(t, seed)
			h, err := createHarness(fsys, transcriptDir, smallConfig())
			must(t, err)
			rng := rand.New(rand.NewPCG(seed, 1))
			w := &txnWriter{rng: rng, next: map[wire.ProducerID]wire.Sequence{}}
			hw := wire.Offset(0)
			for range 250 {
				hw = txnStep(t, &fsys, &h, w, hw)
				modelOf(t, h).check(t, h, rng, hw)
			}
			must(t, h.close())
			verifyClean(t, fsys, transcriptDir, segment.VerifyOptions{Records: true})
		})
	}
}

func txnStep(t *testing.T, fsys **segmenttest.FS, h **harness, w *txnWriter, hw wire.Offset) wire.Offset {
	t.Helper()
	l := (*h).log
	switch op := w.rng.IntN(40); {
	case op < 32:
		p := appendSpread(t, *h, w)
		if w.rng.IntN(5) == 0 && l.ActiveSegment() == p.Segment {
			must(t, (*h).flush())
			l.Undo(p)
			must(t, errors.Join((*h).file.Truncate(int64(p.Position)), (*h).file.Sync()))
			w.next = map[wire.ProducerID]wire.Sequence{} // the producers start over
		}
	case op < 34:
		hw += wire.Offset(w.rng.Int64N(int64(l.LogEndOffset()-hw) + 1))
		l.ReleaseBelow(hw)
	case op == 34:
		l.ReleaseMemory()
	case op == 35 && l.ActiveSegment().Size() > 0:
		must(t, (*h).roll(w.rng.IntN(2) == 0))
	default:
		return txnReopen(t, fsys, h, w, op)
	}
	return hw
}

// appendSpread appends a batch as a replica does, which asks no sequence number.
func appendSpread(t *testing.T, h *harness, w *txnWriter) segment.AppendPlan {
	t.Helper()
	b := w.batch()
	if h.log.NeedsRoll(b, h.now) {
		must(t, h.roll(false))
	}
	p := h.log.Append(b, 0, h.now)
	_, err := h.file.WriteAt(p.Bytes, int64(p.Position))
	must(t, err)
	return p
}

func txnReopen(t *testing.T, fsys **segmenttest.FS, h **harness, w *txnWriter, op int) wire.Offset {
	t.Helper()
	opt := segment.OpenOptions{NowMS: 2000, RecoveryPoint: (*h).log.RecoveryPoint()}
	switch op {
	case 37:
		must(t, (*h).close())
		opt.Clean, opt.RecoveryPoint = true, (*h).log.RecoveryPoint()
		(*fsys).Kill()
	case 38:
		must(t, (*h).flush())
		opt.RecoveryPoint = (*h).log.RecoveryPoint()
		*fsys = (*fsys).Crash()
	case 39:
		(*fsys).Kill()
	default:
		*fsys = (*fsys).Crash()
	}
	l, rep, err := segment.OpenLog(*fsys, transcriptDir, smallConfig(), opt)
	must(t, err)
	if rep.Damage != nil {
		t.Fatal(rep.Damage)
	}
	*h, err = attach(*fsys, l)
	must(t, err)
	return l.LogEndOffset()
}

// TestTxnIndexCrash cuts the power at every operation of a transactional log's life.
func TestTxnIndexCrash(t *testing.T) {
	promised := wire.Offset(0)
	run := func(fsys segment.FS) error {
		promised = 0
		if err := errors.Join(fsys.MkdirAll("/logs", 0o755), fsys.SyncDir("/")); err != nil {
			return err
		}
		h, err := createHarness(fsys, crashDir, smallConfig())
		if err != nil {
			return err
		}
		w := &txnWriter{rng: rand.New(rand.NewPCG(1, 2)), next: map[wire.ProducerID]wire.Sequence{}}
		for i := range 60 {
			b := w.batch()
			if h.log.NeedsRoll(b, h.now) {
				if err := h.roll(i%2 == 0); err != nil {
					return err
				}
			}
			p := h.log.Append(b, 0, h.now)
			if _, err := h.file.WriteAt(p.Bytes, int64(p.Position)); err != nil {
				return err
			}
			if i%9 == 8 {
				if err := h.flush(); err != nil {
					return err
				}
				promised = h.log.LogEndOffset()
			}
		}
		err = h.close()
		if err == nil {
			promised = h.log.LogEndOffset()
		}
		return err
	}
	segmenttest.CutEverywhere(t, 2, run, func(t *testing.T, fsys *segmenttest.FS, cut int) {
		if promised == 0 {
			return
		}
		for _, point := range []wire.Offset{promised, 0} {
			l, rep, err := segment.OpenLog(fsys, crashDir, smallConfig(), segment.OpenOptions{RecoveryPoint: point, Clean: cut < 0})
			if err != nil || rep.Damage != nil || l.LogEndOffset() < promised {
				t.Fatalf("cut at %d: %v, %+v", cut, err, rep)
			}
			h, err := attach(fsys, l)
			must(t, err)
			modelOf(t, h).check(t, h, rand.New(rand.NewPCG(uint64(cut+1), 7)), l.LogEndOffset())
			fsys.Kill()
		}
	})
}

// TestAbortedPlanStale: a plan whose file was replaced says so and does not answer from the other file.
func TestAbortedPlanStale(t *testing.T) {
	fsys := loadDir(t, abortedDir)
	l, _ := openAborted(t, fsys, segment.OpenOptions{})
	h, err := attach(fsys, l)
	must(t, err)
	l.ReleaseBelow(11)
	must(t, h.roll(true))
	must(t, h.flush())
	l.ReleaseMemory()
	p := l.PlanAborted(5, 11)
	if _, ok := p.Ready(); ok {
		t.Fatal("the index is still in memory")
	}
	if got, err := p.Run(fsys); err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	name := "/logs/k-0/00000000000000000004.txnindex"
	data, err := fsys.ReadFile(name)
	must(t, err)
	must(t, fsys.WriteFileAtomic(name, data[34:]))
	if got, err := p.Run(fsys); !errors.Is(err, segment.ErrTxnIndex) {
		t.Error(got, err)
	}
}

func FuzzTxnIndex(f *testing.F) {
	data, err := os.ReadFile(abortedDir + "/00000000000000000004.txnindex")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, int64(4))
	f.Add(data[:50], int64(0))
	f.Add(binary.BigEndian.AppendUint16(nil, 1), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, base int64) {
		entries, err := segment.ReadTxnIndex(wire.Offset(base), data)
		var again []byte
		for _, e := range entries {
			again = e.AppendTo(again)
		}
		if !bytes.HasPrefix(data, again) || (err == nil) != (len(again) == len(data)) {
			t.Fatalf("%x read as %v, %v", data, entries, err)
		}
		fsys := loadDir(t, abortedDir)
		must(t, fsys.WriteFileAtomic("/logs/k-0/00000000000000000004.txnindex", data))
		l, _ := openAborted(t, fsys, segment.OpenOptions{})
		checkKafkaAborted(t, fsys, l)
	})
}
