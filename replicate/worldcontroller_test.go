package replicate_test

import (
	"slices"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// worldController is what the metadata quorum does for one partition (KIP-497, 903, 966), without faults of its own.
type worldController struct {
	version        wire.BrokerEpoch
	leader         wire.NodeID
	epoch          wire.LeaderEpoch
	partitionEpoch wire.PartitionEpoch
	isr, elr       []wire.NodeID
	// brokers are the registrations, fenced who has not been heard of, heartbeats who lives.
	brokers            map[wire.NodeID]wire.BrokerEpoch
	fenced, heartbeats map[wire.NodeID]bool
	// images are all states so far.
	images []worldImage
}

type worldImage struct {
	version        wire.BrokerEpoch
	leader         wire.NodeID
	epoch          wire.LeaderEpoch
	partitionEpoch wire.PartitionEpoch
	isr            []wire.NodeID
}

func newWorldController(nodes int) worldController {
	c := worldController{leader: 1, brokers: make(map[wire.NodeID]wire.BrokerEpoch), fenced: make(map[wire.NodeID]bool), heartbeats: make(map[wire.NodeID]bool)}
	for i := range nodes {
		c.isr = append(c.isr, wire.NodeID(i+1))
	}
	c.publish()
	return c
}

// publish makes an image of the state.
func (c *worldController) publish() {
	c.version++
	c.images = append(c.images, worldImage{c.version, c.leader, c.epoch, c.partitionEpoch, slices.Clone(c.isr)})
}

// register takes a node in as a new one: what it was before is over.
func (c *worldController) register(id wire.NodeID) wire.BrokerEpoch {
	if _, again := c.brokers[id]; again {
		c.drop(id)
	}
	c.publish()
	c.brokers[id], c.fenced[id], c.heartbeats[id] = c.version, false, true
	c.elect()
	return c.brokers[id]
}

// fence fences a node that is not heard of, or sometimes one that is only slow.
func (c *worldController) fence(id wire.NodeID, draw func(int) int) {
	if !c.heartbeats[id] || draw(40) == 0 {
		c.drop(id)
	} else {
		c.unfence(id)
	}
}

func (c *worldController) unfence(id wire.NodeID) {
	c.fenced[id] = false
	c.elect()
}

// drop fences a node: it leaves the ISR, and stays eligible if the ISR is then too small.
func (c *worldController) drop(id wire.NodeID) {
	c.fenced[id] = true
	if i := slices.Index(c.isr, id); i >= 0 {
		c.setISR(slices.Delete(slices.Clone(c.isr), i, i+1))
		if c.leader == id {
			c.leader = wire.NoNode
			c.epoch++
		}
		c.partitionEpoch++
		c.publish()
	}
	c.elect()
}

func (c *worldController) setISR(isr []wire.NodeID) {
	was := append(slices.Clone(c.isr), c.elr...)
	c.isr, c.elr = isr, nil
	if len(isr) >= worldMinISR {
		return
	}
	for _, id := range was {
		if !slices.Contains(isr, id) && !slices.Contains(c.elr, id) {
			c.elr = append(c.elr, id)
		}
	}
}

// elect finds a leader if there is none.
func (c *worldController) elect() {
	if c.leader != wire.NoNode {
		return
	}
	for _, list := range [][]wire.NodeID{c.isr, c.elr} {
		for _, id := range list {
			if c.fenced[id] || !c.heartbeats[id] {
				continue
			}
			if !slices.Contains(c.isr, id) {
				c.setISR(append(slices.Clone(c.isr), id))
			}
			c.leader = id
			c.epoch++
			c.partitionEpoch++
			c.publish()
			return
		}
	}
}

// alter answers an AlterPartition.
func (c *worldController) alter(from wire.NodeID, q *replicate.ISRProposal) replicate.ISRAnswer {
	switch {
	case q.Epoch != c.epoch || c.leader != from:
		return replicate.ISRAnswer{Code: wire.FencedLeaderEpoch}
	case q.PartitionEpoch != c.partitionEpoch:
		return replicate.ISRAnswer{Code: wire.InvalidUpdateVersion}
	}
	var isr []wire.NodeID
	for _, m := range q.ISR {
		if c.fenced[m.ID] || m.BrokerEpoch >= 0 && m.BrokerEpoch != c.brokers[m.ID] {
			return replicate.ISRAnswer{Code: wire.IneligibleReplica}
		}
		isr = append(isr, m.ID)
	}
	c.setISR(isr)
	c.partitionEpoch++
	c.publish()
	return replicate.ISRAnswer{Epoch: c.epoch, PartitionEpoch: c.partitionEpoch, ISR: slices.Clone(isr)}
}
