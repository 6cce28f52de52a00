package segment_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// TestTranscripts plays testdata/*.txt: commands to a log, and what it says. Commands:
//
//	create [segment-bytes= segment-ms= interval= index-bytes= retention-ms= retention-bytes= append-time compact]
//	append [n=1] [records=1] [value=bytes] [ts= step=] [pid= pepoch= seq=] [epoch=] [txn]   n batches
//	replicate base= [records=] [epoch=]     a batch with its offset
//	undo n=                                 take the newest n appends back
//	cut to=, empty to=          truncate the log, or all of it so that it begins there
//	scrub [from=]               check everything from there on that is on disk
//	roll, flush, close, kill, crash, segments, files, epochs
//	truncate file= size=, damage file= at=, zeros file= size=, remove file=, put file= (input is the content)
//	open [clean] [recovery-point=] [start=]
//	fetch from= [bound=], time ts= [bound=], max-time, epoch e=, assign e= [start=]
//	retain now= [hw=], advance to=, producers, expire now=, release
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, file string) {
		p := &player{t: t, fs: newLogsFS(t, 1)}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			p.t, p.d = t, d
			var out strings.Builder
			p.out = &out
			if err := p.run(); err != nil {
				fmt.Fprintf(&out, "error: %s\n", err)
			}
			return out.String()
		})
	})
}

const transcriptDir = "/logs/t-0"

type player struct {
	t     *testing.T
	d     *datadriven.TestData
	out   *strings.Builder
	fs    *segmenttest.FS
	h     *harness
	cfg   segment.Config
	plans []segment.AppendPlan
}

