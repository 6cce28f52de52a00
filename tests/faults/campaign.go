package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/eos"
	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
)

// properties let what a fault leads to happen within seconds. Nothing is faster than a busy machine's answers are.
var properties = map[string]string{
	"min.insync.replicas":             "2",
	"default.replication.factor":      "3",
	"broker.session.timeout.ms":       "3000",
	"broker.heartbeat.interval.ms":    "500",
	"replica.lag.time.max.ms":         "3000",
	"auto.leader.rebalance.enable":    "false", // leaders move when a fault moves them
	"ringmill.gossip.key":             "cmluZ21pbGwtdGVzdHMtZmF1bHRzLWtleS0zMmJ5dGU=",
	"log.segment.bytes":               "1048576",
	"offsets.topic.num.partitions":    "3",
	"log.retention.check.interval.ms": "300000",
}

// Campaign is one cluster under load, and the faults that it has had so far.
type Campaign struct {
	tb      testing.TB
	random  *rand.Rand
	seed    uint64
	name    string
	ledger  *load.Ledger
	noted   bool // in the ledger
	shape   Shape
	network *Network // nil: all nodes are on loopback
	cluster *harness.Cluster
	load    *load.Load
	txns    *eos.World // nil: no transactions

	with   []string
	gap    int64 // the longest time without an acknowledgement, ns
	faults []string
	counts map[string]int
}

// Shape of a cluster.
type Shape struct {
	Nodes  int
	Clocks bool // each node has a wall clock of its own: they are not the binary as it ships (harness.Clock)
}

// Begin starts a cluster and its load. Its seed says which faults come and whom they meet, not when the nodes do what.
func Begin(tb testing.TB, name string, ledger *load.Ledger, shape Shape, seed uint64) *Campaign {
	tb.Helper()
	c := &Campaign{tb: tb, random: rand.New(rand.NewPCG(seed, uint64(shape.Nodes))), seed: seed, counts: map[string]int{}, name: name, ledger: ledger, shape: shape}
	tb.Cleanup(c.noteEnd)
	c.start()
	c.load = load.Start(tb, c.cluster.Nodes, load.Options{Partitions: 4, Replicas: 3, Producers: 2, Pace: 2 * time.Millisecond,
		Configs: []string{"segment.bytes=1048576"}, Marks: true, Admin: seed | 1})
	return c
}

// start starts the nodes: ringmill's in namespaces, or where there are none, and those of Apache Kafka, on loopback.
func (c *Campaign) start() {
	c.tb.Helper()
	all := maps.Clone(properties)
	maps.Copy(all, eos.Properties)
	if harness.ChosenPeer() == harness.Kafka {
		maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "ringmill.") })
		c.cluster = harness.StartKafkaCluster(c.tb, c.shape.Nodes, all)
		return
	}
	places := make([]harness.Place, c.shape.Nodes)
	network, err := NewNetwork(c.tb, c.shape.Nodes, c.seed)
	if err != nil {
		c.tb.Logf("all nodes are on loopback, so there are no partitions: %v", err)
	} else {
		c.network, places = network, network.Places()
	}
	if c.shape.Clocks {
		c.with = append(c.with, "clocks")
		for i := range places {
			places[i].Clock = harness.NewClock(c.tb)
		}
		// a node that is behind would refuse what clients send now
		all["log.message.timestamp.after.max.ms"] = fmt.Sprint(3 * wrongMost.Milliseconds())
	}
	c.cluster = harness.StartClusterAt(c.tb, places, all)
}

// between is how many records are acknowledged before and after each fault.
const between = 50

// betweenTxns is how many transactions end likewise.
const betweenTxns = 5

// Inject has the cluster meet one fault under load, heals it, and waits until it is whole and serves again.
func (c *Campaign) Inject(f Fault) {
	c.tb.Helper()
	c.load.AwaitProgress(between)
	time.Sleep(time.Duration(c.random.IntN(300)) * time.Millisecond)
	began := load.Now()
	c.faults = append(c.faults, f.Name)
	what, bit := f.inject(c)
	c.heal()
	c.load.History.Add(load.Event{Op: "fault", T0: began, T1: load.Now(), Kind: what, Bit: bit})
	c.load.AwaitProgress(between)
	if c.txns != nil {
		c.txns.AwaitProgress(betweenTxns)
		c.txns.KillSome()
	}
	c.load.AwaitWhole()
	gap := c.load.History.LongestGap()
	c.gap = max(c.gap, gap)
	c.tb.Logf("%5.1f s: %s; whole after %.1f s, %d ms at most without an acknowledgement", float64(began-c.load.Began)/1e9, what,
		float64(load.Now()-began)/1e9, gap/1e6)
}

// heal ends what a fault has left.
func (c *Campaign) heal() {
	c.tb.Helper()
	if c.network != nil {
		c.network.Heal(c.tb)
	}
	c.setClocks(0, c.cluster.Nodes...)
	for _, node := range c.cluster.Nodes {
		if node.Alive() {
			node.Resume(c.tb)
		}
	}
	c.cluster.Restart(c.tb)
}

// note is the campaign's line in the ledger.
func (c *Campaign) note(verdict load.Verdict) {
	c.tb.Helper()
	where := "namespaces"
	if c.network == nil {
		where = "loopback"
	}
	entry := load.Entry{Campaign: c.name, Seed: c.seed, Nodes: c.shape.Nodes, Where: where, With: c.with, Faults: c.faults,
		Counts: c.counts, GapMS: c.gap / 1e6, Verdict: verdict.Status}
	if c.load != nil {
		entry.Acked = c.load.History.Acknowledged()
	}
	if verdict.Status != load.Holds {
		entry.Why = verdict.Said
	}
	c.ledger.Add(c.tb, entry)
	c.noted = true
}

