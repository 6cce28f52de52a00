package cluster

import (
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// Cluster is a run: nodes, clients, and what both have shown.
type Cluster struct {
	opt       Options
	world     *world.World
	network   *world.Network // nodes are at places 0 to Nodes-1, all clients at the next
	nodes     []*Node
	producers []*producer
	consumers []*consumer
	admins    []*admin
	coordinated
	places       []wire.TopicPartition // the partitions of all topics: the clients' first, then those of coordinators
	ledgers      []*ledger             // by place
	quorum       *quorumLedger
	newest       uint64                  // version of the newest image that any node has had
	newestStates []*image.PartitionState // of that image, by place
	aimed        []Fault                 // that wait for what they are aimed at, in the order of time
	calm         bool                    // the liveness phase: no faults, no new records
	stats        stats
}

// stats are figures for the report.
type stats struct {
	faults, acked, elections int
	transactions             int                    // whose producers were told that they are committed
	refused                  map[wire.ErrorCode]int // produces
}

// Setup is what a run may be given beside its seed.
type Setup struct {
	Faults *[]Fault  // in place of those that the seed draws
	Trace  io.Writer // nil: nobody reads along
}

// Run makes one run.
func Run(seed uint64, setup Setup) (r Result) {
	w := world.New(seed, setup.Trace)
	c := newCluster(w)
	faults := allFaults(w, c.opt)
	if setup.Faults != nil {
		faults = *setup.Faults
	}
	defer func() {
		if cause := recover(); cause != nil {
			w.Fail(panicInvariant(fmt.Sprint(cause)), "%v\n%s", cause, debug.Stack())
		}
		r = c.result(seed)
	}()
	c.run(faults)
	for _, l := range c.ledgers {
		r.Committed += len(l.committed)
	}
	return r
}

func newCluster(w *world.World) *Cluster {
	c := &Cluster{opt: DrawOptions(&w.Streams), world: w, quorum: newQuorumLedger(w)}
	c.stats.refused = map[wire.ErrorCode]int{}
	w.Tracef("options   %s", c.opt)
	c.network = w.NewNetwork(c.opt.Nodes+1, c.opt.Network)
	c.places = c.opt.places()
	c.newestStates = make([]*image.PartitionState, len(c.places))
	for i := range c.places {
		c.ledgers = append(c.ledgers, newLedger(w, i))
	}
	for i := range c.opt.Nodes {
		c.nodes = append(c.nodes, c.newNode(i))
	}
	for i := range c.opt.Producers {
		id := wire.ProducerID(i + 1)
		if world.Chance(w.Workload, c.opt.AcksOne) {
			id += looseProducers
		}
		c.producers = append(c.producers, c.newProducer(id))
	}
	for i := range c.opt.Consumers {
		c.consumers = append(c.consumers, c.newConsumer(i+1))
	}
	for i := range c.opt.Admins {
		c.admins = append(c.admins, c.newAdmin(i+1))
	}
	return c
}

// run is the two phases and the judgement.
func (c *Cluster) run(faults []Fault) {
	c.format()
	for _, n := range c.nodes {
		c.world.After(world.Between(c.world.Clock, 0, 200*time.Millisecond), n.comeBack)
	}
	for _, a := range c.admins {
		a.start()
	}
	c.admins[0].makeTopic(topicName, c.opt.Partitions)
	c.startCoordinated()
	if c.opt.Reassign {
		c.admins[0].reassign()
	}
	c.startMembers()
	for _, p := range c.producers {
		p.start()
	}
	for _, k := range c.consumers {
		k.start()
	}
	for _, f := range faults {
		c.world.After(f.At, func() { c.strike(f) })
	}
	c.world.RunUntil(c.opt.Safety)
	if c.world.Failure() == nil {
		c.heal()
		c.settle()
	}
	if c.world.Failure() == nil {
		c.judge()
	}
}

// settle lets the healed cluster become whole (whole).
func (c *Cluster) settle() {
	const step = 100 * time.Millisecond
	for end := c.opt.Safety + c.opt.Liveness; c.world.Failure() == nil; {
		c.world.RunUntil(c.world.Now() + step)
		lacking := c.lacking()
		if lacking == "" {
			return
		}
		if c.world.Now() >= end {
			c.world.Fail("whole", "%v after the last fault %s", c.opt.Liveness, lacking)
		}
	}
}

// clientPlace is where clients are in the network.
func (c *Cluster) clientPlace() int { return c.opt.Nodes }

// node gives the node of that id.
func (c *Cluster) node(id wire.NodeID) *Node { return c.nodes[id-firstNode] }

func (c *Cluster) result(seed uint64) Result {
	r := Result{
		Seed: seed, Options: c.opt, Violation: c.world.Failure(), Hash: c.world.Hash(), Events: c.world.Events(), Simulated: c.world.Now(),
		Faults: c.stats.faults, Acked: c.stats.acked, Elections: c.stats.elections, Committed: c.quorum.length(), Transactions: c.stats.transactions,
	}
	for _, l := range c.ledgers {
		r.Committed += len(l.committed)
	}
	return r
}
