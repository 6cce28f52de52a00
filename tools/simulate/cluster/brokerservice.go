package cluster

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// controllerPatience is how long a node waits for the controller (controller.socket.timeout.ms).
const controllerPatience = 400 * time.Millisecond

// startBroker registers the node with the controller, and keeps in touch.
func (n *Node) startBroker() {
	n.register()
	n.every(n.cluster.opt.Heartbeat, n.heartbeat)
}

// askController carries a request to whom the node takes for the controller. decide runs there; answer runs here when what it decided is
// in the log; lost runs if that is not known.
func (n *Node) askController(what string, decide func(c *controller.Controller, m *image.Image, now time.Duration) []image.Record, answer, lost func()) {
	to := n.cluster.nodeByRaft(n.quorum.leader)
	if to == nil {
		n.process.After(replicaBackoff, lost)
		return
	}
	n.cluster.ask(n.process, to, what, controllerPatience, func(reply func(func())) {
		s := to.control
		s.decide(func(m *image.Image) []image.Record { return decide(s.decider, m, to.now()) },
			func() { reply(answer) }, func() { reply(lost) })
	}, lost)
}

func (c *Cluster) nodeByRaft(id uint64) *Node {
	for _, n := range c.nodes {
		if n.raftID() == id {
			return n
		}
	}
	return nil
}

// register asks the controller for a broker epoch until it gets one.
func (n *Node) register() {
	request := kmsg.NewPtrBrokerRegistrationRequest()
	request.BrokerID, request.ClusterID, request.IncarnationID = int32(n.id), clusterID, n.incarnation
	for _, id := range n.catalogs {
		request.LogDirs = append(request.LogDirs, id)
	}
	again := func() {
		n.process.After(world.Between(n.cluster.world.Clock, replicaBackoff, 3*replicaBackoff), n.register)
	}
	var response *kmsg.BrokerRegistrationResponse
	clean := n.clean
	n.askController("register", func(c *controller.Controller, m *image.Image, now time.Duration) (records []image.Record) {
		records, response, _ = c.RegisterBroker(m, now, controller.Registration{
			Request: request, DirectoryID: n.directory, CleanShutdown: clean, Locked: n.cluster.opt.Aimed.Locked, Durable: n.cluster.opt.FlushPolicy == "commit",
			TellsLost: n.cluster.tells(),
		})
		return records
	}, func() {
		if response.ErrorCode != 0 {
			again()
			return
		}
		n.clean = false
		n.registered = wire.BrokerEpoch(response.BrokerEpoch)
		n.cluster.world.Tracef("%s is registered under broker epoch %d", n.process.Name(), n.registered)
		n.applyImage()
	}, again)
}

// heartbeat tells the controller that the node is alive, and how far it is.
func (n *Node) heartbeat() {
	if n.registered == 0 {
		return
	}
	request := kmsg.NewPtrBrokerHeartbeatRequest()
	request.BrokerID, request.BrokerEpoch, request.CurrentMetadataOffset = int32(n.id), int64(n.registered), int64(n.image.Version())-1
	request.WantShutdown = n.stopping
	some, all := n.tell(request)
	var response *kmsg.BrokerHeartbeatResponse
	n.askController("heartbeat", func(c *controller.Controller, m *image.Image, now time.Duration) (records []image.Record) {
		records, response = c.Heartbeat(m, now, request, some...)
		return records
	}, func() {
		if n.told(response, some); !all {
			n.heartbeat()
		}
		switch {
		case wire.ErrorCode(response.ErrorCode) == wire.StaleBrokerEpoch && wire.BrokerEpoch(request.BrokerEpoch) == n.registered:
			n.die() // somebody has registered in its name
		case response.ShouldShutdown && n.stopping:
			n.close()
		}
	}, func() {})
}

// proposeISR asks the controller for an in-sync set until it has answered.
func (n *Node) proposeISR(r *replica, p replicate.ISRProposal) {
	request := kmsg.NewPtrAlterPartitionRequest()
	request.Version, request.BrokerID, request.BrokerEpoch = 3, int32(n.id), int64(n.registered)
	topic, part := kmsg.NewAlterPartitionRequestTopic(), kmsg.NewAlterPartitionRequestTopicPartition()
	topic.TopicID = r.log.TopicID()
	part.Partition, part.LeaderEpoch, part.PartitionEpoch = int32(r.at()), int32(p.Epoch), int32(p.PartitionEpoch)
	for _, member := range p.ISR {
		isr := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		isr.BrokerID, isr.BrokerEpoch = int32(member.ID), int64(member.BrokerEpoch)
		part.NewEpochISR = append(part.NewEpochISR, isr)
	}
	topic.Partitions = append(topic.Partitions, part)
	request.Topics = append(request.Topics, topic)
	answered := func(a replicate.ISRAnswer) {
		r.partition.ISRAnswered(n.now(), p, a, &r.effects)
		r.follow()
	}
	var response *kmsg.AlterPartitionResponse
	ask := func() {
		n.askController("alter partition", func(c *controller.Controller, m *image.Image, _ time.Duration) (records []image.Record) {
			records, response = c.AlterPartition(m, request)
			return records
		}, func() { answered(isrAnswer(response)) }, func() {
			n.process.After(world.Between(n.cluster.world.Clock, replicaBackoff, 2*replicaBackoff), func() {
				answered(replicate.ISRAnswer{Code: wire.RequestTimedOut})
			})
		})
	}
	if late := n.delays(r, p); late != nil {
		late.send(ask)
		return
	}
	ask()
}

func isrAnswer(response *kmsg.AlterPartitionResponse) (a replicate.ISRAnswer) {
	if a.Code = wire.ErrorCode(response.ErrorCode); a.Code != wire.None {
		return a
	}
	part := response.Topics[0].Partitions[0]
	a.Code, a.Epoch, a.PartitionEpoch = wire.ErrorCode(part.ErrorCode), wire.LeaderEpoch(part.LeaderEpoch), wire.PartitionEpoch(part.PartitionEpoch)
	for _, id := range part.ISR {
		a.ISR = append(a.ISR, wire.NodeID(id))
	}
	return a
}

// stop ends the process as SIGTERM does: its partitions are led elsewhere first, if that can be done in time.
func (n *Node) stop() {
	n.stopping = true
	n.process.After(world.Between(n.cluster.world.Clock, 0, 2*time.Second), n.close)
}

// close ends the process in good order.
func (n *Node) close() {
	n.clean = n.run(n.closeLogs)
	if n.clean {
		n.quorum.close()
	}
	n.die()
}

// leaderOf says who leads a partition, as far as the node knows.
func (n *Node) leaderOf(index int) route {
	if _, s := n.cluster.stateOf(n.image, index); s != nil {
		return route{s.Leader, s.LeaderEpoch}
	}
	return noRoute
}
