package replicate_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/replicate/replicatetest"
	"github.com/ringmill/ringmill/wire"
)

// world is three replicas of a partition, a controller and a network in which everything is late, lost or comes twice, but for what a
// lost connection rules out. Which of all that happens next is drawn; two replicas must be in sync. Under the policy commit the power goes
// too, under the policy cache processes are killed only.
type world struct {
	draw       func(n int) int
	now        time.Duration
	nodes      []*worldNode
	controller worldController
	// network has what is on its way, in the order in which it was sent.
	network []worldMessage
	// acked is what was acknowledged to acks=all, by offset.
	acked   map[wire.Offset]string
	waiting map[string]worldProduce
	values  int
	// calm is how many faults that are drawn stay out for one that happens.
	calm   int
	policy replicate.FlushPolicy
	trace  func(format string, args ...any)
	// watermark is the highest that any replica has shown.
	watermark wire.Offset
}

type worldProduce struct{ values []string }

type worldNode struct {
	*replicatetest.Node
	fetcher *replicate.Fetcher
	// leader is whom fetcher asks, connection numbers its connections, correlation the requests: only a
	// response to the last one of both is seen.
	leader                  wire.NodeID
	connection, correlation int
	// session is the fetch session that the node, as a leader, keeps for each other one.
	sessions map[wire.NodeID]*worldSession
	// life counts the starts: what was sent to an earlier life is lost.
	life int
	// version is that of the newest image that the node has.
	version wire.BrokerEpoch
}

// worldMessage is a fetch, an answer to one, a proposal, or the answer to one.
type worldMessage struct {
	to, from                wire.NodeID
	toLife, fromLife        int
	connection, correlation int
	request                 []byte
	response                []byte
	proposal                *replicate.ISRProposal
	answer                  *replicate.ISRAnswer
}

const worldMinISR, worldLag = 2, 500 * time.Millisecond

func newWorld(draw func(int) int, trace func(string, ...any)) *world {
	w := &world{draw: draw, acked: make(map[wire.Offset]string), waiting: make(map[string]worldProduce), trace: trace}
	w.controller = newWorldController(3)
	w.calm = 4 << w.draw(6)
	if w.draw(4) == 0 {
		w.policy = replicate.FlushCache
	}
	for i := range 3 {
		cfg := replicatetest.Config()
		cfg.SegmentBytes = 400
		n, err := replicatetest.NewNode(wire.NodeID(i+1), w.policy, cfg, uint64(draw(1<<16)))
		if err != nil {
			panic(err)
		}
		node := &worldNode{Node: n}
		w.nodes = append(w.nodes, node)
		w.start(node)
	}
	return w
}

func (w *world) node(id wire.NodeID) *worldNode { return w.nodes[id-1] }

