package segment_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// commitNode does with logs and a journal what a loop does under the flush policy commit: batches go to the segment files
// unsynced and to the journal; one sync of that acknowledges them; checkpoints write the segments back; now and then the power
// goes or the process is killed. What was acknowledged must be in the logs when the node is up again, and nothing twice.
type commitNode struct {
	t       *testing.T
	rng     *rand.Rand
	fs      *segmenttest.FS
	cfg     segment.Config
	salt    uint64
	logs    []*commitLog
	journal *segment.Journal
	file    segment.File
	written []segment.JournalEntry // in the journal, not yet acknowledged
	flushes bool                   // FlushPlans are out: no log rolls, since both plans write the same index files
	follows bool                   // logs are truncated now and then
}

type commitLog struct {
	id      wire.TopicID
	dir     string
	log     *segment.Log
	file    segment.File       // the active segment's .log
	batches []wire.RecordBatch // appended, in order
	epoch   wire.LeaderEpoch   // of the next batch
	acked   wire.Offset        // everything below it was acknowledged
	point   wire.Offset        // recovery point as of the last checkpoint file
}

func newCommitNode(t *testing.T, seed uint64) *commitNode {
	n := &commitNode{t: t, rng: rand.New(rand.NewPCG(seed, 2)), fs: segmenttest.New(seed), cfg: segment.DefaultConfig()}
	n.cfg.SegmentBytes, n.cfg.IndexIntervalBytes = 1500, 200
	for _, dir := range []string{"logs", "state"} {
		n.must(n.fs.MkdirAll(dir, 0o755))
	}
	n.must(n.fs.SyncDir("/"))
	for i := range 3 {
		l := &commitLog{id: wire.TopicID{byte(i + 1)}, dir: fmt.Sprintf("logs/t-%d", i)}
		_, err := segment.CreateLog(n.fs, l.dir, n.cfg, l.id, 0)
		n.must(err)
		n.logs = append(n.logs, l)
	}
	return n
}

func (n *commitNode) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// start recovers all logs and the journal, and judges what is there.
func (n *commitNode) start() {
	for _, l := range n.logs {
		log, report, err := segment.OpenLog(n.fs, l.dir, n.cfg, segment.OpenOptions{RecoveryPoint: l.point, Replicated: n.follows})
		n.must(err)
		if report.Damage != nil {
			n.t.Fatal(report.Damage)
		}
		l.log = log
	}
	n.salt++
	var err error
	cfg := segment.JournalConfig{TrackBytes: 8192, Bytes: 4 * 8192, Salt: n.salt, Truncations: n.follows}
	n.journal, n.file, err = segment.OpenJournal(n.fs, "state/journal-0", cfg, func(jr *segment.JournalReader) error {
		_, err := segment.ReplayJournal(n.fs, jr, 1000, n.find, flushAll(n.fs))
		return err
	})
	n.must(err)
	n.written = nil
	for _, l := range n.logs {
		n.judge(l)
		l.file, err = n.fs.OpenFile(l.log.ActiveSegment().LogName(), segment.ReadWrite, 0)
		n.must(err)
	}
}

func (n *commitNode) find(id wire.TopicID, _ wire.PartitionIndex) *segment.Log {
	return n.logs[id[0]-1].log
}

// judge compares a recovered log with what was appended to it: all that was acknowledged, maybe more, in order.
func (n *commitNode) judge(l *commitLog) {
	end := l.log.LogEndOffset()
	if end < l.acked {
		n.t.Fatalf("%s ends at %d, but %d was acknowledged", l.dir, end, l.acked)
	}
	var want []byte
	kept := slices.IndexFunc(l.batches, func(b wire.RecordBatch) bool { return b.BaseOffset() >= end })
	if kept >= 0 {
		l.batches = l.batches[:kept]
	}
	for _, b := range l.batches {
		want = append(want, b...)
	}
	var got []byte
	for _, s := range l.log.Segments() {
		data, err := n.fs.ReadFile(s.LogName())
		n.must(err)
		got = append(got, data...)
	}
	if !slices.Equal(got, want) {
		n.t.Fatalf("%s holds %d bytes, want %d", l.dir, len(got), len(want))
	}
	report, err := segment.VerifyDir(n.fs, l.dir, segment.VerifyOptions{Records: true, Live: true})
	n.must(err)
	report.Problems = slices.DeleteFunc(report.Problems, func(p segment.Problem) bool {
		return strings.HasSuffix(p.File, ".snapshot") // a roll does not sync it; recovery takes a malformed one as absent
	})
	if len(report.Problems) > 0 || report.EndOffset != end {
		n.t.Fatalf("%s, which ends at %d: %+v", l.dir, end, report)
	}
	l.acked, l.point = end, l.log.RecoveryPoint()
	n.judgeEpochs(l)
}

// judgeEpochs: the epoch cache is that of the batches.
func (n *commitNode) judgeEpochs(l *commitLog) {
	var want segment.LeaderEpochCache
	for _, b := range l.batches {
		want.Assign(b.PartitionLeaderEpoch(), b.BaseOffset())
	}
	if got := string(l.log.EpochCheckpoint()); got != string(want.AppendTo(nil)) {
		n.t.Fatalf("%s has epochs\n%s\nwant\n%s", l.dir, got, want.AppendTo(nil))
	}
}

