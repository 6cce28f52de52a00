package cluster

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/tools/simulate/world"
)

// CoordinatorOptions say what a run has of transactions and groups. They have a stream of their own: runs without are as if there were
// none.
type CoordinatorOptions struct {
	TxnPartitions   int           // of __transaction_state; 0: no transactions
	GroupPartitions int           // of __consumer_offsets; 0: no groups
	Transactors     int           // transactional ids
	OldClients      bool          // they add their partitions, and keep their epochs (transaction.version below 2)
	Timeout         time.Duration // of transactions
	Aborts          float64       // share of transactions that are to be aborted
	Deaths          float64       // share of transactions in which the instance dies
	Zombies         float64       // and in which another one begins while it lives
	Late            float64       // share of EndTxns that come once more, much later
	Readers         int           // members of a group that commit what they have read
	Loops           int           // members of a group that commit it in transactions, with what they have made of it
	ClassicReaders  bool          // the readers speak the classic protocol, not KIP-848
	ClassicLoops    bool          // and the loops
}

func drawCoordinators(r *rand.Rand) (o CoordinatorOptions) {
	if r.IntN(2) == 0 {
		return o
	}
	o = CoordinatorOptions{
		TxnPartitions: 1 + r.IntN(2), Transactors: 1 + r.IntN(3), OldClients: r.IntN(4) == 0,
		Timeout: world.Pick(r, 400*time.Millisecond, 1500*time.Millisecond, 5*time.Second),
		Aborts:  world.Pick(r, 0, 0.2, 0.5), Deaths: world.Pick(r, 0, 0.05, 0.2), Zombies: world.Pick(r, 0, 0.05, 0.2),
		Late: world.Pick(r, 0, 0.2, 1),
	}
	if r.IntN(3) > 0 {
		o.GroupPartitions, o.Readers, o.Loops = 1, r.IntN(4), r.IntN(4)
		o.Transactors = min(o.Transactors, 3-o.Loops)
	}
	return o
}

// coordinated is what a run has of transactions and groups.
type coordinated struct {
	txns        *txnLedger
	transactors []*transactor
	committed   *committedConsumer // nil if there are no transactions
	groups      []*groupLedger
}

// startCoordinated starts the clients of coordinators, if the run has any.
func (c *Cluster) startCoordinated() {
	o := &c.opt.Coordinators
	if o.TxnPartitions == 0 {
		return
	}
	c.txns = newTxnLedger(c)
	c.admins[0].makeTopic(image.TransactionStateTopic, o.TxnPartitions)
	for i := range o.Transactors {
		t := c.newTransactor(i)
		c.transactors = append(c.transactors, t)
		t.begin(world.Between(c.world.Coordinators, 0, 50*time.Millisecond))
	}
	c.startGroups()
	c.committed = c.newCommittedConsumer()
	c.committed.start()
}

// startGroups starts the members of groups, if the run has any.
func (c *Cluster) startGroups() {
	o := &c.opt.Coordinators
	if o.GroupPartitions == 0 {
		return
	}
	c.admins[0].makeTopic(image.ConsumerOffsetsTopic, o.GroupPartitions)
	if o.Readers > 0 {
		g := c.newGroupLedger("readers", false, o.ClassicReaders)
		c.groups = append(c.groups, g)
		for i := range o.Readers {
			g.newReader(i)
		}
	}
	if o.Loops > 0 {
		g := c.newGroupLedger("loops", true, o.ClassicLoops)
		c.groups = append(c.groups, g)
		for i := range o.Loops {
			t := c.newTransactor(o.Transactors + i)
			t.group = g
			c.transactors = append(c.transactors, t)
			t.begin(0)
		}
	}
}

// coordinatedLacks says what the clients of coordinators lack in a healed cluster; "" if nothing.
func (c *Cluster) coordinatedLacks() string {
	for _, t := range c.transactors {
		if !t.idle() {
			return t.id + " has not ended its transaction"
		}
	}
	for i, at := range c.places {
		leader := c.leaderByBelief(i)
		if leader == nil {
			return fmt.Sprintf("partition %d has no leader", i)
		}
		p := leader.replicas[i].partition
		if p.LastStableOffset() != p.HighWatermark() {
			return fmt.Sprintf("partition %d has a transaction open at offset %d of %d", i, p.LastStableOffset(), p.HighWatermark())
		}
		if at.Topic != image.TransactionStateTopic {
			continue
		}
		s := leader.txns.shards.byIdx[i]
		if s == nil || !s.loaded {
			return fmt.Sprintf("partition %d has no coordinator", i)
		}
		if s.coordinator.Open() > 0 {
			return fmt.Sprintf("%d transactions of partition %d are not complete", s.coordinator.Open(), i)
		}
	}
	for _, g := range c.groups {
		if lacking := g.lacks(); lacking != "" {
			return lacking
		}
	}
	return c.committed.lacks()
}