// start is what a started node has: nothing but its registration.
func (w *world) start(n *worldNode) {
	n.life++
	n.BrokerEpoch = w.controller.register(n.ID)
	n.version, n.leader, n.sessions = 0, wire.NoNode, make(map[wire.NodeID]*worldSession)
	n.fetcher = replicate.NewFetcher(replicate.FetcherConfig{Replica: n.ID, BrokerEpoch: n.BrokerEpoch, MaxBytes: 1 << 20, PartitionMaxBytes: 1 << 20, Backoff: time.Millisecond})
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// step lets one thing happen.
func (w *world) step() {
	n := w.nodes[w.draw(len(w.nodes))]
	if n.Down {
		if w.draw(4) == 0 {
			w.trace("restart %d", n.ID)
			must(n.Restart(0))
			w.start(n)
		}
		return
	}
	switch k := w.draw(100); {
	case k < 15:
		w.produce(n)
	case k < 30:
		must(n.Write(w.draw(len(n.Plans) + 1)))
	case k < 40:
		must(n.Sync())
	case k < 46:
		w.metadata(n, w.draw(3) == 0)
	case k < 60:
		w.ask(n)
	case k < 85:
		w.deliver()
	case k < 88:
		w.now += time.Duration(w.draw(40)) * time.Millisecond
		n.Tick(w.now)
	case k < 91:
		w.lose(n)
	case k < 93:
		w.controller.fence(w.nodes[w.draw(len(w.nodes))].ID, w.draw)
	case k < 95:
		n.Checkpoint()
	case k < 98:
		w.fault(n)
	}
	w.settle(n)
}

// fault does to n what the world's calm allows.
func (w *world) fault(n *worldNode) {
	if w.draw(w.calm) > 0 {
		return
	}
	if w.draw(3) == 0 {
		n.Fail(wire.KafkaStorageError)
		return
	}
	w.crash(n)
}

func (w *world) crash(n *worldNode) {
	power := w.policy == replicate.FlushCommit && w.draw(2) == 0
	w.trace("crash %d, power cut: %v", n.ID, power)
	n.Crash(power)
	w.controller.heartbeats[n.ID] = false
}

func (w *world) produce(n *worldNode) {
	if n.Partition.Role() != replicate.Leading && w.draw(10) > 0 {
		return
	}
	var values []string
	for range 1 + w.draw(3) {
		w.values++
		values = append(values, fmt.Sprintf("v%d", w.values))
	}
	acks := replicate.AcksLeader
	if w.draw(4) > 0 {
		acks = replicate.AcksAll
		w.waiting[values[0]] = worldProduce{values}
	}
	_, err := n.Produce(values[0], acks, wire.BatchHeader{BaseTimestamp: 1000}, values...)
	must(err)
}

// settle carries out the effects of n, and runs truncations when nothing is being written.
func (w *world) settle(n *worldNode) {
	if n.Down {
		return
	}
	if len(n.Truncations) > 0 {
		must(n.Write(len(n.Plans)))
		must(n.Truncate())
	}
	for _, c := range n.Effects.Completed {
		w.trace("complete %s", c.Code.String())
		if p, known := w.waiting[c.Ref.(string)]; known && c.Code == wire.None {
			w.acknowledged(c.BaseOffset, p.values)
		}
	}
	for _, q := range n.Effects.Proposals {
		w.trace("node %d proposes %v in epoch %d, partition epoch %d", n.ID, q.ISR, q.Epoch, q.PartitionEpoch)
		w.network = append(w.network, worldMessage{from: n.ID, fromLife: n.life, proposal: &q})
	}
	n.Effects.Reset()
	if n.Partition.Role() == replicate.Following && n.Partition.MayFetch() {
		n.fetcher.Ready(wire.TopicID{1}, 0, n.Partition.Position(), n.Log.LogStartOffset())
	}
	if end := n.SafeEndOfISR(w); n.Partition.Role() == replicate.Leading && n.Partition.HighWatermark() > end {
		panic(fmt.Sprintf("I7: node %d leads in epoch %d with high watermark %d, an in-sync replica keeps no more than %d",
			n.ID, n.Partition.LeaderEpoch(), n.Partition.HighWatermark(), end))
	}
	w.watermark = max(w.watermark, n.Partition.HighWatermark())
}

func (w *world) acknowledged(base wire.Offset, values []string) {
	for i, value := range values {
		off := base + wire.Offset(i)
		if other, taken := w.acked[off]; taken && other != value {
			panic(fmt.Sprintf("I1: %s acknowledged at %d, where %s was", value, off, other))
		}
		w.acked[off] = value
	}
}

// SafeEndOfISR is the least end that a replica of the committed ISR keeps, by the controller's word, if n leads by it.
func (n *worldNode) SafeEndOfISR(w *world) wire.Offset {
	end := wire.Offset(1 << 60)
	if w.controller.leader != n.ID || w.controller.epoch != n.Partition.LeaderEpoch() {
		return end
	}
	for _, id := range w.controller.isr {
		if other := w.node(id); !other.Down {
			end = min(end, other.Partition.SafeEnd())
		}
	}
	return end
}

// metadata brings a node up to date, or lets it see something old again.
func (w *world) metadata(n *worldNode, old bool) {
	c := &w.controller
	image := c.images[len(c.images)-1]
	if old {
		image = c.images[w.draw(len(c.images))]
	}
	if image.version > n.version {
		n.version = image.version
	}
	m := replicate.Metadata{Version: image.version + 1, Registered: n.BrokerEpoch, Epoch: image.epoch, PartitionEpoch: image.partitionEpoch, Ref: n.Node}
	if len(n.Truncations) > 0 {
		return
	}
	before := n.Partition.PartitionEpoch()
	if image.leader == n.ID {
		n.Partition.Lead(w.now, replicate.LeaderState{
			Metadata: m, Self: n.ID, Replicas: []wire.NodeID{1, 2, 3}, ISR: image.isr, MinISR: worldMinISR, LagMax: worldLag,
		}, &n.Effects)
	} else {
		n.Partition.Follow(replicate.FollowerState{Metadata: m, Leader: image.leader}, &n.Effects)
	}
	if n.Partition.PartitionEpoch() != before {
		w.trace("node %d: %s in epoch %d, partition epoch %d, isr %v", n.ID, n.Partition.Role(), n.Partition.LeaderEpoch(), n.Partition.PartitionEpoch(), n.Partition.InSyncReplicas(nil))
		n.Truncations = nil
		w.follow(n)
	}
}

// follow points the fetcher at the leader.
func (w *world) follow(n *worldNode) {
	leader := n.Partition.Leader()
	if leader != n.leader {
		n.leader = leader
		n.connection++
		n.fetcher.Lost()
	}
	if leader == wire.NoNode {
		n.fetcher.Remove(wire.TopicID{1}, 0)
		return
	}
	n.fetcher.Add(replicate.FetchTarget{
		Ref: n, Topic: wire.TopicID{1}, Epoch: n.Partition.LeaderEpoch(), Position: n.Partition.Position(), LogStart: n.Log.LogStartOffset(),
	}, n.Partition.MayFetch())
}

// lose breaks the node's connection to its leader; what is on its way to there may still arrive, but not what comes back.
func (w *world) lose(n *worldNode) {
	if n.fetcher.Out() {
		n.connection++
		n.fetcher.Lost()
	}
}

func (w *world) ask(n *worldNode) {
	w.now += time.Millisecond
	r := n.fetcher.Next(w.now, 0)
	if r == nil {
		return
	}
	n.correlation++
	w.trace("fetch of %d from %d: %d/%d %+v %+v", n.ID, n.leader, r.SessionID, r.SessionEpoch, r.Topics, r.Forgotten)
	w.network = append(w.network, worldMessage{to: n.leader, from: n.ID, toLife: w.node(n.leader).life, fromLife: n.life, connection: n.connection, correlation: n.correlation, request: r.AppendTo(nil, 17)})
}

// deliver lets a message arrive, mostly the oldest, and sometimes leaves it on its way, to arrive again.
func (w *world) deliver() {
	if len(w.network) == 0 {
		return
	}
	i := 0
	if w.draw(3) == 0 {
		i = w.draw(len(w.network))
	}
	m := w.network[i]
	if w.draw(10) > 0 {
		w.network = slices.Delete(w.network, i, i+1)
	}
	switch {
	case m.proposal != nil && m.answer == nil:
		w.decide(m)
	case m.answer != nil:
		if n := w.node(m.to); !n.Down && n.life == m.toLife {
			w.trace("answer to %d: %v: %s", n.ID, m.proposal.ISR, m.answer.Code)
			n.Partition.ISRAnswered(w.now, *m.proposal, *m.answer, &n.Effects)
			w.settle(n)
		}
	case m.request != nil:
		w.serve(m)
	default:
		w.answer(m)
	}
}

// decide is the controller's part of a proposal; sometimes its answer is lost.
func (w *world) decide(m worldMessage) {
	a := w.controller.alter(m.from, m.proposal)
	w.trace("proposal of %d: %v, epoch %d, partition epoch %d: %s", m.from, m.proposal.ISR, m.proposal.Epoch, m.proposal.PartitionEpoch, a.Code)
	if w.draw(5) == 0 {
		a = replicate.ISRAnswer{Code: wire.RequestTimedOut}
	}
	w.network = append(w.network, worldMessage{to: m.from, toLife: m.fromLife, proposal: m.proposal, answer: &a})
}

// answer is the follower's part of a fetch.
func (w *world) answer(m worldMessage) {
	n := w.node(m.to)
	if n.Down || n.life != m.toLife || n.connection != m.connection || n.correlation != m.correlation || !n.fetcher.Out() {
		return
	}
	var r wire.FetchResponseView
	must(r.Read(m.response, 17))
	actions, code := n.fetcher.Answer(w.now, &r)
	w.trace("fetch of %d answered: %s %s %+v", n.ID, r.ErrorCode, code, actions)
	for _, a := range actions {
		w.act(n, a)
	}
	w.settle(n)
}

// act does what a fetch's answer asks for.
func (w *world) act(n *worldNode, a replicate.FetchAction) {
	b := replicatetest.Answer{
		Ask:  replicatetest.Ask{From: n.Node, ReplicaPosition: replicate.ReplicaPosition{Offset: a.Offset, LastEpoch: a.LastEpoch, CurrentEpoch: a.Epoch}},
		Read: replicate.Read{HighWatermark: a.HighWatermark, LogStart: a.LogStart, Diverging: a.Diverging}, Records: a.Records,
	}
	switch a.Kind {
	case replicate.FetchFailed:
		return
	case replicate.FetchOutOfRange:
		b.Code, b.Diverging = wire.OffsetOutOfRange, wire.EpochEndOffset{Set: true, EndOffset: a.LeaderEnd}
	}
	taken, err := n.Take(b, 1000)
	must(err)
	if a.Diverging.Set {
		w.trace("node %d: diverging at %d, epoch %d ends at %d: %v", n.ID, a.Offset, a.Diverging.Epoch, a.Diverging.EndOffset, taken)
	}
	if !taken && a.Kind == replicate.FetchOutOfRange {
		n.fetcher.BackOff(wire.TopicID{1}, 0, w.now)
	}
}

// check holds I1 and I5 over all that is up.
func (w *world) check() {
	var up []*replicatetest.Node
	for _, n := range w.nodes {
		if !n.Down {
			up = append(up, n.Node)
		}
	}
	must(replicatetest.CheckPrefixes(up))
}

// heal ends all faults and lets the world come to rest: one leader, all in sync, everything visible.
func (w *world) heal() {
	for _, n := range w.nodes {
		if n.Down {
			must(n.Restart(0))
			w.start(n)
		}
		w.lose(n)
	}
	for range 400 {
		if w.checkHealed() == nil {
			return
		}
		w.now += 5 * time.Millisecond
		for _, n := range w.nodes {
			w.controller.unfence(n.ID)
			w.metadata(n, false)
			w.settle(n)
			must(n.Write(len(n.Plans)))
			if n.Partition.SyncedEnd() < n.Partition.WrittenEnd() {
				must(n.Sync())
				w.settle(n)
			}
			n.Tick(w.now)
			w.settle(n)
			w.ask(n)
			for len(w.network) > 0 {
				m := w.network[0]
				w.network = w.network[1:]
				w.arrive(m)
			}
		}
	}
}

// arrive is deliver without a choice.
func (w *world) arrive(m worldMessage) {
	draw := w.draw
	w.draw = func(n int) int { return n - 1 }
	w.network = append([]worldMessage{m}, w.network...)
	w.draw = func(n int) int {
		if n == 3 || n == 5 || n == 10 {
			return 1
		}
		return 0
	}
	w.deliver()
	w.draw = draw
}

// checkHealed holds I1: everything acknowledged is in every replica, and consumers see it.
func (w *world) checkHealed() error {
	leader := w.controller.leader
	if leader == wire.NoNode {
		return fmt.Errorf("no leader after all faults: isr %v, elr %v", w.controller.isr, w.controller.elr)
	}
	for _, n := range w.nodes {
		records, err := n.Records(n.Partition.HighWatermark())
		if err != nil {
			return err
		}
		if n.Partition.HighWatermark() != n.Log.LogEndOffset() {
			return fmt.Errorf("node %d: high watermark %d, end %d, %s of %d in epoch %d", n.ID, n.Partition.HighWatermark(), n.Log.LogEndOffset(), n.Partition.Role(), leader, n.Partition.LeaderEpoch())
		}
		byOffset := make(map[wire.Offset]string)
		for _, r := range records {
			byOffset[r.Offset] = r.Value
		}
		for off, value := range w.acked {
			if byOffset[off] != value {
				return fmt.Errorf("I1: node %d has %q at %d, %s was acknowledged there", n.ID, byOffset[off], off, value)
			}
		}
	}
	if len(w.controller.isr) != len(w.nodes) {
		return fmt.Errorf("isr %v after all faults", w.controller.isr)
	}
	return nil
}

// runWorld plays steps and then heals; the error says what rule was broken.
func runWorld(draw func(int) int, steps int, trace func(string, ...any)) (w *world, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	w = newWorld(draw, trace)
	for i := range steps {
		w.step()
		if i%64 == 0 {
			w.check()
		}
	}
	w.heal()
	w.check()
	return w, w.checkHealed()
}

var (
	worldCount = flag.Uint64("worlds", 100, "how many worlds TestWorlds plays")
	worldFirst = flag.Uint64("world", 0, "the seed of the first of them")
)

// TestWorlds plays many worlds: nothing that was acknowledged is lost, whatever happens in which order.
func TestWorlds(t *testing.T) {
	worlds, acked := *worldCount, 0
	for seed := *worldFirst; seed < *worldFirst+worlds; seed++ {
		rng := rand.New(rand.NewPCG(seed, 1))
		trace := func(string, ...any) {}
		if worlds == 1 {
			trace = func(format string, args ...any) { t.Logf(format, args...) }
		}
		w, err := runWorld(rng.IntN, 3000, trace)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		acked += len(w.acked)
	}
	t.Logf("%d worlds, %d records acknowledged", worlds, acked)
	if uint64(acked) < worlds {
		t.Errorf("%d records acknowledged in %d worlds: the worlds do not work", acked, worlds)
	}
}

// FuzzWorld lets the fuzzer draw.
func FuzzWorld(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3})
	f.Fuzz(func(t *testing.T, choices []byte) {
		steps := len(choices) / 3
		_, err := runWorld(func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := choices[0]
			choices = choices[1:]
			return int(c) % n
		}, min(steps, 1000), func(string, ...any) {})
		if err != nil {
			t.Error(err)
		}
	})
}
