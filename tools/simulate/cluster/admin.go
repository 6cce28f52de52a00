package cluster

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// admin asks the controller for blocks of producer ids, or where the next one begins, one request after the other: a counter, which must
// be linearizable (I13). No block comes twice, and none is at or below one that was given before it was asked for.
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
	if c.calm && a.calmAck {
		return
	}
	node := c.nodes[c.world.Workload.IntN(len(c.nodes))]
	again := func() { a.process.After(world.Between(c.world.Workload, 0, adminPause), a.turn) }
	after := c.quorum.blocksEnd
	if world.Chance(c.world.Workload, 0.5) {
		c.ask(a.process, node, "next producer id", clientPatience, func(reply func(func())) {
			node.nextProducerID(func(next wire.ProducerID) {
				reply(func() {
					c.quorum.told(a.process.Name(), next, after)
					again()
				})
			}, func() { reply(again) })
		}, again)
		return
	}
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

// nextProducerID tells a client where the next block begins: an answer that is nowhere in the log, as a refusal is.
func (n *Node) nextProducerID(answer func(next wire.ProducerID), refused func()) {
	var next wire.ProducerID
	n.control.decide(func(m *image.Image) []image.Record {
		next = m.NextProducerID()
		return nil
	}, func() { answer(next) }, refused)
}

// makeTopic makes a topic, once all nodes are there.
func (a *admin) makeTopic(name string, partitions int) {
	c := a.cluster
	node := c.nodes[c.world.Workload.IntN(len(c.nodes))]
	again := func() { a.process.After(clientBackoff, func() { a.makeTopic(name, partitions) }) }
	c.ask(a.process, node, "create topic", clientPatience, func(reply func(func())) {
		var why controller.Refusal
		node.control.decide(func(m *image.Image) (records []image.Record) {
			if m.BrokerCount() < c.opt.Nodes {
				why.Code = wire.InvalidReplicationFactor
				return nil
			}
			records, why = node.control.decider.CreateTopic(m, controller.TopicSpec{
				Name: name, ID: topicIDs[name], Partitions: int32(partitions), ReplicationFactor: int16(c.opt.Replication),
			})
			return records
		}, func() {
			reply(func() {
				if why.Code != wire.None && why.Code != wire.TopicAlreadyExists {
					again()
				}
			})
		}, func() { reply(again) })
	}, again)
}
