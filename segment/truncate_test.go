package segment_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// truncatedPair is two logs: one has had records that were cut off again, the other never had them.
type truncatedPair struct {
	t      *testing.T
	rng    *rand.Rand
	cut    *harness
	never  *harness
	seqs   [4]wire.Sequence
	open   [4]bool // transactions
	stamps wire.Timestamp

	watermark wire.Offset
}

// TestTruncatedIsAsNeverAppended: whatever a log had beyond a cut, what clients, replicas and files see of it is what they would see
// if that had never been there, before and after the same batches follow.
func TestTruncatedIsAsNeverAppended(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		cfg := segment.DefaultConfig()
		cfg.SegmentBytes, cfg.IndexIntervalBytes = 500+rng.Int64N(4000), rng.IntN(600)
		p := &truncatedPair{t: t, rng: rng}
		var err error
		p.cut, err = createHarness(newLogsFS(t, seed), "/logs/p-0", cfg)
		must(t, err)
		p.cut.log.SetReplicated(seed%2 == 0)
		p.never, err = createHarness(newLogsFS(t, seed), "/logs/p-0", cfg)
		must(t, err)
		for round := range 4 {
			p.append(20+rng.IntN(30), wire.LeaderEpoch(2*round), p.cut, p.never)
			p.disturb()
			end := p.never.log.LogEndOffset()
			seqs, open := p.seqs, p.open
			p.append(rng.IntN(40), wire.LeaderEpoch(2*round+rng.IntN(5)), p.cut)
			p.seqs, p.open = seqs, open
			p.disturb()
			if plan, ok := p.cut.log.PlanTruncate(end); ok {
				must(t, p.cut.truncate(&plan))
			}
			p.compare(fmt.Sprintf("seed %d, round %d", seed, round))
		}
	}
}

// TestTruncateReadsLittle: a replica takes the newest batches back without reading what is before them.
func TestTruncateReadsLittle(t *testing.T) {
	for _, replicated := range []bool{false, true} {
		h, err := createHarness(newLogsFS(t, 1), "/logs/p-0", segment.DefaultConfig())
		must(t, err)
		h.log.SetReplicated(replicated)
		value := string(make([]byte, 10_000))
		for i := range 200 {
			b := batchOf(wire.BatchHeader{Idempotent: true, ProducerID: 1, BaseSequence: wire.Sequence(i), Transactional: true}, value, 1000)
			_, _, err := h.append(b, 0)
			must(t, err)
		}
		h.log.ReleaseBelow(190)
		plan, _ := h.log.PlanTruncate(195)
		must(t, h.truncate(&plan))
		if read := plan.Report().ScannedBytes; replicated != (read < 600_000) {
			t.Errorf("replicated %v: %d of %d bytes read", replicated, read, h.log.Size())
		}
		if got := h.log.Producers(); len(got) != 1 || got[0].LastSequence != 194 || got[0].TxnStartOffset != 0 {
			t.Errorf("replicated %v: %+v", replicated, got)
		}
	}
}

// append gives the same batches to logs, of three producers in turn, with transactions that begin, end and abort.
func (p *truncatedPair) append(n int, epoch wire.LeaderEpoch, logs ...*harness) {
	p.t.Helper()
	for range n {
		b := p.batch()
		for _, h := range logs {
			b := append(wire.RecordBatch(nil), b...)
			b.SetBaseOffset(h.log.LogEndOffset())
			b.SetPartitionLeaderEpoch(epoch)
			_, err := h.replicate(b)
			must(p.t, err)
		}
	}
}

func (p *truncatedPair) batch() wire.RecordBatch {
	p.stamps += wire.Timestamp(p.rng.IntN(50) - 10)
	id := p.rng.IntN(len(p.seqs))
	h := wire.BatchHeader{BaseTimestamp: 1_000_000 + p.stamps, Idempotent: id > 0, ProducerID: wire.ProducerID(id), BaseSequence: p.seqs[id]}
	if p.open[id] && p.rng.IntN(3) == 0 {
		p.open[id] = false
		return wire.RecordBatch(wire.AppendTxnMarker(nil, h.ProducerID, 0, p.rng.IntN(2) == 0, 1, h.BaseTimestamp))
	}
	stamps := make([]wire.Timestamp, 1+p.rng.IntN(3))
	for i := range stamps {
		stamps[i] = h.BaseTimestamp
	}
	h.Transactional = p.open[id] || id > 0 && p.rng.IntN(2) == 0
	p.open[id] = h.Transactional
	p.seqs[id] += wire.Sequence(len(stamps))
	return batchOf(h, fmt.Sprint(p.rng.Uint64()), stamps...)
}

// disturb raises the high watermark now and then, flushes a log or drops what it has in memory.
func (p *truncatedPair) disturb() {
	if end := p.never.log.LogEndOffset(); p.rng.IntN(2) == 0 {
		p.watermark += wire.Offset(p.rng.Int64N(int64(end-p.watermark) + 1))
	}
	for _, h := range []*harness{p.cut, p.never} {
		h.log.ReleaseBelow(p.watermark)
		switch p.rng.IntN(4) {
		case 0:
			must(p.t, h.flush())
		case 1:
			must(p.t, h.flush())
			h.log.ReleaseMemory()
		}
	}
}