func (p *player) printf(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

func (p *player) num(name string, def int64) int64 {
	if p.d.HasArg(name) {
		p.d.ScanArgs(p.t, name, &def)
	}
	return def
}

func (p *player) file() string {
	var name string
	p.d.ScanArgs(p.t, "file", &name)
	return transcriptDir + "/" + name
}

func (p *player) run() error {
	commands := map[string]func() error{
		"create": p.create, "append": p.append, "replicate": p.replicate, "undo": p.undo, "roll": func() error { return p.h.roll(true) },
		"flush": func() error { return p.h.flush() }, "close": func() error { return p.h.close() },
		"kill": p.kill, "crash": p.crash, "segments": p.segments, "files": p.files, "truncate": p.truncate, "damage": p.damage,
		"zeros": p.zeros, "remove": func() error { return p.fs.Remove(p.file()) }, "put": p.put, "open": p.open, "fetch": p.fetch,
		"time": p.time, "max-time": p.maxTime, "epoch": p.epoch, "assign": p.assign, "retain": p.retain, "advance": p.advance,
		"scrub": p.scrub, "cut": p.cut, "empty": p.empty, "epochs": p.epochs, "producers": p.producers, "expire": p.expire, "release": p.release, "cat": p.cat,
	}
	return commands[p.d.Cmd]()
}

func (p *player) create() (err error) {
	p.cfg = smallConfig()
	c := &p.cfg
	c.SegmentBytes = p.num("segment-bytes", c.SegmentBytes)
	c.SegmentMS = p.num("segment-ms", c.SegmentMS)
	c.IndexIntervalBytes = int(p.num("interval", int64(c.IndexIntervalBytes)))
	c.IndexBytes = int(p.num("index-bytes", int64(c.IndexBytes)))
	c.RetentionMS = p.num("retention-ms", c.RetentionMS)
	c.RetentionBytes = p.num("retention-bytes", c.RetentionBytes)
	c.Compact = p.d.HasArg("compact")
	if p.d.HasArg("append-time") {
		c.MessageTimestampType = wire.LogAppendTime
	}
	p.h, err = createHarness(p.fs, transcriptDir, *c)
	return err
}

func (p *player) batch() wire.RecordBatch {
	n := p.num("records", 1)
	ts, step := p.num("ts", 1000), p.num("step", 0)
	stamps := make([]wire.Timestamp, n)
	for i := range stamps {
		stamps[i] = wire.Timestamp(ts + int64(i)*step)
	}
	h := wire.BatchHeader{
		BaseOffset: wire.Offset(p.num("base", 0)), PartitionLeaderEpoch: wire.LeaderEpoch(p.num("epoch", 0)),
		Idempotent: p.d.HasArg("pid"), ProducerID: wire.ProducerID(p.num("pid", 0)), Transactional: p.d.HasArg("txn"),
		ProducerEpoch: wire.ProducerEpoch(p.num("pepoch", 0)), BaseSequence: wire.Sequence(p.num("seq", 0)),
	}
	return batchOf(h, strings.Repeat("v", int(p.num("value", 40-7-2))), stamps...)
}

func (p *player) append() error {
	for range p.num("n", 1) {
		plan, v, err := p.h.append(p.batch(), wire.LeaderEpoch(p.num("epoch", 0)))
		switch {
		case err != nil:
			return err
		case v.Code != wire.None:
			p.printf("%s", v.Code)
		case v.Duplicate:
			p.printf("duplicate of %d, timestamp %d", v.BaseOffset, v.Timestamp)
		default:
			p.plans = append(p.plans, plan)
			p.printf("%d-%d: %d bytes at %d of segment %d", plan.BaseOffset, plan.LastOffset, len(plan.Bytes), plan.Position,
				plan.Segment.BaseOffset())
		}
	}
	return nil
}

func (p *player) replicate() error {
	b := p.batch()
	if err := p.h.log.CheckReplicated(b); err != nil {
		return err
	}
	plan, err := p.h.replicate(b)
	if err == nil {
		p.printf("%d-%d: %d bytes at %d of segment %d", plan.BaseOffset, plan.LastOffset, len(plan.Bytes), plan.Position, plan.Segment.BaseOffset())
	}
	return err
}

func (p *player) undo() error {
	for range p.num("n", 1) {
		last := len(p.plans) - 1
		p.h.log.Undo(p.plans[last])
		p.plans = p.plans[:last]
	}
	p.printf("log end offset %d", p.h.log.LogEndOffset())
	return nil
}

func (p *player) kill() error {
	p.fs.Kill()
	return nil
}

func (p *player) crash() error {
	p.fs = p.fs.Crash()
	return nil
}

func (p *player) segments() error {
	l := p.h.log
	for _, s := range l.Segments() {
		p.printf("%d-%d: %d bytes, max timestamp %d", s.BaseOffset(), s.NextOffset(), s.Size(), s.MaxTimestamp())
	}
	p.printf("start %d, end %d, recovery point %d, %d bytes", l.LogStartOffset(), l.LogEndOffset(), l.RecoveryPoint(), l.Size())
	return nil
}

func (p *player) files() error {
	entries, err := p.fs.ReadDir(transcriptDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		size, err := p.fs.Stat(transcriptDir + "/" + e.Name)
		if err != nil {
			return err
		}
		p.printf("%s %d", e.Name, size)
	}
	return nil
}

func (p *player) cat() error {
	data, err := p.fs.ReadFile(p.file())
	p.printf("%s", data)
	return err
}

func (p *player) truncate() error {
	f, err := p.fs.OpenFile(p.file(), segment.ReadWrite|segment.Create, 0o644)
	if err != nil {
		return err
	}
	return f.Truncate(p.num("size", 0))
}

func (p *player) damage() error {
	f, err := p.fs.OpenFile(p.file(), segment.ReadWrite, 0)
	if err != nil {
		return err
	}
	var b [1]byte
	at := p.num("at", 0)
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 0x55
	_, err = f.WriteAt(b[:], at)
	return err
}

func (p *player) zeros() error {
	f, err := p.fs.OpenFile(p.file(), segment.ReadWrite|segment.Create, 0o644)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err != nil {
		return err
	}
	return f.Truncate(size + p.num("size", 0))
}

func (p *player) put() error {
	f, err := p.fs.OpenFile(p.file(), segment.ReadWrite|segment.Create|segment.Truncate, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(p.d.Input), 0)
	return err
}

func (p *player) open() error {
	opt := segment.OpenOptions{
		RecoveryPoint: wire.Offset(p.num("recovery-point", 0)), LogStartOffset: wire.Offset(p.num("start", 0)),
		Clean: p.d.HasArg("clean"), NowMS: wire.Timestamp(p.num("now", 2000)),
	}
	l, rep, err := segment.OpenLog(p.fs, transcriptDir, p.cfg, opt)
	if err != nil {
		return err
	}
	if rep.TruncatedAt >= 0 {
		p.printf("cut %d bytes at offset %d: %s", rep.TruncatedBytes, rep.TruncatedAt, rep.TruncatedWhy)
	}
	for _, name := range rep.RebuiltIndexes {
		p.printf("rebuilt %s", name)
	}
	for _, name := range rep.RemovedFiles {
		p.printf("removed %s", name)
	}
	if rep.Damage != nil {
		p.printf("%s", rep.Damage)
	}
	if p.h, err = attach(p.fs, l); err != nil {
		return err
	}
	p.plans = nil
	return p.segments()
}

func (p *player) fetch() error {
	from := wire.Offset(p.num("from", 0))
	bound := wire.Offset(p.num("bound", int64(p.h.log.LogEndOffset())))
	_, loaded, err := p.h.plan(from, bound)
	if err != nil {
		return err
	}
	if loaded {
		p.printf("loaded the index")
	}
	batches, plan, err := p.h.fetch(from, bound)
	if errors.Is(err, segment.ErrNoBatch) {
		p.printf("no batch, go on at %d", plan.Segment.NextOffset())
		return nil
	}
	if err != nil {
		return err
	}
	if plan.Status != segment.FetchReady {
		p.printf("%s", plan.Status)
		return nil
	}
	if len(batches) == 0 {
		p.printf("nothing below the bound")
		return nil
	}
	p.printf("%s [%d, %d) exact %t %t: %d batches, %d-%d", path.Base(plan.Segment.LogName()), plan.Start, plan.End, plan.StartExact,
		plan.EndExact, len(batches), batches[0].BaseOffset(), batches[len(batches)-1].LastOffset())
	return nil
}

func (p *player) lookup(plan segment.TimePlan) error {
	off, ts, epoch, found, err := plan.Run(p.h.open)
	if err == nil {
		p.printf("offset %d timestamp %d epoch %d found %t", off, ts, epoch, found)
	}
	return err
}

func (p *player) time() error {
	bound := wire.Offset(p.num("bound", int64(p.h.log.LogEndOffset())))
	return p.lookup(p.h.log.PlanTimeLookup(wire.Timestamp(p.num("ts", 0)), bound))
}

func (p *player) maxTime() error {
	return p.lookup(p.h.log.PlanMaxTimestamp(wire.Offset(p.num("bound", int64(p.h.log.LogEndOffset())))))
}

func (p *player) epoch() error {
	e, off := p.h.log.EndOffsetForEpoch(wire.LeaderEpoch(p.num("e", 0)))
	p.printf("epoch %d ends at %d", e, off)
	return nil
}

func (p *player) assign() error {
	start := wire.Offset(p.num("start", int64(p.h.log.LogEndOffset())))
	changed := p.h.log.AssignEpoch(wire.LeaderEpoch(p.num("e", 0)), start)
	p.printf("changed %t", changed)
	return p.fs.WriteFileAtomic(transcriptDir+"/"+segment.LeaderEpochCheckpoint, p.h.log.EpochCheckpoint())
}

func (p *player) retain() error {
	l := p.h.log
	hw := wire.Offset(p.num("hw", int64(l.LogEndOffset())))
	segs := l.PlanRetention(wire.Timestamp(p.num("now", 0)), hw)
	if n := len(segs); n > 0 && segs[n-1] == l.ActiveSegment() {
		p.printf("rolled")
		if err := p.h.roll(true); err != nil {
			return err
		}
	}
	l.DropSegments(segs)
	if err := segment.DeleteSegments(p.fs, segs); err != nil {
		return err
	}
	for _, s := range segs {
		p.printf("dropped %d", s.BaseOffset())
	}
	return p.segments()
}

func (p *player) advance() error {
	p.printf("advanced %t, start %d", p.h.log.AdvanceStart(wire.Offset(p.num("to", 0))), p.h.log.LogStartOffset())
	return nil
}

func (p *player) cut() error {
	plan, ok := p.h.log.PlanTruncate(wire.Offset(p.num("to", 0)))
	if !ok {
		p.printf("nothing to cut")
		return nil
	}
	return p.truncated(plan)
}

func (p *player) empty() error {
	return p.truncated(p.h.log.PlanTruncateFully(wire.Offset(p.num("to", 0))))
}

func (p *player) truncated(plan segment.TruncatePlan) error {
	p.printf("recovery point %d at most", plan.RecoveryPoint())
	if err := p.h.truncate(&plan); err != nil {
		return err
	}
	if rep := plan.Report(); rep.Damage != nil || rep.TruncatedAt >= 0 {
		p.printf("cut %d bytes more at offset %d, damage %v", rep.TruncatedBytes, rep.TruncatedAt, rep.Damage)
	}
	p.plans = nil
	return p.segments()
}

func (p *player) scrub() error {
	from := wire.Offset(p.num("from", 0))
	for {
		plan, ok := p.h.log.PlanScrub(from)
		if !ok {
			break
		}
		r, err := plan.Run(p.fs, func(int) error { return nil })
		var damage *segment.CorruptionError
		if err != nil && !errors.As(err, &damage) {
			return err
		}
		p.printf("%d to %d: %d batches, %d bytes, counts %t", plan.From, plan.UpTo, r.Batches, r.Bytes, p.h.log.Scrubbed(plan, damage))
		from = plan.UpTo
	}
	if d := p.h.log.Damage(); d != nil {
		p.printf("%s", d)
	}
	return nil
}

func (p *player) epochs() error {
	data, err := p.fs.ReadFile(transcriptDir + "/" + segment.LeaderEpochCheckpoint)
	if err != nil {
		return err
	}
	p.printf("in memory\n%sin the file\n%s", p.h.log.EpochCheckpoint(), data)
	return nil
}

func (p *player) producers() error {
	for _, a := range p.h.log.Producers() {
		p.printf("producer %d epoch %d last sequence %d at %d, coordinator epoch %d, transaction from %d",
			a.ID, a.Epoch, a.LastSequence, a.LastTimestamp, a.CoordinatorEpoch, a.TxnStartOffset)
	}
	return nil
}

func (p *player) expire() error {
	p.printf("expired %d", p.h.log.ExpireProducers(wire.Timestamp(p.num("now", 0))))
	return nil
}

func (p *player) release() error {
	p.h.log.ReleaseBelow(wire.Offset(p.num("below", int64(p.h.log.LogEndOffset()))))
	p.printf("freed %d, left %d", p.h.log.ReleaseMemory(), p.h.log.IndexMemory())
	return nil
}
