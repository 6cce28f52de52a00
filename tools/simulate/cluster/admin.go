package cluster

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// admin asks the controller for blocks of producer ids, one request after the other: a counter, which must be linearizable (I13).
// No block comes twice, and none is at or below one that was given before it was asked for.
type admin struct {
	cluster *Cluster
	process *world.Process
	calmAck bool // it was answered since the cluster healed
}

// producerIDBlock is how many ids a request takes.
const producerIDBlock = 10

// adminPause is how long an admin waits at most between two requests.
const adminPause = 100 * time.Millisecond

func (c *Cluster) newAdmin(id int) *admin {
	return &admin{cluster: c, process: c.world.NewProcess(fmt.Sprintf("admin %d", id), c.clientPlace())}
}

func (a *admin) start() {
	a.process.Start()
	a.turn()
}

// turn asks a node; if that is not the controller, another one.
func (a *admin) turn() {
	c := a.cluster
	node := c.nodes[c.world.Workload.IntN(len(c.nodes))]
	again := func() { a.process.After(world.Between(c.world.Workload, 0, adminPause), a.turn) }
	after := c.quorum.blocksEnd
	c.ask(a.process, node, "allocate producer ids", clientPatience, func(reply func(func())) {
		node.allocateProducerIDs(func(first wire.ProducerID) {
			reply(func() {
				a.calmAck = a.calmAck || c.calm
				c.quorum.allocated(a.process.Name(), first, after)
				again()
			})
		}, func() { reply(again) })
	}, again)
}

// allocateProducerIDs takes a block for a client.
func (n *Node) allocateProducerIDs(answer func(first wire.ProducerID), refused func()) {
	var first wire.ProducerID
	n.control.decide(func(m *image.Image) []image.Record {
		first = m.NextProducerID()
		return []image.Record{image.ProducerIDsRecord{Next: first + producerIDBlock}}
	}, func() { answer(first) }, refused)
}