// noteEnd tells of a campaign that the test has ended before it was judged: a node that does not start again, or a cluster that does not
// become whole.
func (c *Campaign) noteEnd() {
	if !c.noted && c.tb.Failed() {
		c.note(load.Verdict{Status: load.Violation, Said: "the test ended, see what it said"})
	}
}

// What RINGMILL_TEST_WITH adds to a cluster's load.
const (
	transactions = "transactions"
	libraries    = "libraries"
)

// Add adds what RINGMILL_TEST_WITH is called.
func (c *Campaign) Add(with string) {
	c.tb.Helper()
	switch with {
	case "":
	case transactions:
		c.Transact()
	case libraries:
		c.Mix()
	default:
		c.tb.Fatalf("RINGMILL_TEST_WITH=%q: not %s and not %s", with, transactions, libraries)
	}
}

// Transact adds transactional producers, loops and readers to the load: package eos has them.
func (c *Campaign) Transact() {
	c.tb.Helper()
	c.with = append(c.with, transactions)
	c.txns = eos.Start(c.tb, c.cluster.Nodes, c.enter(), c.random)
	c.txns.AwaitProgress(betweenTxns)
}

// Mix adds producers of other client libraries to the load.
func (c *Campaign) Mix() {
	c.tb.Helper()
	c.with = append(c.with, libraries)
	for _, library := range []string{load.Java, load.Librdkafka} {
		c.load.AddForeign(library, c.enter())
	}
}

// enter is what the command line of a client begins with, so that it is where clients are.
func (c *Campaign) enter() []string {
	if c.network == nil {
		return nil
	}
	return c.network.Enter()
}

// End judges what clients saw, notes it in the ledger, and stops the nodes cleanly.
func (c *Campaign) End() load.Verdict {
	c.tb.Helper()
	var txns load.Verdict
	if c.txns != nil {
		c.txns.AwaitLoop()
		txns = c.txns.Finish(betweenTxns * len(c.faults))
	}
	verdict := c.load.Finish(between)
	if txns.Status != load.Holds && verdict.Status != load.Violation {
		verdict = txns
	}
	if c.tb.Failed() { // a record was given up, or its bytes had changed
		verdict.Status = load.Violation
	}
	c.note(verdict)
	for _, node := range c.cluster.Nodes {
		if node.IsKafka() { // its last node waits minutes for a controller, and what it has written is in the files
			node.Kill(c.tb)
			continue
		}
		node.Stop(c.tb)
	}
	return verdict
}

// view is what a node says of the cluster.
type view struct {
	controller int32
	brokers    []int32
	partitions map[int32]kmsg.MetadataResponseTopicPartition // of the load's topic
}

// look asks nodes for their view, one after the other; the first that answers is it.
func (c *Campaign) look(nodes ...*harness.Node) (view, error) {
	var last error
	for _, node := range nodes {
		if !node.Alive() {
			continue
		}
		metadata, err := load.Metadata(context.Background(), node)
		if err != nil {
			last = err
			continue
		}
		v := view{controller: metadata.ControllerID, partitions: map[int32]kmsg.MetadataResponseTopicPartition{}}
		for _, b := range metadata.Brokers {
			v.brokers = append(v.brokers, b.NodeID)
		}
		for _, t := range metadata.Topics {
			if *t.Topic == c.load.Topic {
				for _, p := range t.Partitions {
					v.partitions[p.Partition] = p
				}
			}
		}
		return v, nil
	}
	return view{}, fmt.Errorf("no node answers: %w", last)
}

// now is the view of a cluster that is whole.
func (c *Campaign) now() (v view) {
	c.tb.Helper()
	harness.Eventually(c.tb, "the cluster tells of itself", func(context.Context) (err error) {
		if v, err = c.look(c.cluster.Nodes...); err == nil && v.controller < 0 {
			err = fmt.Errorf("no controller")
		}
		return err
	})
	return v
}

// node is one by its id.
func (c *Campaign) node(id int32) *harness.Node { return c.cluster.Nodes[id-1] }

// others are the nodes but some.
func (c *Campaign) others(ids ...int32) (others []*harness.Node) {
	for i, n := range c.cluster.Nodes {
		if !slices.Contains(ids, int32(i+1)) {
			others = append(others, n)
		}
	}
	return others
}

// any is a node's id.
func (c *Campaign) any() int32 { return 1 + c.random.Int32N(int32(len(c.cluster.Nodes))) }

// leader is the leader of some partition of the load.
func (c *Campaign) leader() int32 {
	c.tb.Helper()
	v := c.now()
	return v.partitions[c.random.Int32N(c.load.Options.Partitions)].Leader
}

// effectWithin is how long a fault is held for what it has to lead to.
const effectWithin = 30 * time.Second

// until holds a fault until other nodes say that what it has to lead to is there, and a little longer.
func (c *Campaign) until(seenBy []*harness.Node, effect func(view) bool) bool {
	c.tb.Helper()
	for deadline := time.Now().Add(effectWithin); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if v, err := c.look(seenBy...); err == nil && effect(v) {
			time.Sleep(time.Duration(c.random.IntN(1500)) * time.Millisecond)
			return true
		}
	}
	return false
}

// gone tells that a node is out of service: nobody is sent to it, and it leads nothing.
func gone(id int32) func(view) bool {
	return func(v view) bool {
		for p := range maps.Values(v.partitions) {
			if p.Leader == id || slices.Contains(p.ISR, id) {
				return false
			}
		}
		return len(v.partitions) > 0 && v.controller != id && v.controller >= 0
	}
}
