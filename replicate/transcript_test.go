package replicate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/wire"
)

// TestTranscripts plays testdata/alone/*.txt: events of one partition, and what it wants done. Commands:
//
//	create [policy=commit|interval|cache] [segment-bytes=] [reopen]   reopen: of the log as it is
//	produce ref= acks=0|1|all [records=1] [pid= pepoch= seq=] [now=]
//	write [n=1], fail [n=1] [code=]   the oldest n plans are written; the newest n, which must be all, are not
//	synced [to=], policy to=, roll, stop code=
//	wait ref= [generation=1] [seen=], cancel ref=
//
// Each shows the effects, then the partition's offsets.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/alone", func(t *testing.T, file string) {
		fsys := segmenttest.New(1)
		if err := fsys.MkdirAll("/logs", 0o755); err != nil {
			t.Fatal(err)
		}
		p := &player{fs: fsys}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			p.t, p.d, p.out = t, d, &strings.Builder{}
			p.run()
			return p.out.String()
		})
	})
}

type player struct {
	t   *testing.T
	d   *datadriven.TestData
	out *strings.Builder
	fs  segment.FS

	log       *segment.Log
	partition *replicate.Partition
	eff       replicate.Effects
	// plans are not written yet.
	plans []segment.AppendPlan
}

func (p *player) run() {
	commands := map[string]func(){
		"create": p.create, "produce": p.produce, "write": p.write, "fail": p.fail, "synced": p.synced,
		"policy": p.policy, "roll": p.roll, "stop": p.stop, "wait": p.wait,
		"cancel": func() { p.partition.CancelFetch(p.word("ref")) },
	}
	command := commands[p.d.Cmd]
	if command == nil {
		p.d.Fatalf(p.t, "unknown command %q", p.d.Cmd)
	}
	command()
	p.show()
}

func (p *player) printf(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

func (p *player) num(name string, def int64) int64 {
	if p.d.HasArg(name) {
		p.d.ScanArgs(p.t, name, &def)
	}
	return def
}

func (p *player) word(name string) (word string) {
	p.d.ScanArgs(p.t, name, &word)
	return word
}

// show prints the effects and the offsets, and checks what must hold whatever happened.
func (p *player) show() {
	for _, c := range p.eff.Completed {
		p.printf("answer %v: %s, base offset %d", c.Ref, c.Code, c.BaseOffset)
	}
	for _, w := range p.eff.Wake {
		p.printf("wake %v, generation %d", w.Ref, w.Generation)
	}
	p.eff.Reset()
	r := p.partition
	p.printf("start %d, high watermark %d, synced %d, written %d, end %d",
		p.log.LogStartOffset(), r.HighWatermark(), r.SyncedEnd(), r.WrittenEnd(), p.log.LogEndOffset())
}

var policies = map[string]replicate.FlushPolicy{
	"commit": replicate.FlushCommit, "interval": replicate.FlushInterval, "cache": replicate.FlushCache,
}

func (p *player) create() {
	policy := "commit"
	if p.d.HasArg("policy") {
		policy = p.word("policy")
	}
	if !p.d.HasArg("reopen") {
		cfg := segment.Config{
			SegmentBytes: p.num("segment-bytes", 1<<20), SegmentMS: 1 << 40, IndexBytes: 1 << 20, IndexIntervalBytes: 4096,
			RetentionMS: -1, RetentionBytes: -1, ProducerExpirationMS: 1 << 40, Delete: true,
			TimestampBeforeMaxMS: 1 << 60, TimestampAfterMaxMS: 1000, FlushMessages: 1 << 60, FlushMS: 1 << 60,
		}
		var err error
		if p.log, err = segment.CreateLog(p.fs, "/logs/t-0", cfg, wire.TopicID{1}, 0); err != nil {
			p.t.Fatal(err)
		}
	}
	p.partition = replicate.NewPartition(p.log, policies[policy], wire.LeaderEpoch(p.num("epoch", 0)))
}

func (p *player) produce() {
	h := wire.BatchHeader{
		BaseTimestamp: wire.Timestamp(p.num("ts", 1000)), Idempotent: p.d.HasArg("pid"), ProducerID: wire.ProducerID(p.num("pid", 0)),
		ProducerEpoch: wire.ProducerEpoch(p.num("pepoch", 0)), BaseSequence: wire.Sequence(p.num("seq", 0)),
	}
	records := make([]wire.Record, p.num("records", 1))
	for i := range records {
		records[i].Value = []byte("value")
	}
	acks := map[string]int16{"0": replicate.AcksNone, "1": replicate.AcksLeader, "all": replicate.AcksAll}[p.word("acks")]
	batch := wire.RecordBatch(wire.AppendRecordBatch(nil, h, records))
	plan, outcome := p.partition.Produce(batch, acks, p.word("ref"), wire.Timestamp(p.num("now", 1000)), &p.eff)
	switch outcome {
	case replicate.Planned:
		p.plans = append(p.plans, plan)
		p.printf("planned %d-%d at %d of segment %d", plan.BaseOffset, plan.LastOffset, plan.Position, plan.Segment.BaseOffset())
	case replicate.NeedsRoll:
		p.printf("needs a roll")
	case replicate.Answered:
		p.printf("nothing to write")
	}
}

func (p *player) write() {
	n := p.num("n", 1)
	last := p.plans[n-1]
	p.plans = p.plans[n:]
	p.partition.Written(last.LastOffset+1, &p.eff)
}

func (p *player) fail() {
	first := len(p.plans) - int(p.num("n", 1))
	p.partition.Failed(p.plans[first:], wire.KafkaStorageError, &p.eff)
	p.plans = p.plans[:first]
}

func (p *player) synced() {
	p.partition.Synced(wire.Offset(p.num("to", int64(p.partition.WrittenEnd()))), &p.eff)
}

func (p *player) policy() { p.partition.SetPolicy(policies[p.word("to")], &p.eff) }

func (p *player) roll() { roll(p.t, p.fs, p.log) }

// roll has a log go on in a new segment.
func roll(tb testing.TB, fsys segment.FS, log *segment.Log) {
	tb.Helper()
	plan := log.PlanRoll()
	file, err := plan.Run(fsys, true)
	if err != nil {
		tb.Fatal(err)
	}
	_ = file.Close()
	log.Rolled(plan)
}

func (p *player) stop() {
	p.partition.Stop(map[string]wire.ErrorCode{"storage": wire.KafkaStorageError, "deleted": wire.UnknownTopicOrPartition}[p.word("code")], &p.eff)
}

func (p *player) wait() {
	w := replicate.FetchWaiter{Ref: p.word("ref"), Generation: uint32(p.num("generation", 1))}
	if p.partition.WaitFetch(w, wire.Offset(p.num("seen", int64(p.partition.HighWatermark())))) {
		p.printf("waits")
	} else {
		p.printf("reads again")
	}
}
