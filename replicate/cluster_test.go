package replicate_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/replicate/replicatetest"
	"github.com/ringmill/ringmill/wire"
)

// TestClusterTranscripts plays testdata/cluster/*.txt: replicas of one partition whose messages are delivered by hand. now=, in
// milliseconds, may stand at each command and holds until the next one. Commands, N being a node's id:
//
//	nodes n= [policy=commit|interval|cache]                   makes nodes 1 to n, with empty logs
//	lead N epoch= pepoch= [replicas=1,2,3] [isr=1,2,3] [min=1] [lag=10000] [version=]
//	follow N epoch= pepoch= leader= [version=]
//	produce N ref= acks=0|1|all [values=a,b]
//	write N [n=all], sync N, keep N, fail N                   keep: write all, then sync; fail: nothing that is planned was written
//	ask N from=M as= [most=] [ineligible] [again]             M serves N's fetch; the answer is under way
//	take as=                                                  the answer arrives; it stays, to arrive again
//	fetch N from=M [most=] [ineligible]                       ask, take, keep, and truncate if that is asked for
//	truncate N                                                runs the truncation that N was asked for
//	tick N, min N to=, ineligible N who=, policy N to=, checkpoint N, expire N ref=
//	isr N code= [pepoch=] [isr=] [epoch=] [proposal=]         the controller's answer to N's newest proposal, or to an older one
//	consume N offset= [current=] [last=] [any] [committed]    a consumer's fetch
//	wait N ref= [seen=], cancel N ref=                        a replica's fetch waits
//	crash N [power], restart N registered= [empty]            empty: its disk is a new one
//	start N to=                                               the log's start rises, by retention or DeleteRecords
//	log N, epochs N                                           the records that are written, the epoch cache
//	watermark N                                               the low watermark of DeleteRecords, and whether the high one is old
//	replicas N                                                what N knows of the replicas
//
// Each shows the effects on N, then N's state.
func TestClusterTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/cluster", func(t *testing.T, file string) {
		c := &clusterPlayer{answers: make(map[string]replicatetest.Answer)}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			c.t, c.d, c.out = t, d, &strings.Builder{}
			c.run()
			return c.out.String()
		})
	})
}

type clusterPlayer struct {
	t   *testing.T
	d   *datadriven.TestData
	out *strings.Builder

	now       time.Duration
	nodes     []*replicatetest.Node
	n         *replicatetest.Node // that the command is for
	answers   map[string]replicatetest.Answer
	proposals []replicate.ISRProposal
}

func (c *clusterPlayer) run() {
	if c.d.HasArg("now") {
		c.now = time.Duration(c.num("now", 0)) * time.Millisecond
	}
	if c.d.Cmd == "nodes" {
		c.make()
		return
	}
	c.n = nil
	if len(c.d.CmdArgs) > 0 && len(c.d.CmdArgs[0].Vals) == 0 {
		if id, err := strconv.Atoi(c.d.CmdArgs[0].Key); err == nil {
			c.n = c.nodes[id-1]
		}
	}
	command := map[string]func(){
		"lead": c.lead, "follow": c.follow, "produce": c.produce, "write": c.write, "sync": c.sync, "keep": c.keep, "ask": c.ask, "take": c.take,
		"fetch": c.fetch, "truncate": c.truncate, "tick": func() { c.n.Tick(c.now) }, "min": c.min, "ineligible": c.ineligible, "policy": c.policy,
		"checkpoint": func() { c.n.Checkpoint() }, "expire": c.expire, "fail": func() { c.n.Fail(wire.KafkaStorageError) }, "isr": c.isr, "consume": c.consume, "wait": c.wait, "cancel": c.cancel,
		"crash": c.crash, "restart": c.restart, "log": c.log, "epochs": c.epochs, "watermark": c.watermark,
		"replicas": c.replicas, "start": func() { c.n.Log.AdvanceStart(wire.Offset(c.num("to", 0))) },
	}[c.d.Cmd]
	if command == nil {
		c.d.Fatalf(c.t, "unknown command %q", c.d.Cmd)
	}
	command()
	c.show()
	c.checkPrefixes()
}