func (p *truncatedPair) compare(when string) {
	p.t.Helper()
	got, want := p.observe(p.cut), p.observe(p.never)
	if got != want {
		line, wantLine := firstDifference(got, want)
		p.t.Fatalf("%s: %q, want %q", when, line, wantLine)
	}
	must(p.t, p.cut.flush())
	verifyClean(p.t, p.cut.fs, "/logs/p-0", segment.VerifyOptions{Records: true, Live: true})
}

// observe is all that clients, replicas and the node may ask of a log.
func (p *truncatedPair) observe(h *harness) string {
	p.t.Helper()
	l, end := h.log, h.log.LogEndOffset()
	out, err := h.visible()
	must(p.t, err)
	out += fmt.Sprintf("%d to %d, %d bytes, epochs\n%s", l.LogStartOffset(), end, l.Size(), l.EpochCheckpoint())
	for _, a := range l.Producers() {
		out += fmt.Sprintf("%+v\n", a)
	}
	for id := range p.seqs {
		for back := range 8 { // retries of the newest batches
			b := batchOf(wire.BatchHeader{Idempotent: id > 0, ProducerID: wire.ProducerID(id), BaseSequence: p.seqs[id] - wire.Sequence(back)}, "x", 1)
			out += fmt.Sprintf("%d %d: %+v\n", id, back, l.CheckProducer(b))
		}
	}
	for hw := p.watermark; hw <= end; hw++ {
		first, open := l.FirstUndecidedOffset()
		out += fmt.Sprintln("stable", hw, l.LastStableOffset(hw), first, open)
	}
	for from := wire.Offset(0); from < end; from += 9 {
		aborted, err := l.PlanAborted(from, end).Run(h.fs)
		must(p.t, err)
		out += fmt.Sprintln("aborted", from, aborted)
		out += observeFetch(p.t, h, from, end)
	}
	for ts := wire.Timestamp(1_000_000); ts < 1_000_000+p.stamps; ts += 53 {
		off, at, epoch, found, err := l.PlanTimeLookup(ts, end).Run(h.open)
		must(p.t, err)
		out += fmt.Sprintln(ts, off, at, epoch, found)
	}
	return out
}

// TestTruncatePlansReplaced: a plan that was not run, or failed halfway, is replaced by another one.
func TestTruncatePlansReplaced(t *testing.T) {
	for _, c := range []struct {
		offs  []wire.Offset // of the plans, the last of which is run
		fully int           // the plan that empties the log; -1: none
		fail  int           // operations of the first plan
		want  wire.Offset
	}{
		{offs: []wire.Offset{30, 30}, fully: -1, want: 30},
		{offs: []wire.Offset{30, 20, 25}, fully: -1, fail: 4, want: 20},
		{offs: []wire.Offset{10, 39}, fully: -1, fail: 9, want: 10},
		{offs: []wire.Offset{10, 100}, fully: -1, want: 10},
		{offs: []wire.Offset{500, 30}, fully: 0, fail: 5, want: 30},
		{offs: []wire.Offset{30, 500}, fully: 1, fail: 5, want: 500},
		{offs: []wire.Offset{500, 500}, fully: 0, want: 500},
		{offs: []wire.Offset{0}, fully: 0, want: 0}, // at its start, and where an emptied log begins already
		{offs: []wire.Offset{0, 0}, fully: 1, want: 0},
		{offs: []wire.Offset{40}, fully: 0, want: 40},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			fsys := newLogsFS(t, 1)
			h, err := createHarness(fsys, "/logs/p-0", smallConfig())
			must(t, err)
			for range 40 {
				_, _, err := h.append(batchOf(wire.BatchHeader{}, "value", 1000), 0)
				must(t, err)
			}
			var plan segment.TruncatePlan
			for i, off := range c.offs {
				if i == c.fully {
					plan = h.log.PlanTruncateFully(off)
				} else if plan, _ = h.log.PlanTruncate(off); plan.RecoveryPoint() != h.log.RecoveryPoint() {
					t.Fatalf("recovery points %d and %d", plan.RecoveryPoint(), h.log.RecoveryPoint())
				}
				if i == 0 && c.fail > 0 {
					fsys.Inject(func(op segmenttest.Op) (int, error) {
						if c.fail--; c.fail < 0 {
							return 0, syscall.ENOSPC
						}
						return 0, nil
					})
					_, err := plan.Run(fsys)
					if !errors.Is(err, syscall.ENOSPC) {
						t.Fatal(err)
					}
					fsys.Inject(nil)
				}
			}
			must(t, h.truncate(&plan))
			if end := h.log.LogEndOffset(); end != c.want {
				t.Fatalf("the log ends at %d, want %d", end, c.want)
			}
			_, _, err = h.append(batchOf(wire.BatchHeader{}, "value", 1000), 1)
			must(t, err)
			must(t, h.flush())
			verifyClean(t, fsys, "/logs/p-0", segment.VerifyOptions{Records: true, Live: true})
		})
	}
}