// produce appends a batch to a log's segment file and to the journal; false: the journal is full.
func (n *commitNode) produce() bool {
	l := n.logs[n.rng.IntN(len(n.logs))]
	b := batchAt(0, 0, 1+n.rng.IntN(5), fmt.Sprint(n.rng.Uint64()))
	switch roll := l.log.NeedsRoll(b, 1000); {
	case !n.journal.Fits(len(b)):
		return false
	case roll && n.flushes:
		return true // the batch waits
	case roll:
		n.roll(l)
	}
	if n.rng.IntN(20) == 0 {
		l.epoch++
	}
	plan := l.log.Append(b, l.epoch, 1000)
	if plan.EpochChanged {
		n.must(n.fs.WriteFileAtomic(l.dir+"/"+segment.LeaderEpochCheckpoint, l.log.EpochCheckpoint()))
	}
	_, err := l.file.WriteAt(plan.Bytes, int64(plan.Position))
	n.must(err)
	l.batches = append(l.batches, b)
	e := segment.JournalEntry{TopicID: l.id, BaseOffset: b.BaseOffset(), LeaderEpoch: b.PartitionLeaderEpoch(), Batch: b}
	n.journalEntry(e)
	n.written = append(n.written, e)
	return true
}

func (n *commitNode) journalEntry(e segment.JournalEntry) {
	jp, taken := n.journal.PlanAppend([]segment.JournalEntry{e})
	if taken != 1 {
		n.t.Fatal("the journal does not take what it said would fit")
	}
	_, err := n.file.WriteAt(slices.Concat(jp.Bufs...), int64(jp.Position))
	n.must(err)
	n.journal.Written(jp)
}

func (n *commitNode) roll(l *commitLog) {
	plan := l.log.PlanRoll()
	f, err := plan.Run(n.fs, false) // the journal has what the new segment will
	n.must(err)
	l.log.Rolled(plan)
	n.must(l.file.Close())
	l.file = f
}

func (n *commitNode) sync() {
	if !n.journal.NeedsSync() {
		return
	}
	upTo := n.journal.BeginSync()
	n.must(n.file.Sync())
	n.journal.Synced(upTo)
	n.acknowledge()
}

func (n *commitNode) acknowledge() {
	for _, e := range n.written {
		l := n.logs[e.TopicID[0]-1]
		l.acked = max(l.acked, e.Batch.NextOffset())
	}
	n.written = nil
}

// checkpoint writes the segments back while more is produced.
func (n *commitNode) checkpoint() {
	c := n.journal.PlanCheckpoint()
	var plans []segment.FlushPlan
	for _, l := range n.logs {
		plans = append(plans, l.log.PlanFlush())
	}
	n.flushes = true
	for range n.rng.IntN(4) {
		n.produce()
	}
	n.flushes = false
	for i, l := range n.logs {
		n.must(plans[i].Run(n.fs))
		l.log.Flushed(plans[i])
	}
	n.must(c.Run(n.file))
	n.journal.Checkpointed(c)
	for _, l := range n.logs {
		if n.rng.IntN(2) == 0 { // the checkpoint file is written now and then
			l.point = l.log.RecoveryPoint()
		}
	}
}

// truncate cuts a log anywhere; false: the power went meanwhile. What comes next may be of an earlier epoch than what was cut: the
// leader may never have heard of that.
func (n *commitNode) truncate() (alive bool) {
	l := n.logs[n.rng.IntN(len(n.logs))]
	start, end := l.log.LogStartOffset(), l.log.LogEndOffset()
	if !n.journal.Fits(0) || end == start {
		return true
	}
	off := end - wire.Offset(n.rng.IntN(min(int(end-start), 30)+1))
	plan, ok := l.log.PlanTruncate(off)
	if !ok {
		return true
	}
	l.point = min(l.point, plan.RecoveryPoint()) // the checkpoint file is written
	n.journalEntry(plan.JournalEntry(0))
	n.sync()
	kept := slices.IndexFunc(l.batches, func(b wire.RecordBatch) bool { return b.LastOffset() >= off })
	l.acked = min(l.acked, l.batches[kept].BaseOffset())
	if n.rng.IntN(2) == 0 {
		n.fs.CutAt(n.fs.Ops() + n.rng.IntN(40))
	}
	f, err := plan.Run(n.fs)
	if errors.Is(err, segmenttest.ErrPowerCut) {
		return false
	}
	n.must(err)
	n.fs.CutAt(-1)
	l.log.Truncated(plan)
	n.must(l.file.Close())
	l.file = f
	l.batches = l.batches[:kept]
	l.acked, l.epoch = l.log.LogEndOffset(), wire.LeaderEpoch(n.rng.IntN(3)+1)
	if kept > 0 {
		l.epoch += l.batches[kept-1].PartitionLeaderEpoch()
	}
	return true
}

// life is one run of the node; false: the power went in it.
func (n *commitNode) life() (alive bool) {
	for range n.rng.IntN(150) {
		if n.follows && n.rng.IntN(8) == 0 && !n.truncate() {
			return false
		}
		if n.rng.IntN(4) == 0 {
			n.sync()
		}
		if !n.produce() || n.journal.NeedsCheckpoint() {
			n.checkpoint()
		}
	}
	return true
}

func TestCommitSurvivesCrashes(t *testing.T) {
	for seed := range uint64(40) {
		n := newCommitNode(t, seed)
		for range 8 {
			n.start()
			n.crash(n.life())
		}
	}
}

func (n *commitNode) crash(alive bool) {
	if alive && n.rng.IntN(3) == 0 {
		n.fs.Kill()
	} else {
		n.fs = n.fs.Crash()
	}
}

// TestTruncationSurvivesCrashes: the same of followers. Whatever was in the journal when a log was cut is never brought back over
// what was appended since.
func TestTruncationSurvivesCrashes(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		n := newCommitNode(t, seed)
		n.follows = true
		for range 8 {
			n.start()
			n.crash(n.life())
		}
	}
}