func (c *clusterPlayer) printf(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

func (c *clusterPlayer) num(name string, def int64) int64 {
	if c.d.HasArg(name) {
		c.d.ScanArgs(c.t, name, &def)
	}
	return def
}

func (c *clusterPlayer) word(name, def string) string {
	if c.d.HasArg(name) {
		c.d.ScanArgs(c.t, name, &def)
	}
	return def
}

// ids reads a list as 1,2,3; "" is nobody.
func (c *clusterPlayer) ids(name, def string) (ids []wire.NodeID) {
	for _, word := range strings.FieldsFunc(c.word(name, def), func(r rune) bool { return r == ',' }) {
		id, err := strconv.Atoi(word)
		c.must(err)
		ids = append(ids, wire.NodeID(id))
	}
	return ids
}

func (c *clusterPlayer) must(err error) {
	c.t.Helper()
	if err != nil {
		c.d.Fatalf(c.t, "%v", err)
	}
}

func (c *clusterPlayer) make() {
	for i := range c.num("n", 3) {
		n, err := replicatetest.NewNode(wire.NodeID(i+1), policies[c.word("policy", "commit")], replicatetest.Config(), uint64(i))
		c.must(err)
		c.nodes = append(c.nodes, n)
	}
}

func (c *clusterPlayer) metadata() replicate.Metadata {
	return c.n.Metadata(replicate.Metadata{
		Version: wire.BrokerEpoch(c.num("version", 0)), Epoch: wire.LeaderEpoch(c.num("epoch", 0)), PartitionEpoch: wire.PartitionEpoch(c.num("pepoch", 0)),
	})
}

func (c *clusterPlayer) lead() {
	m := c.metadata()
	if c.d.HasArg("version") {
		m.Version = wire.BrokerEpoch(c.num("version", 0))
	}
	if c.n.Partition.Lead(c.now, replicate.LeaderState{
		Metadata: m, Self: c.n.ID, Replicas: c.ids("replicas", "1,2,3"), ISR: c.ids("isr", "1,2,3"),
		MinISR: int(c.num("min", 1)), LagMax: time.Duration(c.num("lag", 10_000)) * time.Millisecond,
	}, &c.n.Effects) {
		c.epochs()
	}
}

func (c *clusterPlayer) epochs() {
	c.printf("epochs: %s", strings.Join(strings.Fields(string(c.n.Log.EpochCheckpoint()))[2:], " "))
}

func (c *clusterPlayer) follow() {
	m := c.metadata()
	if c.d.HasArg("version") {
		m.Version = wire.BrokerEpoch(c.num("version", 0))
	}
	c.n.Partition.Follow(replicate.FollowerState{Metadata: m, Leader: wire.NodeID(c.num("leader", -1))}, &c.n.Effects)
}

func (c *clusterPlayer) produce() {
	acks := map[string]int16{"0": replicate.AcksNone, "1": replicate.AcksLeader, "all": replicate.AcksAll}[c.word("acks", "all")]
	ref := c.word("ref", "")
	_, err := c.n.Produce(ref, acks, wire.BatchHeader{BaseTimestamp: 1000}, strings.Split(c.word("values", ref), ",")...)
	c.must(err)
}

func (c *clusterPlayer) write()    { c.must(c.n.Write(int(c.num("n", int64(len(c.n.Plans)))))) }
func (c *clusterPlayer) sync()     { c.must(c.n.Sync()) }
func (c *clusterPlayer) truncate() { c.must(c.n.Truncate()) }

func (c *clusterPlayer) keep() {
	c.must(c.n.Write(len(c.n.Plans)))
	c.must(c.n.Sync())
}

func (c *clusterPlayer) ask() {
	leader := c.nodes[c.num("from", 1)-1]
	ask := c.n.Ask(!c.d.HasArg("ineligible"))
	ask.Again = c.d.HasArg("again")
	answer, err := leader.Serve(c.now, ask, int(c.num("most", 0)))
	c.must(err)
	c.printf("asks from %d of epoch %d", ask.Offset, ask.LastEpoch)
	c.printf("answer: %s", describe(answer))
	c.answers[c.word("as", "")] = answer
	c.showEffects(leader)
	c.showState(leader)
}

func describe(a replicatetest.Answer) string {
	s := fmt.Sprintf("%s, %d bytes, high watermark %d", a.Code, len(a.Records), a.HighWatermark)
	if a.InSync {
		s += ", in sync"
	}
	if a.Diverging.Set {
		s += fmt.Sprintf(", diverging: epoch %d ends at %d", a.Diverging.Epoch, a.Diverging.EndOffset)
	}
	return s
}

func (c *clusterPlayer) take() {
	a, known := c.answers[c.word("as", "")]
	if !known {
		c.d.Fatalf(c.t, "no such answer")
	}
	c.n = a.From
	taken, err := c.n.Take(a, 1000)
	c.must(err)
	if !taken {
		c.printf("changes nothing")
	}
}

func (c *clusterPlayer) fetch() {
	c.ask()
	a := c.answers[""]
	delete(c.answers, "")
	if _, err := c.n.Take(a, 1000); err != nil {
		c.must(err)
	}
	c.keep()
	for len(c.n.Truncations) > 0 {
		c.showTruncation()
		c.truncate()
	}
}

func (c *clusterPlayer) min() { c.n.Partition.SetMinISR(int(c.num("to", 1)), &c.n.Effects) }
func (c *clusterPlayer) ineligible() {
	c.n.Partition.Ineligible(wire.NodeID(c.num("who", 0)), &c.n.Effects)
}
func (c *clusterPlayer) policy() {
	c.n.Policy = policies[c.word("to", "")]
	c.n.Partition.SetPolicy(c.n.Policy, &c.n.Effects)
}
func (c *clusterPlayer) expire() {
	ref := c.word("ref", "")
	c.printf("%d wait on", c.n.Partition.Expire(func(r any) bool { return r == ref }, &c.n.Effects))
}

var answerCodes = []wire.ErrorCode{wire.None, wire.FencedLeaderEpoch, wire.InvalidUpdateVersion, wire.IneligibleReplica, wire.RequestTimedOut, wire.NewLeaderElected}

func (c *clusterPlayer) isr() {
	name := c.word("code", "NONE")
	i := slices.IndexFunc(answerCodes, func(code wire.ErrorCode) bool { return code.String() == name })
	if i < 0 {
		c.d.Fatalf(c.t, "unknown code %s", name)
	}
	q := c.proposals[c.num("proposal", int64(len(c.proposals)))-1]
	a := replicate.ISRAnswer{
		Code: answerCodes[i], Epoch: wire.LeaderEpoch(c.num("epoch", int64(q.Epoch))),
		PartitionEpoch: wire.PartitionEpoch(c.num("pepoch", int64(q.PartitionEpoch)+1)), ISR: c.ids("isr", ""),
	}
	if !c.d.HasArg("isr") {
		for _, m := range q.ISR {
			a.ISR = append(a.ISR, m.ID)
		}
	}
	c.n.Partition.ISRAnswered(c.now, q, a, &c.n.Effects)
}

func (c *clusterPlayer) consume() {
	r := c.n.Partition.ConsumerFetch(replicate.ConsumerPosition{
		Offset: wire.Offset(c.num("offset", 0)), CurrentEpoch: wire.LeaderEpoch(c.num("current", -1)), LastEpoch: wire.LeaderEpoch(c.num("last", -1)),
		AnyReplica: c.d.HasArg("any"), Committed: c.d.HasArg("committed"),
	})
	c.printf("%s", describe(replicatetest.Answer{Read: r}))
	if r.Code == wire.None {
		c.printf("may read below %d, log start %d", r.Bound, r.LogStart)
	}
}

func (c *clusterPlayer) wait() {
	w := replicate.FetchWaiter{Ref: c.word("ref", ""), Generation: 1}
	if c.n.Partition.WaitReplicaFetch(w, wire.Offset(c.num("seen", int64(c.n.Partition.WrittenEnd())))) {
		c.printf("waits")
	} else {
		c.printf("reads again")
	}
}

func (c *clusterPlayer) cancel() { c.n.Partition.CancelFetch(c.word("ref", "")) }
func (c *clusterPlayer) crash()  { c.n.Crash(c.d.HasArg("power")) }
func (c *clusterPlayer) restart() {
	if c.d.HasArg("empty") {
		empty, err := replicatetest.NewNode(c.n.ID, c.n.Policy, c.n.Config, 9)
		c.must(err)
		*c.n = *empty
	}
	c.must(c.n.Restart(wire.BrokerEpoch(c.num("registered", 0))))
}

func (c *clusterPlayer) log() {
	records, err := c.n.Records(c.n.Partition.WrittenEnd())
	c.must(err)
	for _, r := range records {
		c.printf("%s", r)
	}
}

func (c *clusterPlayer) watermark() {
	c.printf("low watermark %d, high watermark old %v", c.n.Partition.LowWatermark(), c.n.Partition.WatermarkIsOld())
}

func (c *clusterPlayer) replicas() {
	for _, r := range c.n.Partition.AppendReplicas(nil, c.now) {
		c.printf("%d: in sync %v, log %d to %d, behind for %d ms", r.ID, r.InSync, r.LogStart, r.LogEnd, r.Behind.Milliseconds())
	}
	c.printf("under min ISR: %v", c.n.Partition.UnderMinISR())
}

// show prints what the command made node n want, and where it is.
func (c *clusterPlayer) show() {
	if c.n == nil {
		return
	}
	c.showTruncation()
	c.showEffects(c.n)
	c.showState(c.n)
}

func (c *clusterPlayer) showTruncation() {
	for _, t := range c.n.Truncations {
		if t.Whole {
			c.printf("begin anew at %d", t.To)
		} else {
			c.printf("truncate to %d", t.To)
		}
	}
}

func (c *clusterPlayer) showEffects(n *replicatetest.Node) {
	for _, done := range n.Effects.Completed {
		c.printf("answer %v: %s, base offset %d", done.Ref, done.Code, done.BaseOffset)
	}
	for _, w := range n.Effects.Wake {
		c.printf("wake %v", w.Ref)
	}
	for _, q := range n.Effects.Proposals {
		if q.Ref != n {
			c.t.Error("a proposal is not marked with its partition")
		}
		c.proposals = append(c.proposals, q)
		c.printf("propose in epoch %d, partition epoch %d: isr %s", q.Epoch, q.PartitionEpoch, members(q.ISR))
	}
	n.Effects.Reset()
}

func members(isr []replicate.ISRMember) string {
	var words []string
	for _, m := range isr {
		words = append(words, fmt.Sprintf("%d (%d)", m.ID, m.BrokerEpoch))
	}
	return strings.Join(words, ", ")
}

func (c *clusterPlayer) showState(n *replicatetest.Node) {
	if n.Down {
		c.printf("%d: down", n.ID)
		return
	}
	p := n.Partition
	c.printf("%d: %s in epoch %d, isr %v: start %d, high watermark %d, synced %d, written %d, end %d", n.ID, p.Role(), p.LeaderEpoch(),
		p.InSyncReplicas(nil), n.Log.LogStartOffset(), p.HighWatermark(), p.SyncedEnd(), p.WrittenEnd(), n.Log.LogEndOffset())
}

// checkPrefixes holds I5: below the high watermarks of two replicas their logs are the same.
func (c *clusterPlayer) checkPrefixes() {
	if err := replicatetest.CheckPrefixes(c.nodes); err != nil {
		c.printf("WRONG: %v", err)
	}
}
